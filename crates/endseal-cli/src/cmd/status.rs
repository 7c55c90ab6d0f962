//! `endseal status`

use core::fmt::Write as _;

use endseal_keyring::PeerIdText;
use endseal_node::messages::status;

use super::session::{StoreArgs, with};
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json;

/// Show the hub of this device, and what waits
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let status = with(args.store.wait, ctx, |engine, _| Ok(status(engine)?))?;
    let hub = status.membership.as_ref();
    let mut text = String::new();
    let _ = writeln!(text, "hub       {}", hub.map_or("none", |hub| &hub.addresses));
    let _ = writeln!(text, "unread    {}", status.unread);
    let _ = writeln!(text, "unsent    {}", status.unsent);
    let _ = writeln!(text, "waiting   {}", status.frames);
    let _ = writeln!(text, "parked    {}", status.parked);
    let _ = writeln!(text, "problems  {}", status.problems);
    let json = json::object([
        ("hub", hub.map(|hub| hub.addresses.clone()).into()),
        ("hub_peer_id", hub.map(|hub| PeerIdText::from(hub.hub).to_string()).into()),
        ("unread", status.unread.into()),
        ("unsent", status.unsent.into()),
        ("waiting", status.frames.into()),
        ("parked", status.parked.into()),
        ("problems", status.problems.into()),
    ]);
    Ok(Outcome::new(text, json))
}
