//! This device in one group, and the messages that came before their epoch.

use alloc::borrow::Cow;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use endseal_crypto::secret::Zeroizing;
use endseal_store::Standing;

use super::Fresh;
use crate::engine::body_digest::BodyDigest;
use crate::engine::inbox::{KIND_CHANGE, KIND_PROPOSAL, KIND_TEXT};
use crate::engine::notice;
use crate::engine::states::{GroupStates, States};
use crate::engine::task::{Delivery, Entry, Opened, Task};
use crate::group::{self, Content, Group, OpenError};
use crate::{EngineError, Failure, Message};

/// Messages of one group that wait at most, and the bytes that they have together.
const MAX_WAITING: usize = 1_000;
const MAX_WAITING_BYTES: usize = 16 << 20;
/// The latest epoch that the store can name, which no group reaches.
const MAX_EPOCH: u64 = u64::MAX >> 1;

/// See the module.
pub(in crate::engine) struct Membership {
    group: Option<Group>,
    standing: Standing,
    waiting: VecDeque<Waiting>,
    waiting_bytes: usize,
    loaded: bool,
    changed: bool,
}

/// A ciphertext of a later epoch.
pub(in crate::engine) struct Waiting {
    pub(in crate::engine) id: Vec<u8>,
    pub(in crate::engine) epoch: u64,
    pub(in crate::engine) body: Vec<u8>,
}

impl Membership {
    /// A group that was not looked up yet.
    pub(in crate::engine) fn new() -> Self {
        Self {
            group: None,
            standing: Standing::Sends,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            loaded: false,
            changed: false,
        }
    }

    pub(in crate::engine) fn is_loaded(&self) -> bool {
        self.loaded
    }

    pub(in crate::engine) fn load(
        &mut self,
        group: Option<(Group, Standing)>,
        waiting: Vec<Waiting>,
    ) {
        self.waiting_bytes = waiting.iter().map(|it| it.body.len()).sum();
        self.waiting = waiting.into();
        if let Some((group, standing)) = group {
            self.group = Some(group);
            self.standing = standing;
        }
        self.loaded = true;
    }

    /// The group, if this device knows it.
    pub(in crate::engine) fn group(&self) -> Option<&Group> {
        self.group.as_ref()
    }

    /// The group, if this device knows it, to be changed.
    pub(in crate::engine) fn group_mut(&mut self) -> Option<&mut Group> {
        self.changed = true;
        self.group.as_mut()
    }

    /// Whether it may be written to.
    pub(in crate::engine) fn standing(&self) -> Standing {
        self.standing
    }

    /// Joins or replaces the group.
    pub(in crate::engine) fn set(&mut self, group: Group) {
        self.group = Some(group);
        self.standing = Standing::Sends;
        self.loaded = true;
        self.changed = true;
    }

    /// Whether what came before a message must be opened before it: only texts are opened together.
    pub(in crate::engine) fn ends_run(&self, task: &Task<'_>) -> bool {
        !matches!(Message::parse(task.body), Ok(Message::Group(body))
            if Group::peek_epoch(body).is_some_and(|it| it.content == Content::Application))
    }

    /// Opens messages that follow each other: any number of texts, or another message and then texts;
    /// and those that waited for the epoch that it brings.
    pub(in crate::engine) fn open<'e>(
        &mut self,
        run: Vec<(Task<'e>, BodyDigest)>,
        fresh: &mut Fresh,
        entries: &mut Vec<Entry<'e>>,
    ) {
        let Some((first, _)) = run.first() else { return };
        let alone = usize::from(self.ends_run(first));
        let (head, texts) = run.split_at_checked(alone).unwrap_or((&run, &[]));
        for part in [head, texts] {
            let bodies: Vec<&'e [u8]> = part.iter().map(|(task, _)| inner(task.body)).collect();
            let results = self.advance(&bodies);
            for ((task, digest), result) in part.iter().zip(results) {
                let result = match result {
                    Err(OpenError::LaterEpoch(epoch)) => self.wait(task, epoch),
                    Err(error) => Opened::Failed(failure(error)),
                    Ok(opened) => Opened::Delivery(delivery(opened, *digest)),
                };
                let is_change = is_change(&result);
                let (index, id) = (task.index, Cow::Borrowed(task.id));
                fresh.end(Entry { index, id, waited_for: None, result }, entries);
                if is_change {
                    self.release(index, fresh, entries);
                }
            }
        }
    }

    /// Opens what waited for the epoch that the group is in now. A change among them goes on.
    pub(in crate::engine) fn release(
        &mut self,
        index: usize,
        fresh: &mut Fresh,
        entries: &mut Vec<Entry<'_>>,
    ) {
        let mut again = true;
        while core::mem::take(&mut again) {
            let Some(epoch) = self.group.as_ref().map(Group::epoch) else { return };
            let (now, later): (VecDeque<_>, VecDeque<_>) =
                core::mem::take(&mut self.waiting).into_iter().partition(|it| it.epoch <= epoch);
            self.waiting = later;
            for it in now {
                self.waiting_bytes = self.waiting_bytes.saturating_sub(it.body.len());
                let opened = self.advance(&[inner(&it.body)]).pop();
                let result = match opened.unwrap_or(Err(OpenError::Malformed)) {
                    Ok(opened) => Opened::Delivery(delivery(opened, fresh.digest(&it.body))),
                    Err(error) => Opened::Failed(failure(error)),
                };
                again |= is_change(&result);
                let waited_for = Some(it.epoch);
                fresh.end(Entry { index, id: Cow::Owned(it.id), waited_for, result }, entries);
            }
        }
    }

    fn advance(&mut self, bodies: &[&[u8]]) -> Vec<Result<group::Opened, OpenError>> {
        let Some(group) = self.group.as_mut() else {
            return bodies.iter().map(|_| Err(OpenError::NotMember)).collect();
        };
        let results = group.open_many(bodies);
        self.changed |= results.iter().any(Result::is_ok);
        results
    }

    /// Whether a message of that id is in the buffer.
    pub(in crate::engine) fn waits(&self, id: &[u8]) -> bool {
        self.waiting.iter().any(|it| it.id == id)
    }

    /// The answer to a message whose id is in the buffer: an id is that of one message, whether it was
    /// opened or waits, so that what waits can be delivered under it.
    pub(in crate::engine) fn admit<'e>(&self, task: &Task<'e>) -> Option<Opened<'e>> {
        let waiting = self.waiting.iter().find(|it| it.id == task.id)?;
        let is_same = waiting.body == task.body;
        Some(if is_same { Opened::Waits(waiting.epoch) } else { Opened::Failed(Failure::IdReused) })
    }

    fn wait<'e>(&mut self, task: &Task<'e>, epoch: u64) -> Opened<'e> {
        if epoch > MAX_EPOCH {
            return Opened::Failed(Failure::Malformed);
        }
        let bytes = self.waiting_bytes + task.body.len();
        if self.waiting.len() >= MAX_WAITING || bytes > MAX_WAITING_BYTES {
            return Opened::Failed(Failure::BufferFull);
        }
        self.waiting_bytes = bytes;
        self.waiting.push_back(Waiting { id: task.id.to_vec(), epoch, body: task.body.to_vec() });
        Opened::Early { epoch, body: Cow::Borrowed(task.body) }
    }

    pub(in crate::engine) fn save(&mut self, states: &mut States) -> Result<(), EngineError> {
        if core::mem::take(&mut self.changed)
            && let Some(group) = &mut self.group
        {
            let changes = group.save().map_err(|_| EngineError::Damaged("group in memory"))?;
            let (id, epoch) = (group.id().to_vec(), group.epoch());
            states.groups.push(GroupStates { id, epoch, standing: self.standing, changes });
        }
        Ok(())
    }
}

/// The message of MLS in a message of a group; of any other message, nothing that opens.
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
            Delivery { sender, kind: KIND_TEXT, digest, plaintext }
        }
        group::Opened::Change(change) => Delivery {
            sender: change.by,
            kind: KIND_CHANGE,
            digest,
            plaintext: Zeroizing::new(notice::change(&change)),
        },
        group::Opened::Proposal(proposed) => Delivery {
            sender: notice::proposer(&proposed),
            kind: KIND_PROPOSAL,
            digest,
            plaintext: Zeroizing::new(notice::proposal(&proposed)),
        },
    }
}

fn failure(error: OpenError) -> Failure {
    match error {
        OpenError::Malformed => Failure::Malformed,
        OpenError::OtherGroup => Failure::NoGroup,
        OpenError::Authentication => Failure::Authentication,
        OpenError::OldEpoch => Failure::OldEpoch,
        OpenError::KeyGone => Failure::KeyGone,
        OpenError::TooFarAhead { .. } => Failure::TooFarAhead,
        OpenError::Own => Failure::Own,
        OpenError::NotMember => Failure::NoGroup,
        // Kept by whoever calls; it does not come from the buffer twice.
        OpenError::LaterEpoch(_) => Failure::OldEpoch,
    }
}
