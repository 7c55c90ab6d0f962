//! State of one conversation while its messages are opened. Conversations share no state, so they
//! are processed in parallel.

mod direct_conversation;
mod group_conversation;
mod loaded;
mod parking;
mod reached;

use alloc::vec::Vec;
use core::borrow::Borrow;
use core::hash::{Hash, Hasher};
use std::collections::HashMap;

pub(super) use direct_conversation::{DirectConversation, RemoteDevice, Seen, SessionSlot, Shown};
pub(super) use group_conversation::GroupConversation;
pub(super) use loaded::Loaded;
pub(super) use parking::{Parked, Parking, outcome as parked_outcome, row as parked_row};
use reached::Reached;

use super::accept_context::AcceptContext;
use super::body_digest::{BodyDigest, Recognizer, is_same};
use super::changeset::Changeset;
use super::parking_budget::ParkingBudget;
use super::parking_reason::Reason;
use super::task::{Entry, Opened, Task};
use crate::envelope::MAX_ID_LEN;
use crate::{EngineError, Failure, PairwiseAccount, Ratchet};

/// State of one conversation: with a person on all devices, or in a group.
pub(super) enum ConversationState<A: PairwiseAccount> {
    Person(DirectConversation<A::Ratchet>),
    Group(GroupConversation),
}

/// Trigger for a retry of parked messages between two people.
pub(super) enum Occasion {
    /// Messages were opened; the value has their chains.
    Moved(Reached),
    /// State outside the conversation changed, or the conversation was loaded.
    Changed,
    /// The application requested it.
    Asked,
}

impl Occasion {
    /// Returns true if the parked message may open after this trigger.
    fn concerns<R: Ratchet>(&self, row: &Parked) -> bool {
        match self {
            Self::Moved(reached) if row.is_too_far() => reached.covers::<R>(row.device, &row.body),
            Self::Changed => !row.is_too_far(),
            Self::Moved(_) | Self::Asked => true,
        }
    }
}

/// Ids that were delivered in this batch and may not be in the store yet, and parked messages.
///
/// The store is queried before the previous block is written, so the ids of two blocks are kept.
pub(super) struct BatchDedup {
    pub(super) parking: Parking,
    ids: HashMap<Id, Known>,
    block: u64,
    recognizer: Recognizer,
}

/// Delivery of an id in this batch.
struct Known {
    digest: BodyDigest,
    index: usize,
    /// Number of the block in which it was delivered.
    block: u64,
}

/// Inline copy of an id, so that a message needs no allocation for it.
struct Id {
    len: usize,
    bytes: [u8; MAX_ID_LEN],
}

impl Id {
    /// Returns `None` if the id is too long, which an admitted message never is.
    fn new(id: &[u8]) -> Option<Self> {
        let mut bytes = [0; MAX_ID_LEN];
        bytes.get_mut(..id.len())?.copy_from_slice(id);
        Some(Self { len: id.len(), bytes })
    }
}

impl Borrow<[u8]> for Id {
    fn borrow(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

// Same hash as the slice, by which ids are looked up.
impl Hash for Id {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Borrow::<[u8]>::borrow(self).hash(state);
    }
}

impl PartialEq for Id {
    fn eq(&self, other: &Self) -> bool {
        Borrow::<[u8]>::borrow(self) == Borrow::<[u8]>::borrow(other)
    }
}

impl Eq for Id {}

impl BatchDedup {
    pub(super) fn new(recognizer: Recognizer) -> Self {
        Self { parking: Parking::new(), ids: HashMap::new(), block: 0, recognizer }
    }

    /// Returns the digest of a ciphertext.
    fn digest(&self, body: &[u8]) -> BodyDigest {
        self.recognizer.digest(body)
    }

    /// Begins a block of `messages` messages, and drops the ids of older blocks.
    fn begin(&mut self, messages: usize) {
        self.block += 1;
        let oldest = self.block - 1;
        self.ids.retain(|_, known| known.block >= oldest);
        self.ids.reserve(messages);
    }

    fn find(&self, id: &[u8]) -> Option<&Known> {
        self.ids.get(id)
    }

    /// Returns the digest of a message whose id is new. Otherwise adds its result to `entries`. It
    /// is called before a ratchet is changed.
    fn admit<'e>(&self, task: &Task<'e>, entries: &mut Vec<Entry<'e>>) -> Option<BodyDigest> {
        let digest = self.digest(task.body);
        let is_same = |before| is_same(before, &digest);
        let (is_same, answer) = match (&task.seen, self.find(task.id)) {
            (Some(seen), _) => (is_same(&seen.digest), Opened::Known(seen.seq)),
            (None, Some(known)) => (is_same(&known.digest), Opened::Repeated(known.index)),
            (None, None) => match self.parking.find(task.id) {
                Some(parked) if parked.body == task.body => (true, Opened::Waits(parked.outcome())),
                // A parked message is not authenticated: one that opens under the same id replaces
                // it.
                _ => return Some(digest),
            },
        };
        let result = if is_same { answer } else { Opened::Failed(Failure::IdReused) };
        entries.push(Entry::new(task, result));
        None
    }

    /// Parks a message for a reason that may pass. Evicted messages are added to `entries`.
    fn park<'e>(
        &mut self,
        task: &Task<'e>,
        reason: Reason,
        epoch: u64,
        budget: &ParkingBudget,
        entries: &mut Vec<Entry<'e>>,
    ) -> Opened<'e> {
        if self.parking.find(task.id).is_some() {
            return Opened::Failed(Failure::IdReused);
        }
        let mut evicted = Vec::new();
        let result = self.parking.park(task, reason, epoch, budget, &mut evicted);
        for row in evicted {
            let result = Opened::Failed(Failure::BufferFull);
            entries.push(Entry::unparked(task.index, row.id, result));
        }
        result
    }

    /// Records the result of a message.
    fn end<'e>(
        &mut self,
        mut entry: Entry<'e>,
        budget: &ParkingBudget,
        entries: &mut Vec<Entry<'e>>,
    ) {
        if let Opened::Delivery(delivery) = &entry.result
            && let Some(id) = Id::new(&entry.id)
        {
            let (digest, index, block) = (delivery.digest, entry.index, self.block);
            self.ids.insert(id, Known { digest, index, block });
            entry.replaces = self.parking.remove(&entry.id, budget);
        }
        entries.push(entry);
    }

    /// Forgets the delivered ids at the end of a batch.
    pub(super) fn clear(&mut self) {
        self.ids.clear();
    }
}

impl<A: PairwiseAccount> ConversationState<A> {
    /// Opens the messages of one block, in their order.
    pub(super) fn work<'e>(
        &mut self,
        dedup: &mut BatchDedup,
        tasks: Vec<Task<'e>>,
        accept_context: &AcceptContext<A>,
    ) -> Vec<Entry<'e>> {
        dedup.begin(tasks.len());
        let mut entries = Vec::with_capacity(tasks.len());
        let last = tasks.last().map(|it| it.index);
        let budget = &*accept_context.budget;
        let mut reached = Reached::default();
        match self {
            Self::Person(correspondence) => {
                for task in &tasks {
                    let Some(digest) = dedup.admit(task, &mut entries) else { continue };
                    let result = match correspondence.open(task, digest, accept_context) {
                        Opened::Failed(failure) => match Reason::of(failure) {
                            Some(reason) => {
                                dedup.park(task, reason, 0, &accept_context.budget, &mut entries)
                            }
                            None => Opened::Failed(failure),
                        },
                        other => other,
                    };
                    if let (Opened::Delivery(_), Some(sender)) = (&result, task.sender)
                        && !dedup.parking.is_empty()
                    {
                        reached.note::<A::Ratchet>(sender.device, task.body);
                    }
                    dedup.end(Entry::new(task, result), budget, &mut entries);
                }
            }
            Self::Group(membership) => {
                // Consecutive texts are opened together, after all their ids were checked for
                // repetition.
                let mut run: Vec<(Task<'e>, BodyDigest)> = Vec::new();
                for task in tasks {
                    let again = run.iter().any(|(it, _)| it.id == task.id);
                    let is_parked = dedup.parking.find(task.id).is_some();
                    if again || is_parked || membership.ends_run(&task) {
                        membership.open(core::mem::take(&mut run), dedup, budget, &mut entries);
                    }
                    if let Some(digest) = dedup.admit(&task, &mut entries) {
                        run.push((task, digest));
                    }
                }
                membership.open(run, dedup, budget, &mut entries);
            }
        }
        let moved = entries.iter().any(|it| matches!(it.result, Opened::Delivery(_)));
        if (dedup.parking.take_due() || moved)
            && let Some(last) = last
        {
            self.retry(last, Occasion::Moved(reached), dedup, accept_context, &mut entries);
        }
        entries
    }

    /// Tries parked messages again. `index` is that of the batch message that triggered it.
    pub(super) fn retry(
        &mut self,
        index: usize,
        occasion: Occasion,
        dedup: &mut BatchDedup,
        accept_context: &AcceptContext<A>,
        entries: &mut Vec<Entry<'_>>,
    ) {
        match self {
            Self::Person(correspondence) => {
                correspondence.retry(index, occasion, dedup, accept_context, entries);
            }
            Self::Group(membership) => {
                membership.retry(index, dedup, &accept_context.budget, entries)
            }
        }
    }

    /// Returns the number of loaded devices, at least 1; a group counts as one.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Person(correspondence) => correspondence.len().max(1),
            Self::Group(_) => 1,
        }
    }

    /// Adds a state that was read from the store.
    pub(super) fn load(&mut self, loaded: Loaded<A::Ratchet>, dedup: &mut BatchDedup) {
        match (self, loaded) {
            (Self::Person(person), Loaded::RemoteDevice(remote_device)) => {
                person.add(*remote_device)
            }
            (Self::Person(person), Loaded::DamagedPartner(device)) => person.add_damaged(device),
            (Self::Group(group), Loaded::Group(state)) => group.load(state),
            (Self::Group(group), Loaded::DamagedGroup) => group.load_damaged(),
            (Self::Person(_), Loaded::Parked(rows)) => dedup.parking.load(rows),
            (Self::Group(group), Loaded::Parked(rows)) => {
                dedup.parking.load(rows);
                group.sort_parked(&mut dedup.parking);
            }
            // Each load is requested for its own kind of conversation, so other pairs do not occur.
            (Self::Person(_), _) | (Self::Group(_), _) => {}
        }
    }

    /// Adds the changes since the last call to `states`.
    ///
    /// # Errors
    /// [`EngineError`] if the state of a group cannot be encoded.
    pub(super) fn save(&mut self, states: &mut Changeset) -> Result<(), EngineError> {
        match self {
            Self::Person(correspondence) => {
                correspondence.save(states);
                Ok(())
            }
            Self::Group(membership) => membership.save(states),
        }
    }
}
