//! `endseal status`: shows the hub and the waiting messages.

use core::fmt::Write as _;

use endseal_keyring::PeerIdText;
use endseal_node::api::{NodeStatus, UnsentRow};

use super::session::StoreArgs;
use super::unsend::waiting;
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json::{self, Value};
use crate::node_access::with_node;
use crate::printable::printable;

/// Show the hub of this device, waiting messages, and if endseal up runs
///
/// hub: its peer id and address, which endseal recover takes, or none.
/// moves to: addresses that the hub has told, until it has answered there.
/// state: current, or restored: the directory is an earlier copy, which receives and does not send
/// until endseal devices renew.
/// unread: texts that endseal inbox prints, and those of endseal session group inbox.
/// requests: texts of people who are no contacts: endseal inbox --requests.
/// unsent: texts that are not encrypted yet; endseal sync or endseal up does that, once the hub
/// knows a device of the person. The numbers are those that endseal unsend takes.
/// waiting: encrypted messages that the hub does not have yet, one for each device, or for each
/// text to a group.
/// undelivered: texts that were encrypted, and that no device of the person has confirmed.
/// parked: messages that arrived and cannot be opened before others, or the roster of a group
/// (endseal group import), are here.
/// problems: what arrived and cannot be shown, and what cannot be sent: endseal inbox --problems.
/// up: connected, not connected and why, or no if endseal up does not run.
#[derive(clap::Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let (status, unsent) = with_node(args.store.wait, ctx, |node, _| {
        let status = node.status()?;
        let waits = status.status.unsent > 0;
        Ok((status, if waits { waiting(node)? } else { Vec::new() }))
    })?;
    let NodeStatus { status, connected, cause, .. } = status;
    let up = connected.map(|connected| if connected { "connected" } else { "not connected" });
    let hub = status.membership.as_ref();
    let mut text = String::new();
    let address = hub.map(|hub| {
        let first = hub.addresses.split(' ').next().unwrap_or_default();
        format!("{}@{first}", PeerIdText::from(hub.hub))
    });
    let _ = writeln!(text, "hub          {}", address.as_deref().unwrap_or("none"));
    if let Some(addresses) = &status.moves_to {
        let _ = writeln!(text, "moves to     {addresses}");
    }
    let state = if status.is_restored { "restored" } else { "current" };
    let _ = writeln!(text, "state        {state}");
    let _ = writeln!(text, "unread       {}", status.unread);
    let _ = writeln!(text, "requests     {}", status.requests);
    let _ = writeln!(text, "unsent       {}{}", status.unsent, numbers(&unsent));
    let _ = writeln!(text, "waiting      {}", status.frames);
    let _ = writeln!(text, "undelivered  {}", status.undelivered);
    let _ = writeln!(text, "parked       {}", status.parked);
    let _ = writeln!(text, "problems     {}", status.problems);
    let reason = cause.as_deref().map(|it| format!(": {}", printable(it))).unwrap_or_default();
    let _ = writeln!(text, "up           {}{reason}", up.unwrap_or("no"));
    if status.is_restored {
        ctx.note("hint: endseal devices renew gives this device new keys");
    }
    let json = json::object([
        ("hub", hub.map(|hub| hub.addresses.clone()).into()),
        ("hub_peer_id", hub.map(|hub| PeerIdText::from(hub.hub).to_string()).into()),
        ("hub_moves_to", status.moves_to.clone().into()),
        ("restored", status.is_restored.into()),
        ("unread", status.unread.into()),
        ("requests", status.requests.into()),
        ("unsent", status.unsent.into()),
        ("unsent_numbers", unsent.iter().map(|row| Value::from(row.number)).collect()),
        ("waiting", status.frames.into()),
        ("undelivered", status.undelivered.into()),
        ("parked", status.parked.into()),
        ("problems", status.problems.into()),
        ("up", up.into()),
        ("up_cause", cause.into()),
    ]);
    Ok(Outcome::new(text, json))
}

/// Lists numbers of texts behind their count: " (17 18)", or the first of many.
fn numbers(unsent: &[UnsentRow]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<_> = unsent.iter().take(SHOWN).map(|row| row.number.to_string()).collect();
    match unsent.len() {
        0 => String::new(),
        len if len > SHOWN => format!(" ({} ...)", shown.join(" ")),
        _ => format!(" ({})", shown.join(" ")),
    }
}
