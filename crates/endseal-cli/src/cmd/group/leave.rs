//! `endseal group leave`, `endseal group delete`: ends the membership in a group, and deletes what
//! is left of it.

use endseal_crypto::ed25519::PublicKey;
use endseal_keyring::{Name, Roster};
use endseal_node::Home;
use endseal_node::api::{CallError, Forgotten, Reply, Request};
use endseal_node::messages::Conversation;

use crate::cmd::session::StoreArgs;
use crate::ctx::{Ctx, Outcome};
use crate::departures::Departures;
use crate::failure::{Failure, Kind};
use crate::json;
use crate::node_access::with_node;
use crate::printable::plural;

pub(super) fn leave(
    group: &Name,
    store: &StoreArgs,
    home: &Home,
    ctx: &mut Ctx,
) -> Result<Outcome, Failure> {
    let team = Conversation::Group(*home.groups().current(group)?.id());
    let texts = match with_node(store.wait, ctx, |node, _| node.call(Request::Leave { team }))? {
        Reply::Forgotten(Forgotten { texts, .. }) => texts,
        _ => return Err(CallError::Unexpected.into()),
    };
    ctx.note("the others learn it with the next endseal sync");
    let cancelled = match texts {
        0 => String::new(),
        texts => format!("; {} cancelled", plural(texts, "text")),
    };
    let json = json::object([("group", group.as_str().into()), ("texts", texts.into())]);
    Ok(Outcome::done(format!("you have left {group}{cancelled}"), json))
}

/// Deletes a group of which this person is no member any more, or the only one.
pub(super) fn delete(
    group: &Name,
    store: &StoreArgs,
    home: &Home,
    ctx: &mut Ctx,
) -> Result<Outcome, Failure> {
    let roster = home.groups().current(group)?;
    let own = ctx.identity(home).ok().map(|file| *file.public().ed25519());
    let departures = Departures::load(home, ctx)?;
    if departures.is_pending(&roster) {
        let message = format!("the members of {group} do not know yet that you have left");
        return Err(Failure::new(Kind::Refused, message).hint("run endseal sync before"));
    }
    let is_member = |own: &PublicKey| has_others(&roster, own) && !departures.has(&roster, own);
    if let Some(own) = own.filter(is_member) {
        let failure = Failure::new(Kind::Refused, format!("you are a member of {group}"));
        return Err(failure.hint(match roster.may_change(&own) {
            true => "remove the others before, with endseal group remove and endseal sync",
            false => "nothing was deleted; leave it before: endseal group leave",
        }));
    }
    let with = Conversation::Group(*roster.id());
    let mut texts = 0;
    if home.store_path().exists() {
        let request = Request::DeleteTextsBefore { with, time: u64::MAX };
        match with_node(store.wait, ctx, |node, _| node.call(request))? {
            Reply::Forgotten(Forgotten { texts: deleted, .. }) => texts = deleted,
            _ => return Err(CallError::Unexpected.into()),
        }
    }
    home.groups().delete(group, &home.lock()?)?;
    let json = json::object([("group", group.as_str().into()), ("texts", texts.into())]);
    Ok(Outcome::done(format!("{group} is deleted, with {}", plural(texts, "text")), json))
}

/// Returns true if a person is a member of a group, and not the only one.
fn has_others(roster: &Roster, own: &PublicKey) -> bool {
    roster.member_of_key(own).is_some() && roster.members().len() > 1
}
