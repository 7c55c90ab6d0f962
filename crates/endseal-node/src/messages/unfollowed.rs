//! Groups that this device cannot follow any more (docs/spec/node.md, "Groups of a conversation").

use std::collections::HashSet;

use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::peer_id::PeerId;
use endseal_session::{ConversationId, Engine, EngineError, Failure};

use super::conversation::Conversation;
use super::departure::LeftTeam;
use super::directory::{self, device_of};
use super::due::{Due, Subject};
use super::error::SyncError;
use super::hub::HubClient;
use super::hub_groups::{HubGroup, HubGroups, conversation_of_group};
use super::known_persons::KnownPersons;
use super::lost_member;
use super::node_files::NodeFiles;
use super::payload::HubGroupId;
use super::problem::{self, ProblemClass};
use super::records::Transaction;
use super::replaced;
use super::resend::{give_up_group, resend_last};
use super::shared_engine::SharedEngine;

/// Unknown devices for which the hub is asked at once.
const MAX_ASKED: usize = 64;
/// Groups that may be given up in a conversation within seven days because a member says that
/// another one replaces them, if none is there that takes their place.
const MAX_BY_NOTICE: usize = 4;

/// A message that was not opened.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Unopened {
    /// Device that sent it, as the hub says.
    pub(super) peer: PeerId,
    /// Group that it names.
    pub(super) group: HubGroupId,
    /// `None` if it is of a later epoch.
    pub(super) failure: Option<Failure>,
}

/// Draws the conclusions from messages that were not opened.
pub(super) async fn note_unopened(
    hub: &HubClient<'_>,
    engine: &SharedEngine<'_>,
    files: &NodeFiles<'_>,
    unopened: &[Unopened],
) -> Result<(), SyncError> {
    let unopened: HashSet<_> = unopened.iter().copied().collect();
    if unopened.is_empty() {
        return Ok(());
    }
    let mut unknown = HashSet::new();
    for it in unopened.iter().filter(|it| it.failure == Some(Failure::NoGroup)) {
        let device = engine.transaction(|transaction| device_of(transaction, &it.peer))?;
        if device.is_none() && unknown.len() < MAX_ASKED {
            unknown.insert(it.peer);
        }
    }
    let unknown: Vec<_> = unknown.into_iter().collect();
    // Without an answer of the hub the persons are not known.
    let found = directory::find_devices(hub, engine, &unknown).await;
    let own = engine.address().identity;
    let known = KnownPersons::new(files.home());
    let rosters = files.all_rosters();
    let is_member =
        |it: &PublicKey| rosters.iter().any(|roster| roster.member_of_key(it).is_some());
    engine.transaction(|transaction: &mut Transaction<'_, '_>| {
        for Unopened { peer, group, failure } in &unopened {
            let conversation = conversation_of_group(transaction, group)?;
            // It may have been a note with the rules of another device of this person.
            if *failure == Some(Failure::OldEpoch)
                && let Some(device) = device_of(transaction, peer)?
                && device.identity == own
            {
                Due { to: device, subject: Subject::Rules }.put(transaction)?;
            }
            match (failure, conversation) {
                // A receipt came after a commit of this device.
                (Some(Failure::OldEpoch), Some(Conversation::Person(person))) => {
                    resend_last(transaction, &own, &person)?;
                }
                // The branch of the sender is another one than that of this device.
                (Some(Failure::Authentication), Some(conversation)) => {
                    let members = transaction.group_peers(group)?;
                    let is_member = members.iter().any(|(_, member)| member == peer);
                    let groups = HubGroups::of(transaction, &conversation)?;
                    if is_member && groups.may_give_up() {
                        give_up_group(transaction, &own, &conversation, group)?;
                    }
                }
                (Some(Failure::NoGroup), None) => {
                    if let Some(device) = device_of(transaction, peer)?
                        && (device.identity == own
                            || is_member(&device.identity)
                            || known.has(transaction, &device.identity)?)
                    {
                        let with = Conversation::Person(device.identity);
                        announce_again(transaction, &with, group)?;
                    }
                    drop_parked(transaction, group)?;
                }
                // The sender has not learned that it was given up here.
                (Some(Failure::NoGroup), Some(conversation)) => {
                    if LeftTeam::of(transaction, &conversation)?.is_none() {
                        announce_again(transaction, &conversation, group)?;
                        lost_member::note(transaction, &conversation, |_, it| it == peer)?;
                    }
                    drop_parked(transaction, group)?;
                }
                // The sender is not in the group that took its place, or was not informed.
                (_, Some(conversation)) => {
                    let mut groups = HubGroups::of(transaction, &conversation)?;
                    if groups.group_mut(group).is_some_and(|it| it.given_up > 0) {
                        lost_member::note(transaction, &conversation, |_, it| it == peer)?;
                    }
                }
                _ => {}
            }
        }
        Ok::<_, EngineError>(())
    })?;
    found
}

/// Gives up the groups with messages that this device cannot open: commits are missing, or more
/// messages than a group skips. The caller MUST have received everything: the hub delivers a commit
/// before what is said after it.
pub(super) fn give_up_unfollowed(engine: &mut Engine) -> Result<(), EngineError> {
    let own = engine.address().identity;
    let parked = engine.parked()?;
    engine.transaction(|transaction: &mut Transaction<'_, '_>| {
        for total in &parked {
            let ConversationId::Group(id) = &total.conversation else { continue };
            let Ok(id) = id.as_slice().try_into() else { continue };
            let Some(conversation) = conversation_of_group(transaction, id)? else { continue };
            // With the answer of the hub to a commit of this device the messages may open.
            if transaction.group(id)?.is_some_and(|group| group.has_pending) {
                continue;
            }
            let groups = HubGroups::of(transaction, &conversation)?;
            let is_given_up = |it: &HubGroup| it.id == *id && it.given_up > 0;
            if groups.groups.iter().any(is_given_up) {
                drop_parked(transaction, id)?;
            } else if groups.may_give_up() {
                give_up_group(transaction, &own, &conversation, id)?;
                drop_parked(transaction, id)?;
                let none = PeerId::from_bytes(&[0; PeerId::LEN]);
                problem::note(transaction, ProblemClass::ANEW, &none, 0)?;
            }
        }
        problem::forget_old(transaction)
    })
}

/// Gives a group up because a member says in `by` that it was replaced.
pub(super) fn give_up_by_notice(
    transaction: &mut Transaction<'_, '_>,
    own: &PublicKey,
    conversation: &Conversation,
    (by, replaced): (&HubGroupId, &HubGroupId),
) -> Result<(), EngineError> {
    let mut groups = HubGroups::of(transaction, conversation)?;
    let takes_its_place = groups.groups.iter().any(|it| it.id == *by && it.given_up == 0);
    let by_notice = groups.groups.iter().filter(|it| it.by_notice).count();
    let Some(group) = groups.group_mut(replaced).filter(|it| it.given_up == 0) else {
        return Ok(());
    };
    if takes_its_place || by_notice < MAX_BY_NOTICE {
        group.by_notice = true;
        groups.put(transaction)?;
        give_up_group(transaction, own, conversation, replaced)?;
    }
    Ok(())
}

/// Makes the members of the sending group learn that it replaces a group in which one of them still
/// writes. If there is no sending group, the next one says so. The members send again what was not
/// confirmed.
pub(super) fn announce_again(
    transaction: &Transaction<'_, '_>,
    conversation: &Conversation,
    group: &HubGroupId,
) -> Result<(), EngineError> {
    let mut groups = HubGroups::of(transaction, conversation)?;
    let may_give_up = groups.may_give_up();
    match groups.groups.iter_mut().find(|it| it.given_up == 0) {
        Some(sending) if sending.id == *group => Ok(()),
        Some(sending) if sending.is_announcing(group) => {
            replaced::note(transaction, conversation, group)
        }
        Some(sending) => {
            sending.announce(*group);
            groups.put(transaction)
        }
        None if may_give_up => {
            // There may be several such groups, and the next one names the last of them.
            replaced::note(transaction, conversation, group)?;
            groups.add_unknown(transaction, group)
        }
        None => Ok(()),
    }
}

fn drop_parked(
    transaction: &mut Transaction<'_, '_>,
    group: &HubGroupId,
) -> Result<(), EngineError> {
    transaction.drop_parked(&ConversationId::Group(group.to_vec())).map(drop)
}
