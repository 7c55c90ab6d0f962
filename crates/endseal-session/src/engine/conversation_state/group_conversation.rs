//! State of this device in one group.

use alloc::vec::Vec;

use endseal_crypto::secret::Zeroizing;
use endseal_store::SessionStatus;

use super::parking::MAX_AHEAD;
use super::{BatchDedup, Parked, Parking};
use crate::engine::body_digest::BodyDigest;
use crate::engine::changeset::{Changeset, GroupStates};
use crate::engine::delivery_kind::{KIND_CHANGE, KIND_NOTE, KIND_PROPOSAL, KIND_TEXT};
use crate::engine::notice;
use crate::engine::parking_budget::ParkingBudget;
use crate::engine::parking_reason::Reason;
use crate::engine::task::{Delivery, Entry, Opened, Task};
use crate::group::{self, Content, Group, OpenError};
use crate::{EngineError, Failure, Message};

/// Group state of one conversation: opens its messages and retries parked ones.
pub(in crate::engine) struct GroupConversation {
    id: Vec<u8>,
    group: Option<Group>,
    status: SessionStatus,
    loaded: bool,
    /// True if the store has a row of the group that cannot be decoded.
    damaged: bool,
    changed: bool,
}

impl GroupConversation {
    /// Makes the state of a group that was not loaded yet.
    pub(in crate::engine) fn new(id: &[u8]) -> Self {
        Self {
            id: id.to_vec(),
            group: None,
            status: SessionStatus::Active,
            loaded: false,
            damaged: false,
            changed: false,
        }
    }

    pub(in crate::engine) fn is_loaded(&self) -> bool {
        self.loaded
    }

    pub(in crate::engine) fn load(&mut self, group: Option<(Group, SessionStatus)>) {
        if let Some((group, status)) = group {
            self.group = Some(group);
            self.status = status;
        }
        self.loaded = true;
    }

    pub(in crate::engine) fn load_damaged(&mut self) {
        self.loaded = true;
        self.damaged = true;
    }

    pub(in crate::engine) fn is_damaged(&self) -> bool {
        self.damaged
    }

    /// Forgets the group. The caller deletes it from the store.
    pub(in crate::engine) fn forget(&mut self) {
        *self = Self { loaded: true, ..Self::new(&self.id) };
    }

    /// Returns the group if this device knows it.
    pub(in crate::engine) fn group(&self) -> Option<&Group> {
        self.group.as_ref()
    }

    /// Returns the group for a change, and marks it to be written.
    pub(in crate::engine) fn group_mut(&mut self) -> Option<&mut Group> {
        self.changed = true;
        self.group.as_mut()
    }

    /// Returns the status, which decides if messages may be sent.
    pub(in crate::engine) fn status(&self) -> SessionStatus {
        self.status
    }

    /// Sets the group after a join, or replaces it.
    pub(in crate::engine) fn set(&mut self, group: Group) {
        self.group = Some(group);
        self.status = SessionStatus::Active;
        self.loaded = true;
        self.changed = true;
    }

    /// Returns true if all earlier messages must be opened before this one. Only texts are opened
    /// together.
    pub(in crate::engine) fn ends_run(&self, task: &Task<'_>) -> bool {
        !matches!(Message::parse(task.body), Ok(Message::Group(body))
            if Group::peek_epoch(body).is_some_and(|it| it.content == Content::Application))
    }

    /// Opens consecutive messages: any number of texts, or one other message followed by texts. A
    /// change also opens messages that were parked for its epoch.
    pub(in crate::engine) fn open<'e>(
        &mut self,
        run: Vec<(Task<'e>, BodyDigest)>,
        dedup: &mut BatchDedup,
        budget: &ParkingBudget,
        entries: &mut Vec<Entry<'e>>,
    ) {
        let Some((first, _)) = run.first() else { return };
        let alone = usize::from(self.ends_run(first));
        let (head, texts) = run.split_at_checked(alone).unwrap_or((&run, &[]));
        for part in [head, texts] {
            let bodies: Vec<&'e [u8]> = part.iter().map(|(task, _)| inner(task.body)).collect();
            let had_pending = self.has_pending();
            let results = self.advance(&bodies);
            for ((task, digest), result) in part.iter().zip(results) {
                let result = match result {
                    Ok(opened) => Opened::Delivery(delivery(opened, *digest)),
                    Err(verdict) => match verdict {
                        Verdict::Park(reason, epoch) => {
                            dedup.park(task, reason, epoch, budget, entries)
                        }
                        Verdict::Fail(failure) => Opened::Failed(failure),
                    },
                };
                let is_change = is_change(&result);
                let decided = self.decided(had_pending, &result);
                dedup.end(Entry { decided, ..Entry::new(task, result) }, budget, entries);
                if is_change {
                    self.retry(task.index, dedup, budget, entries);
                }
            }
        }
    }

    /// Tries parked messages of the current and earlier epochs. If one of them is a change, the new
    /// epoch's messages are tried, too.
    pub(in crate::engine) fn retry(
        &mut self,
        index: usize,
        dedup: &mut BatchDedup,
        budget: &ParkingBudget,
        entries: &mut Vec<Entry<'_>>,
    ) {
        self.sort_parked(&mut dedup.parking);
        let mut again = true;
        while core::mem::take(&mut again) {
            let Some(epoch) = self.member().map(Group::epoch) else { return };
            for row in dedup.parking.take_all() {
                let had_pending = self.has_pending();
                let result = if row.epoch > epoch + MAX_AHEAD {
                    Err(Verdict::Fail(Failure::TooFarAhead))
                } else if row.epoch > epoch {
                    Err(Verdict::Park(row.reason, row.epoch))
                } else {
                    self.advance(&[inner(&row.body)]).pop().unwrap_or(Err(MALFORMED))
                };
                let result = match result {
                    Ok(opened) => Opened::Delivery(delivery(opened, dedup.digest(&row.body))),
                    Err(Verdict::Park(reason, _)) => {
                        dedup.parking.keep(Parked { reason, ..row });
                        continue;
                    }
                    Err(Verdict::Fail(failure)) => Opened::Failed(failure),
                };
                dedup.parking.removed(&row, budget);
                again |= is_change(&result);
                let decided = self.decided(had_pending, &result);
                let entry = Entry { decided, ..Entry::unparked(index, row.id, result) };
                dedup.end(entry, budget, entries);
            }
        }
        self.sort_parked(&mut dedup.parking);
    }

    /// Sets the reason of parked messages to the later epoch, if their epoch is ahead of the
    /// group's.
    pub(in crate::engine) fn sort_parked(&self, parking: &mut Parking) {
        if let Some(epoch) = self.member().map(Group::epoch) {
            parking.name_later(epoch);
        }
    }

    fn advance(&mut self, bodies: &[&[u8]]) -> Vec<Result<group::Opened, Verdict>> {
        let Some(group) = self.group.as_mut() else {
            return bodies.iter().map(|body| Err(self.verdict_without_group(body))).collect();
        };
        let (own, is_member) = (group.epoch(), group.is_member());
        let results = group.open_many(bodies);
        self.changed |= results.iter().any(|it| matches!(it, Ok(_) | Err(OpenError::Internal)));
        let verdict = |(body, result): (&&[u8], Result<group::Opened, OpenError>)| {
            result.map_err(|error| match error {
                OpenError::LaterEpoch(epoch) if epoch > own + MAX_AHEAD => {
                    Verdict::Fail(Failure::TooFarAhead)
                }
                OpenError::LaterEpoch(epoch) => Verdict::Park(Reason::LaterEpoch, epoch),
                error => match (failure(error), Group::peek_epoch(body)) {
                    // The device may be welcomed into a later epoch.
                    (Failure::NoGroup, Some(header)) if !is_member && header.epoch <= own => {
                        Verdict::Fail(Failure::NoGroup)
                    }
                    (failure, Some(header)) => Verdict::of(failure, header.epoch),
                    (failure, None) => Verdict::Fail(failure),
                },
            })
        };
        bodies.iter().zip(results).map(verdict).collect()
    }

    /// Returns the result of a message of a group that this device does not know or cannot decode.
    fn verdict_without_group(&self, body: &[u8]) -> Verdict {
        let failure = if self.damaged { Failure::Damaged } else { Failure::NoGroup };
        match Group::peek_epoch(body) {
            Some(header) if header.id == self.id => Verdict::of(failure, header.epoch),
            _ => MALFORMED,
        }
    }

    /// Returns the group if this device is a member.
    fn member(&self) -> Option<&Group> {
        self.group.as_ref().filter(|group| group.is_member())
    }

    fn has_pending(&self) -> bool {
        self.group.as_ref().is_some_and(Group::has_pending)
    }

    /// Returns true if the change is the pending commit, false if another commit came first, and
    /// `None` if no pending commit was decided.
    fn decided(&self, had_pending: bool, result: &Opened<'_>) -> Option<bool> {
        let Opened::Delivery(delivery) = result else { return None };
        let group = self.group.as_ref()?;
        let is_decided = had_pending && delivery.kind == KIND_CHANGE && !group.has_pending();
        is_decided.then(|| delivery.sender == group.address())
    }

    pub(in crate::engine) fn save(&mut self, states: &mut Changeset) -> Result<(), EngineError> {
        if core::mem::take(&mut self.changed)
            && let Some(group) = &mut self.group
        {
            let changes = group.save().map_err(|_| EngineError::Damaged("group in memory"))?;
            let (id, epoch) = (group.id().to_vec(), group.epoch());
            states.groups.push(GroupStates { id, epoch, status: self.status, changes });
        }
        Ok(())
    }
}

/// Result of a message that was not opened.
enum Verdict {
    Fail(Failure),
    /// Park it, with the epoch that it names.
    Park(Reason, u64),
}

const MALFORMED: Verdict = Verdict::Fail(Failure::Malformed);

impl Verdict {
    fn of(failure: Failure, epoch: u64) -> Self {
        match Reason::of(failure) {
            Some(reason) => Self::Park(reason, epoch),
            None => Self::Fail(failure),
        }
    }
}

/// Returns the MLS message in a group message; empty bytes for other messages, which fail to open.
fn inner(body: &[u8]) -> &[u8] {
    match Message::parse(body) {
        Ok(Message::Group(body)) => body,
        _ => &[],
    }
}

fn is_change(result: &Opened<'_>) -> bool {
    matches!(result, Opened::Delivery(it) if it.kind == KIND_CHANGE)
}

fn delivery(opened: group::Opened, digest: BodyDigest) -> Delivery {
    match opened {
        group::Opened::Message { sender, plaintext } => {
            Delivery { sender, kind: KIND_TEXT, digest, plaintext, added: Vec::new() }
        }
        group::Opened::Note { sender, plaintext } => {
            Delivery { sender, kind: KIND_NOTE, digest, plaintext, added: Vec::new() }
        }
        group::Opened::Change(change) => Delivery {
            sender: change.by,
            kind: KIND_CHANGE,
            digest,
            plaintext: Zeroizing::new(notice::change(&change)),
            added: change.added.into_iter().zip(change.certificates).collect(),
        },
        group::Opened::Proposal(proposed) => Delivery {
            sender: notice::proposer(&proposed),
            kind: KIND_PROPOSAL,
            digest,
            plaintext: Zeroizing::new(notice::proposal(&proposed)),
            added: Vec::new(),
        },
    }
}

fn failure(error: OpenError) -> Failure {
    match error {
        OpenError::Malformed | OpenError::OtherGroup => Failure::Malformed,
        OpenError::Authentication => Failure::Authentication,
        OpenError::OldEpoch => Failure::OldEpoch,
        OpenError::KeyGone => Failure::KeyGone,
        OpenError::TooFarAhead { .. } => Failure::TooFarAhead,
        OpenError::Own => Failure::Own,
        OpenError::NotMember => Failure::NoGroup,
        OpenError::TooLarge => Failure::GroupTooLarge,
        OpenError::Membership => Failure::Membership,
        // Saving fails then, and the group is loaded again.
        OpenError::Internal => Failure::Damaged,
        // The caller parks it before.
        OpenError::LaterEpoch(_) => Failure::TooFarAhead,
    }
}
