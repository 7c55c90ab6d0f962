//! `endseal contacts mute`, `endseal contacts unmute`

use endseal_node::api::Request;

use super::super::block::person_rules;
use super::super::session::{Partner, StoreArgs};
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json::{self, Value};
use crate::names::{Names, identity_text};
use crate::node_access::with_node;

/// Do not print texts of a person as they arrive, or list muted people
///
/// Texts of a muted person stay unread: endseal inbox prints them, and endseal inbox --follow does
/// not. Texts to groups are not muted.
#[derive(clap::Args, Debug)]
pub(crate) struct MuteArgs {
    /// Contact or identity [default: list all muted people]
    name: Option<String>,
    #[command(flatten)]
    store: StoreArgs,
}

/// Print texts of a muted person as they arrive again
#[derive(clap::Args, Debug)]
pub(crate) struct UnmuteArgs {
    /// Contact or identity
    name: String,
    #[command(flatten)]
    store: StoreArgs,
}

pub(super) fn mute(args: &MuteArgs, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    match &args.name {
        Some(name) => set(name, true, args.store, ctx),
        None => list(args.store, ctx),
    }
}

pub(super) fn unmute(args: &UnmuteArgs, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    set(&args.name, false, args.store, ctx)
}

fn set(name: &str, is_muted: bool, store: StoreArgs, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let Partner { identity: person, name } = Partner::find(name, ctx)?;
    with_node(store.wait, ctx, |node, _| node.call(Request::Mute { person, is_muted }))?;
    let state = if is_muted { "muted" } else { "not muted" };
    let done = format!("{name} is {state}");
    Ok(Outcome::done(done, json::object([("name", name.into()), ("is_muted", is_muted.into())])))
}

fn list(store: StoreArgs, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let names = Names::load(&ctx.home()?)?;
    let rules = with_node(store.wait, ctx, |node, _| person_rules(node))?;
    let (mut text, mut list) = (String::new(), Vec::new());
    for rules in rules.iter().filter(|rules| rules.is_muted) {
        text.push_str(&names.identified(&rules.person));
        text.push('\n');
        list.push(json::object([
            ("name", names.contact(&rules.person).into()),
            ("identity", identity_text(rules.person).into()),
        ]));
    }
    Ok(Outcome::new(text, json::object([("muted", Value::Array(list))])))
}
