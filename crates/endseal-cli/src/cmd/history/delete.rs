//! `endseal history --delete`

use std::collections::BTreeSet;

use endseal_node::api::{CallError, Forgotten, Reply, Request};
use endseal_node::messages::Conversation;

use super::Args;
use crate::ctx::{Ctx, Outcome};
use crate::failure::{Failure, Kind};
use crate::json;
use crate::node_access::with_node;
use crate::printable::plural;
use crate::terminal::Terminal;
use crate::time;

/// Deletes texts of a conversation, after a confirmation.
pub(super) fn run(
    args: &Args,
    (with, name): (Conversation, String),
    ctx: &mut Ctx,
) -> Result<Outcome, Failure> {
    let before = args.before.as_deref().map(day).transpose()?;
    let numbers: BTreeSet<_> = args.number.iter().copied().collect();
    let which = match (&args.before, numbers.len() as u64) {
        (Some(date), _) => format!("the texts before {date}"),
        (None, 0) => "all texts".to_owned(),
        (None, count) => plural(count, "text"),
    };
    if !args.force {
        confirm(&format!("Delete {which} with {name} on this device? [y/N] "))?;
    }
    let request = match numbers.is_empty() {
        true => Request::DeleteTextsBefore { with, time: before.unwrap_or(u64::MAX) },
        false => Request::DeleteTexts { with, numbers: numbers.into_iter().collect() },
    };
    let Reply::Forgotten(Forgotten { texts, .. }) =
        with_node(args.store.wait, ctx, |node, _| node.call(request))?
    else {
        return Err(CallError::Unexpected.into());
    };
    let json = json::object([("name", name.clone().into()), ("texts", texts.into())]);
    let verb = if texts == 1 { "is" } else { "are" };
    Ok(Outcome::done(format!("{} with {name} {verb} deleted", plural(texts, "text")), json))
}

fn confirm(question: &str) -> Result<(), Failure> {
    let answer = Terminal::open().and_then(|terminal| terminal.confirm(question));
    match answer {
        Ok(true) => Ok(()),
        Ok(false) => Err(Failure::new(Kind::Refused, "nothing was deleted")),
        Err(error) => Err(Failure::usage("a confirmation is asked for, and there is no answer")
            .because(&error)
            .hint("--force deletes without asking")),
    }
}

/// Reads a day as YYYY-MM-DD. Returns its start in UTC, in milliseconds since 1970.
fn day(text: &str) -> Result<u64, Failure> {
    time::start_of_day(text).ok_or_else(|| {
        Failure::usage("--before takes a day").hint("as 2026-01-31, which begins at 00:00 UTC")
    })
}
