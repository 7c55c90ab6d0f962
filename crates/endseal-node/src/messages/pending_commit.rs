//! Commits that wait for the hub's decision (docs/spec/node.md, "Groups of a conversation").

use std::collections::HashSet;

use endseal_codec::frame::{Stamp, StoredFrame};
use endseal_codec::hub::{Answer, Code, Commit, Conversation as HubConversation, Put, Request};
use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::peer_id::PeerId;
use endseal_delivery::node::HubFault;
use endseal_delivery::{MembersDigest, stored_limits};
use endseal_keyring::device::Address;
use endseal_session::{Engine, EngineError, GroupChangeError};

use super::conversation::Conversation;
use super::error::{HubError, SyncError};
use super::hub::HubClient;
use super::hub_groups::{HubGroups, conversation_of_group};
use super::lost_member;
use super::membership::membership_in;
use super::payload::{HubGroupId, Payload, PayloadKind};
use super::records::{self, COMMIT, Transaction};
use super::resend::resend_in;
use super::send_state::SendState;
use super::shared_engine::SharedEngine;
use super::undelivered::receivers;

/// Commits that are read at once.
const PAGE: usize = 64;

/// Description of a commit for the hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PendingCommit {
    pub(super) group: HubGroupId,
    /// Epoch in which the commit was made.
    pub(super) epoch: u64,
    /// Digest of the members before the commit, as the hub has them.
    pub(super) before: MembersDigest,
    /// Members before and after the commit who get the welcome, too.
    pub(super) replaced: Vec<PeerId>,
    /// Members after the commit, in ascending order.
    pub(super) after: Vec<PeerId>,
}

/// Decision of the hub about a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// The commit begins the next epoch, and was applied here.
    Accepted,
    /// Another commit came first.
    Behind,
    /// The hub does not have the group, or this device is no member of it.
    NoGroup,
    /// The hub has other members of the group.
    Members,
    /// These devices are not at the hub any more.
    Gone(Vec<PeerId>),
    /// The mailboxes of these devices, which the commit would add, are full.
    Full(Vec<PeerId>),
    /// The hub will never take the commit, or it does not fit into a frame.
    Refused,
}

impl PendingCommit {
    /// Writes the record: group (16) || epoch (8) || digest (32) || number of replaced members (2)
    /// || their peer ids || peer ids of the members.
    pub(super) fn put(
        &self,
        transaction: &Transaction<'_, '_>,
        number: u64,
    ) -> Result<(), EngineError> {
        let mut value = [&self.group[..], &self.epoch.to_le_bytes()].concat();
        value.extend_from_slice(self.before.as_bytes());
        let replaced = u16::try_from(self.replaced.len()).unwrap_or(u16::MAX);
        value.extend_from_slice(&replaced.to_le_bytes());
        value.extend_from_slice(&concat(&self.replaced));
        value.extend_from_slice(&concat(&self.after));
        transaction.put_record(COMMIT, &number.to_be_bytes(), &value)
    }

    fn read(value: &[u8]) -> Option<Self> {
        let (group, rest) = value.split_first_chunk()?;
        let (epoch, rest) = rest.split_first_chunk()?;
        let (before, rest) = rest.split_first_chunk()?;
        let (replaced, rest) = rest.split_first_chunk()?;
        let replaced = usize::from(u16::from_le_bytes(*replaced)) * PeerId::LEN;
        let (replaced, after) = rest.split_at_checked(replaced)?;
        Some(Self {
            group: *group,
            epoch: u64::from_le_bytes(*epoch),
            before: MembersDigest::from_bytes(*before),
            replaced: peers(replaced)?,
            after: peers(after)?,
        })
    }

    /// Returns the description of a commit; `None` if it was decided.
    fn of(transaction: &Transaction<'_, '_>, number: u64) -> Result<Option<Self>, EngineError> {
        let value = transaction.record(COMMIT, &number.to_be_bytes())?;
        value.map(|it| Self::read(&it).ok_or(EngineError::Damaged("commit"))).transpose()
    }

    /// Returns the commits that wait, in their order.
    fn all(transaction: &Transaction<'_, '_>) -> Result<Vec<(u64, Self)>, EngineError> {
        let (mut after, mut all) = (Vec::new(), Vec::new());
        loop {
            let page = transaction.records_after(COMMIT, &after, PAGE)?;
            let Some((last, _)) = page.last() else { return Ok(all) };
            after.clone_from(last);
            for (name, value) in &page {
                let commit = records::number_in_name(name).zip(Self::read(value));
                all.push(commit.ok_or(EngineError::Damaged("commit"))?);
            }
        }
    }
}

fn concat(peers: &[PeerId]) -> Vec<u8> {
    peers.iter().flat_map(|peer| *peer.as_bytes()).collect()
}

fn peers(bytes: &[u8]) -> Option<Vec<PeerId>> {
    let (peers, []) = bytes.as_chunks::<{ PeerId::LEN }>() else { return None };
    Some(peers.iter().map(PeerId::from_bytes).collect())
}

/// Puts the commits whose decision is not known, because the connection or the process ended.
pub(super) async fn put_commits(
    hub: &HubClient<'_>,
    engine: &SharedEngine<'_>,
    state: &SendState,
) -> Result<(), SyncError> {
    let waiting = engine.transaction(|transaction| PendingCommit::all(transaction))?;
    for (number, _) in waiting {
        put_commit(hub, engine, state, number).await?;
    }
    Ok(())
}

/// Puts a commit of the outbox, and applies the decision of the hub.
pub(super) async fn put_commit(
    hub: &HubClient<'_>,
    engine: &SharedEngine<'_>,
    state: &SendState,
    number: u64,
) -> Result<Decision, SyncError> {
    let made = match engine.with(|engine| request(engine, number)) {
        Err(SyncError::Hub(HubError::TooLong)) => {
            engine.transaction(|transaction: &mut Transaction<'_, '_>| {
                if let Some(commit) = PendingCommit::of(transaction, number)? {
                    discard(transaction, &commit.group)?;
                }
                forget(transaction, number)
            })?;
            return Ok(Decision::Refused);
        }
        made => made?,
    };
    let Some((commit, request)) = made else {
        // Another commit came first, and was opened.
        engine.transaction(|transaction| forget(transaction, number))?;
        return Ok(Decision::Behind);
    };
    let decision = decide(hub, request).await?;
    if decision == Code::USED {
        engine.with(Engine::mark_restored)?;
        return Err(SyncError::Restored);
    }
    let group = commit.group;
    let decision = match decision {
        Refusal::None => {
            let own = engine.address();
            engine.transaction(|transaction| accept(transaction, number, &commit, &own))?;
            // Messages of its epoch may have waited for it.
            engine.note_arrivals();
            state.forget(&group);
            state.forget_at_hub(&group);
            return Ok(Decision::Accepted);
        }
        Refusal::Code(Code::EPOCH, _) => {
            state.note_behind(group, commit.epoch);
            Decision::Behind
        }
        Refusal::Code(Code::CONVERSATION, _) => Decision::NoGroup,
        Refusal::Code(Code::MEMBERS, members) => {
            state.note_at_hub(group, members);
            Decision::Members
        }
        Refusal::Code(Code::MAILBOX, gone) => {
            state.ask_again();
            Decision::Gone(gone)
        }
        Refusal::Code(Code::FULL, full) => Decision::Full(full),
        // It is put again with the next visit.
        Refusal::Code(code @ (Code::RATE | Code::STORAGE), _) => {
            return Err(HubError::Refused(code).into());
        }
        Refusal::Code(..) => Decision::Refused,
    };
    engine.transaction(|transaction: &mut Transaction<'_, '_>| {
        discard(transaction, &group)?;
        forget(transaction, number)
    })?;
    Ok(decision)
}

/// Answer of the hub to a commit.
#[derive(PartialEq, Eq)]
enum Refusal {
    None,
    Code(Code, Vec<PeerId>),
}

impl PartialEq<Code> for Refusal {
    fn eq(&self, other: &Code) -> bool {
        matches!(self, Self::Code(code, _) if code == other)
    }
}

async fn decide(hub: &HubClient<'_>, request: Request) -> Result<Refusal, SyncError> {
    match hub.ask_with_mailboxes(request).await? {
        Ok(Answer::Stored(_)) => Ok(Refusal::None),
        Ok(_) => Err(HubFault::Unexpected.into()),
        Err((code, mailboxes)) => Ok(Refusal::Code(code, mailboxes)),
    }
}

/// Makes the request for a commit; `None` if the commit was decided.
fn request(
    engine: &mut Engine,
    number: u64,
) -> Result<Option<(PendingCommit, Request)>, SyncError> {
    let commit = engine.transaction(|it| PendingCommit::of(it, number))?;
    let Some(commit) = commit else { return Ok(None) };
    let pending = engine.outbox().pending(number.saturating_sub(1), 1)?.pop();
    let Some(pending) = pending.filter(|it| it.number == number) else { return Ok(None) };
    let welcome = engine.outbox().welcome_of(number)?;
    let sender = *engine.certificate().keys().peer_id.as_bytes();
    let frame = |kind, sequence, body| {
        let stamp = Stamp { sequence, timestamp: 0, sender };
        let sealed = Payload::seal(kind, &commit.group, body);
        StoredFrame::vouched(&sealed, stamp, stored_limits()).map_err(|_| HubError::TooLong)
    };
    let welcome = match welcome {
        Some(body) => frame(PayloadKind::Welcome, number + 1, body)?,
        None => Vec::new(),
    };
    let put = Put {
        targets: concat(&commit.replaced).into(),
        frame: frame(PayloadKind::Message, number, pending.body)?.into(),
        conversation: Some(HubConversation {
            group: commit.group,
            epoch: commit.epoch,
            members: *commit.before.as_bytes(),
            commit: Some(Commit { members: concat(&commit.after).into(), welcome: welcome.into() }),
        }),
    };
    Ok(Some((commit, Request::Put(put))))
}

/// Applies a commit of the device `own` that the hub has accepted.
fn accept(
    transaction: &mut Transaction<'_, '_>,
    number: u64,
    commit: &PendingCommit,
    own: &Address,
) -> Result<(), EngineError> {
    let before = transaction.group_peers(&commit.group)?;
    let is_new = transaction.group_epoch(&commit.group)? == Some(0);
    match transaction.accept_commit(&commit.group) {
        Ok(_) | Err(GroupChangeError::NoGroup) => {}
        Err(GroupChangeError::Engine(error)) => return Err(error),
        Err(_) => return Err(EngineError::Damaged("pending commit")),
    }
    // The hub has the welcome, too.
    transaction.sent(number)?;
    transaction.sent(number + 1)?;
    if let Some(conversation) = conversation_of_group(transaction, &commit.group)? {
        let mut groups = HubGroups::of(transaction, &conversation)?;
        if let Some(group) = groups.group_mut(&commit.group) {
            group.renewed = records::now();
            group.changed = group.renewed;
            groups.put(transaction)?;
        }
        let mut added = transaction.group_peers(&commit.group)?;
        added
            .retain(|it| it.0 != *own && (!before.contains(it) || commit.replaced.contains(&it.1)));
        send_to_added(transaction, &own.identity, &conversation, &added)?;
        for (_, peer) in added.iter().filter(|_| !is_new) {
            lost_member::note_welcome(transaction, &commit.group, peer)?;
        }
    }
    if let Some(mut membership) = membership_in(transaction)?
        && number > membership.sequence
    {
        (membership.sequence, membership.time) = (number, records::now());
        membership.put(transaction)?;
    }
    forget(transaction, number)
}

/// Marks the texts that the persons of added devices have not confirmed as unsent: they were
/// encrypted without these devices.
fn send_to_added(
    transaction: &mut Transaction<'_, '_>,
    own: &PublicKey,
    conversation: &Conversation,
    added: &[(Address, PeerId)],
) -> Result<(), EngineError> {
    let persons: HashSet<_> = added.iter().map(|(device, _)| device.identity).collect();
    let receivers = receivers(transaction, conversation, own)?;
    for person in receivers.iter().filter(|it| *it != own && persons.contains(it)) {
        resend_in(transaction, own, conversation, person)?;
    }
    Ok(())
}

fn forget(transaction: &Transaction<'_, '_>, number: u64) -> Result<(), EngineError> {
    transaction.remove_record(COMMIT, &number.to_be_bytes()).map(drop)
}

/// Drops the pending commit of a group. A group that it was to begin does not come into being.
fn discard(transaction: &mut Transaction<'_, '_>, group: &HubGroupId) -> Result<(), EngineError> {
    match transaction.discard_commit(group) {
        Ok(()) | Err(GroupChangeError::NoGroup) => {}
        Err(GroupChangeError::Engine(error)) => return Err(error),
        Err(_) => return Err(EngineError::Damaged("pending commit")),
    }
    if transaction.group_epoch(group)? == Some(0)
        && let Some(conversation) = conversation_of_group(transaction, group)?
    {
        let mut groups = HubGroups::of(transaction, &conversation)?;
        groups.groups.retain(|it| it.id != *group);
        groups.put(transaction)?;
        transaction.forget_group(group)?;
    }
    Ok(())
}
