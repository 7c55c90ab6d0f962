//! Welcomes: this device becomes a member of groups that others have made (docs/spec/node.md,
//! "Welcomes").

use std::collections::HashSet;

use bytes::Bytes;
use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::peer_id::PeerId;
use endseal_session::group::{Members, MembershipState};
use endseal_session::{ConversationId, Engine, EngineError, GroupChangeError, JoinedGroup};

use super::arrivals::{drop_messages, is_newest, note_passed_over, noted};
use super::conversation::Conversation;
use super::departure::{self, LeftTeam};
use super::directory;
use super::error::SyncError;
use super::hidden_team::HiddenTeam;
use super::hub::HubClient;
use super::hub_groups::{Documents, HubGroup, HubGroups};
use super::in_force;
use super::joined::Joined;
use super::known_persons::KnownPersons;
use super::known_record::known_in;
use super::node_files::{NodeFiles, RosterResult};
use super::payload::HubGroupId;
use super::problem::{self, ProblemClass};
use super::records::{self, GROUP, JOINED, Transaction};
use super::report::SyncReport;
use super::resend::give_up_group;
use super::rule::Rule;
use super::shared_engine::SharedEngine;

/// Limit on the conversations with unknown persons that have groups.
const MAX_UNKNOWN: usize = 1_024;

/// A welcome with what the hub says about it.
pub(super) struct Welcome {
    pub(super) peer: PeerId,
    pub(super) position: u64,
    pub(super) body: Bytes,
}

/// Joins the groups of welcomes. The caller MUST call [`compare_joined`] before they are used.
pub(super) fn join(
    engine: &mut Engine,
    welcomes: &[Welcome],
    report: &mut SyncReport,
) -> Result<(), EngineError> {
    if welcomes.is_empty() {
        return Ok(());
    }
    engine.transaction(|transaction: &mut Transaction<'_, '_>| {
        for welcome in welcomes {
            let &Welcome { peer, position, .. } = welcome;
            let class = match transaction.join_group(&welcome.body) {
                // It came before.
                Err(GroupChangeError::Joined) => continue,
                Err(GroupChangeError::Engine(error)) => return Err(error),
                Err(GroupChangeError::KeyPackageUsed) => ProblemClass::KEY_PACKAGE,
                Err(_) => ProblemClass::WELCOME,
                Ok(JoinedGroup { id, by_last_resort, .. }) => {
                    match id.as_slice().try_into() {
                        Ok(id) => note_joined(transaction, id, by_last_resort, welcome)?,
                        Err(_) => drop(transaction.forget_group(&id)?),
                    }
                    continue;
                }
            };
            problem::note(transaction, class, &peer, position)?;
            report.problems += 1;
        }
        problem::forget_old(transaction)
    })
}

fn note_joined(
    transaction: &mut Transaction<'_, '_>,
    id: &HubGroupId,
    by_last_resort: bool,
    welcome: &Welcome,
) -> Result<(), EngineError> {
    let &Welcome { peer, position, .. } = welcome;
    let noted = noted(transaction)?;
    let joined = Joined { by_last_resort, has_passed: false, peer, position, noted };
    // It was forgotten since, or left, or replaced by one of a later epoch: what it is now is
    // compared.
    transaction.remove_record(GROUP, id)?;
    joined.put(transaction, id)
}

/// Compares the persons of the groups that were joined with what is known of them. A group that
/// holds becomes one of its conversation, and the others are forgotten.
pub(super) async fn compare_joined(
    hub: &HubClient<'_>,
    engine: &SharedEngine<'_>,
    files: &NodeFiles<'_>,
    report: &mut SyncReport,
) -> Result<(), SyncError> {
    let own = engine.address().identity;
    loop {
        let page = engine.transaction(|transaction| Joined::page(transaction))?;
        if page.is_empty() {
            return Ok(());
        }
        for (id, joined) in page {
            if let Some(class) = compare((hub, engine, files), &id, &joined, report).await? {
                report.problems += 1;
                engine.transaction(|transaction: &mut Transaction<'_, '_>| {
                    transaction.forget_group(&id)?;
                    transaction.drop_parked(&ConversationId::Group(id.to_vec()))?;
                    drop_messages(transaction, &id, joined.noted)?;
                    transaction.remove_record(JOINED, &id)?;
                    give_up_replaced(transaction, &own, &id)?;
                    problem::note(transaction, class, &joined.peer, joined.position)?;
                    problem::forget_old(transaction)
                })?;
            }
        }
    }
}

/// Gives a known group up that was replaced by one that is refused: another one takes its place,
/// and what came in it before stays.
fn give_up_replaced(
    transaction: &mut Transaction<'_, '_>,
    own: &PublicKey,
    id: &HubGroupId,
) -> Result<(), EngineError> {
    for mut of_conversation in HubGroups::all(transaction)? {
        if of_conversation.group_mut(id).is_some() {
            let conversation = of_conversation.conversation;
            transaction.put_record(GROUP, id, &conversation.name())?;
            give_up_group(transaction, own, &conversation, id)?;
        }
    }
    Ok(())
}

/// Compares the persons of a group with what is known of them. Returns the class of a problem if
/// the group must be forgotten.
async fn compare(
    (hub, engine, files): (&HubClient<'_>, &SharedEngine<'_>, &NodeFiles<'_>),
    id: &HubGroupId,
    joined: &Joined,
    report: &mut SyncReport,
) -> Result<Option<&'static str>, SyncError> {
    let own = engine.address().identity;
    let group = engine.transaction(|transaction| transaction.group(id))?;
    let Some(state) = group.and_then(|group| group.conversation) else {
        return Ok(Some(ProblemClass::WELCOME));
    };
    let Some((conversation, persons)) = persons(&state, &own) else {
        return Ok(Some(ProblemClass::WELCOME));
    };
    let unknown = engine.with(|engine| {
        let mut unknown = Vec::new();
        for person in &persons {
            let known = directory::known(engine, person)?;
            let stated = state.record_of(person).map_or(0, |(epoch, _)| epoch);
            if known.is_none_or(|known| known.epoch() < stated) {
                unknown.push(*person);
            }
        }
        Ok::<_, EngineError>(unknown)
    })?;
    directory::find_many(hub, engine, &unknown).await?;
    let is_vouched = engine.with(|engine| {
        for person in &persons {
            let Some((epoch, digest)) = state.record_of(person) else { continue };
            let known = directory::known(engine, person)?;
            let is_vouched = known.is_some_and(|known| {
                known.epoch() > epoch
                    || (known.epoch() == epoch && *known.digest().as_bytes() == digest)
            });
            if !is_vouched {
                return Ok(false);
            }
        }
        Ok::<_, EngineError>(true)
    })?;
    if !is_vouched {
        return Ok(Some(ProblemClass::RECORD));
    }
    let known = KnownPersons::new(files.home());
    Ok(engine.transaction(|transaction: &mut Transaction<'_, '_>| {
        let of_joined = transaction.group_peers(id)?;
        let maker = of_joined.iter().find(|(_, peer)| *peer == joined.peer);
        // A former member, or a device that was revoked, begins no group.
        if let Some((maker, _)) = maker
            && !is_newest(transaction, files, &conversation, maker)?
        {
            // The roster is signed: others may have taken it, and no one may send it again.
            if let Members::Team(roster) = state.members()
                && files.roster(roster.id()).is_some()
            {
                in_force::keep(transaction, files, roster, &own)?;
            }
            return Ok(Some(ProblemClass::RECORD));
        }
        let maker = maker.map(|(device, _)| device.identity);
        if is_of_blocked(transaction, files, &state, maker.as_ref())? {
            return Ok(Some(ProblemClass::BLOCKED));
        }
        if let Some(class) = is_refused(transaction, files, &state, &own, &known, &conversation)? {
            return Ok::<_, EngineError>(Some(class));
        }
        if let Members::Team(roster) = state.members() {
            departure::note_welcome(transaction, roster)?;
            // Later groups teach no departures: a welcome has no proof of them.
            let is_first = HubGroups::of(transaction, &conversation)?.groups.is_empty();
            for person in persons.iter().filter(|it| is_first && state.has_departed(it)) {
                departure::note(transaction, roster.id(), person)?;
            }
        }
        let renewed = if joined.by_last_resort { 0 } else { records::now() };
        let mut groups = HubGroups::of(transaction, &conversation)?;
        let was_late = is_late(transaction, files, &state, &persons)?;
        groups.add(transaction, HubGroup { was_late, ..HubGroup::new(*id, renewed) })?;
        match groups.first() {
            Some(first) if first != *id => {
                // Its maker does not have the group in which this device sends.
                let members = transaction.group_peers(&first)?;
                let has_maker = members.iter().any(|(_, peer)| *peer == joined.peer);
                let is_missing = maker.is_some() && !has_maker;
                if let Some(sending) = groups.group_mut(&first).filter(|_| is_missing) {
                    sending.announce(*id);
                    groups.put(transaction)?;
                }
            }
            _ => {
                groups.documents = documents_of(&state, &own);
                groups.put(transaction)?;
            }
        }
        // The inbox may have been read while the hub was asked.
        let has_passed = Joined::of(transaction, id)?.is_some_and(|it| it.has_passed);
        transaction.remove_record(JOINED, id)?;
        if has_passed {
            report.add_noted(note_passed_over(transaction, &own, files, id, joined.noted)?);
        }
        Ok(None)
    })?)
}

/// Returns true if a state has an older record of a person, or an older roster, than this device.
fn is_late(
    transaction: &Transaction<'_, '_>,
    files: &NodeFiles<'_>,
    state: &MembershipState,
    persons: &[PublicKey],
) -> Result<bool, EngineError> {
    if let Members::Team(roster) = state.members() {
        let newest = match HiddenTeam::of(transaction, roster.id())? {
            Some(team) => Some(team.roster.epoch()),
            None => files.roster(roster.id()).map(|newest| newest.epoch()),
        };
        if newest.is_some_and(|newest| newest > roster.epoch()) {
            return Ok(true);
        }
    }
    for person in persons {
        let stated = state.record_of(person).map_or(0, |(epoch, _)| epoch);
        let known = known_in(transaction, person)?;
        if known.is_some_and(|known| known.epoch() > stated) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the documents of this person that a state has.
fn documents_of(state: &MembershipState, own: &PublicKey) -> Documents {
    let roster = match state.members() {
        Members::Team(roster) => roster.epoch(),
        Members::Oneself(_) | Members::Pair(_) => 0,
    };
    Documents { own: state.record_of(own).map_or(0, |(epoch, _)| epoch), roster }
}

/// Returns the conversation of a state, and all its persons. `None` if this person is none of them.
fn persons(state: &MembershipState, own: &PublicKey) -> Option<(Conversation, Vec<PublicKey>)> {
    match state.members() {
        Members::Oneself(one) if one == own => Some((Conversation::Person(*own), vec![*own])),
        Members::Oneself(_) => None,
        Members::Pair(both) => {
            let other = both.iter().find(|it| *it != own).filter(|_| both.contains(own))?;
            Some((Conversation::Person(*other), both.to_vec()))
        }
        Members::Team(roster) => {
            let members = roster.members().iter().map(|it| *it.identity().ed25519());
            let members: Vec<_> = members.collect();
            let is_member = members.contains(own);
            is_member.then(|| (Conversation::Group(*roster.id()), members))
        }
    }
}

/// Returns true if a group brings a team that is not known here, by a person who is blocked: its
/// owner, who signed its roster last, or who made the group.
fn is_of_blocked(
    transaction: &Transaction<'_, '_>,
    files: &NodeFiles<'_>,
    state: &MembershipState,
    maker: Option<&PublicKey>,
) -> Result<bool, EngineError> {
    let Members::Team(roster) = state.members() else { return Ok(false) };
    // Of a team that was left, a later roster is an invitation as of an unknown one.
    let has_left = LeftTeam::of(transaction, &Conversation::Group(*roster.id()))?.is_some();
    let is_known = !has_left && files.roster(roster.id()).is_some();
    for person in [Some(roster.owner()), Some(roster.signer()), maker].into_iter().flatten() {
        if !is_known && Rule::of(transaction, person)?.blocked.is_on() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the class of a problem if a group is not taken for one of its conversation.
fn is_refused(
    transaction: &Transaction<'_, '_>,
    files: &NodeFiles<'_>,
    state: &MembershipState,
    own: &PublicKey,
    known: &KnownPersons<'_>,
    conversation: &Conversation,
) -> Result<Option<&'static str>, EngineError> {
    match (state.members(), conversation) {
        (Members::Team(roster), _) => match in_force::keep(transaction, files, roster, own)? {
            RosterResult::Kept | RosterResult::Busy => Ok(None),
            RosterResult::Refused => Ok(Some(ProblemClass::GROUP)),
            RosterResult::UnknownOwner => {
                let roster = (**roster).clone();
                match HiddenTeam::of(transaction, roster.id())? {
                    Some(HiddenTeam { roster: known, .. })
                        if known == roster || roster.precedes(&known) => {}
                    Some(team) if roster.supersedes(&team.roster).is_ok() => {
                        HiddenTeam { roster, ..team }.put(transaction)?;
                    }
                    None if HiddenTeam::has_room(transaction)? => {
                        HiddenTeam { texts: 0, roster }.put(transaction)?;
                    }
                    _ => return Ok(Some(ProblemClass::GROUP)),
                }
                Ok(None)
            }
        },
        (_, Conversation::Person(person)) if person != own => {
            if known.has(transaction, person)? {
                return Ok(None);
            }
            let mut unknown = HashSet::new();
            for groups in HubGroups::all(transaction)? {
                if let Conversation::Person(other) = groups.conversation
                    && other != *person
                    && !known.has(transaction, &other)?
                {
                    unknown.insert(other);
                }
            }
            Ok((unknown.len() >= MAX_UNKNOWN).then_some(ProblemClass::WELCOME))
        }
        _ => Ok(None),
    }
}
