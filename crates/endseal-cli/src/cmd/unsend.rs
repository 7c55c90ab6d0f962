//! `endseal unsend`: cancels texts that have not left this device.

use core::fmt::Write as _;
use std::collections::BTreeSet;

use endseal_node::api::{CallError, Forgotten, Reply, Request, UnsentRow};
use endseal_node::messages::Conversation;

use super::say::any_conversation;
use super::session::StoreArgs;
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json::{self, Value};
use crate::names::{Names, identity_text};
use crate::node_access::{NodeAccess, with_node};
use crate::printable::plural;

/// Cancel texts that have not left this device
///
/// A text can be cancelled until it is encrypted for the hub: if the person has not joined, if you
/// are no member of the group, or before the next endseal sync. It is deleted. Without a name, this
/// lists all texts that wait, with their numbers; endseal history shows the numbers too.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Contact, identity, group or id of a group
    name: Option<String>,
    /// Numbers of the texts
    #[arg(value_name = "NUMBER", conflicts_with = "all")]
    numbers: Vec<u64>,
    /// Cancel all texts to this person or group that have not left
    #[arg(long, requires = "name")]
    all: bool,
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let Some(name) = &args.name else { return list(args, ctx) };
    let (to, name) = any_conversation(name, ctx)?;
    if args.numbers.is_empty() && !args.all {
        return Err(Failure::usage("no text was named")
            .hint("give the numbers that endseal unsend lists, or --all"));
    }
    let numbers: BTreeSet<_> = args.numbers.iter().copied().collect();
    let request = match args.all {
        true => Request::UnsendAll { to },
        false => Request::Unsend { to, numbers: numbers.into_iter().collect() },
    };
    let Reply::Forgotten(Forgotten { texts, .. }) =
        with_node(args.store.wait, ctx, |node, _| node.call(request))?
    else {
        return Err(CallError::Unexpected.into());
    };
    let json = json::object([("name", name.clone().into()), ("texts", texts.into())]);
    let verb = if texts == 1 { "is" } else { "are" };
    Ok(Outcome::done(format!("{} for {name} {verb} cancelled", plural(texts, "text")), json))
}

fn list(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let names = Names::load(&ctx.home()?)?;
    let rows = with_node(args.store.wait, ctx, |node, _| waiting(node))?;
    let (mut text, mut list) = (String::new(), Vec::new());
    for UnsentRow { number, conversation, can_unsend, .. } in rows {
        let (name, id) = called(&conversation, &names);
        let mark = if can_unsend { "" } else { "  (sent before, and sent again)" };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{number}  {name}{mark}");
        list.push(json::object([
            ("number", number.into()),
            ("name", name.into()),
            ("to", id.into()),
            ("can_unsend", can_unsend.into()),
        ]));
    }
    Ok(Outcome::new(text, json::object([("unsent", Value::Array(list))])))
}

/// Returns the name of a conversation for display, and its identity or group id.
fn called(conversation: &Conversation, names: &Names) -> (String, String) {
    match conversation {
        Conversation::Person(person) => (names.identified(person), identity_text(*person)),
        Conversation::Group(id) => (names.group(id), id.to_string()),
    }
}

/// Returns all texts that wait unencrypted.
pub(super) fn waiting(node: &mut NodeAccess<'_>) -> Result<Vec<UnsentRow>, Failure> {
    let (mut found, mut after) = (Vec::new(), 0);
    loop {
        let Reply::Unsent(page) = node.call(Request::Unsent { after })? else {
            return Err(CallError::Unexpected.into());
        };
        found.extend(page.rows);
        match page.next {
            Some(next) => after = next,
            None => return Ok(found),
        }
    }
}
