//! `endseal block`, `endseal unblock`: decides about the texts of a person.

use core::fmt::Write as _;

use endseal_node::api::{CallError, Forgotten, Reply, Request};
use endseal_node::messages::PersonRules;

use super::session::{Partner, StoreArgs};
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json::{self, Value};
use crate::names::{Names, identity_text};
use crate::node_access::{NodeAccess, with_node};
use crate::printable::plural;
use crate::time::rfc3339;

/// Drop the texts of a person when they arrive, or list blocked people
///
/// The person is not told: the texts stay "not delivered" there. A waiting request is deleted, and
/// texts that arrived before stay. Texts that the person writes to a common group are shown. Your
/// other devices do the same after their next visit to the hub.
/// Texts that were written before to the person and wait are still sent: endseal unsend cancels
/// them.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Contact or identity [default: list all blocked people]
    name: Option<String>,
    #[command(flatten)]
    store: StoreArgs,
}

/// Show the texts of a blocked person again
///
/// Texts that were dropped do not come back, unless the other program sends them again by itself.
#[derive(clap::Args, Debug)]
pub(crate) struct UnblockArgs {
    /// Contact or identity
    name: String,
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let Some(name) = &args.name else { return list(args, ctx) };
    let Partner { identity: person, name } = Partner::find(name, ctx)?;
    let texts = call(Request::Block { person }, &args.store, ctx)?;
    let request = match texts {
        0 => String::new(),
        texts => format!("; {} of a request deleted", plural(texts, "text")),
    };
    let done = format!("{name} is blocked{request}");
    let json = json::object([("name", name.into()), ("texts", texts.into())]);
    Ok(Outcome::done(done, json))
}

pub(crate) fn unblock(args: &UnblockArgs, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let Partner { identity: person, name } = Partner::find(&args.name, ctx)?;
    let texts = call(Request::Unblock { person }, &args.store, ctx)?;
    let dropped = plural(texts, "text");
    let done = format!("{name} is not blocked; {dropped} dropped meanwhile");
    let json = json::object([("name", name.into()), ("texts", texts.into())]);
    Ok(Outcome::done(done, json))
}

fn call(request: Request, store: &StoreArgs, ctx: &mut Ctx) -> Result<u64, Failure> {
    match with_node(store.wait, ctx, |node, _| node.call(request))? {
        Reply::Forgotten(Forgotten { texts, .. }) => Ok(texts),
        _ => Err(CallError::Unexpected.into()),
    }
}

fn list(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let names = Names::load(&ctx.home()?)?;
    let rules = with_node(args.store.wait, ctx, |node, _| person_rules(node))?;
    let (mut text, mut list) = (String::new(), Vec::new());
    for PersonRules { person, blocked, dropped, .. } in rules {
        let Some(time) = blocked.map(rfc3339) else { continue };
        let (name, texts) = (names.identified(&person), plural(dropped, "text"));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name}  since {time}, {texts} dropped");
        list.push(json::object([
            ("name", names.contact(&person).into()),
            ("identity", identity_text(person).into()),
            ("since", time.into()),
            ("dropped", dropped.into()),
        ]));
    }
    Ok(Outcome::new(text, json::object([("blocked", Value::Array(list))])))
}

/// Returns the persons who are blocked or muted, or whose requests wait.
pub(super) fn person_rules(node: &mut NodeAccess<'_>) -> Result<Vec<PersonRules>, Failure> {
    match node.call(Request::Persons {})? {
        Reply::Persons(page) => Ok(page.rows),
        _ => Err(CallError::Unexpected.into()),
    }
}
