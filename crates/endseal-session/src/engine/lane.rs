//! What one conversation needs while its messages are opened, and nothing that another one needs:
//! lanes are worked on at the same time.

mod correspondence;
mod membership;

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::borrow::Borrow;
use core::hash::{Hash, Hasher};
use std::collections::HashMap;

pub(super) use correspondence::{Correspondence, Partner, RatchetEntry, Seen};
pub(super) use membership::{Membership, Waiting};

use super::body_digest::{BodyDigest, Recognizer};
use super::desk::Loaded;
use super::states::States;
use super::task::{Entry, Opened, Task};
use super::trust::Trust;
use crate::envelope::MAX_ID_LEN;
use crate::{EngineError, Failure, PairwiseAccount};

/// One conversation: with a person, on all devices, or in a group.
pub(super) enum Lane<A: PairwiseAccount> {
    Person(Correspondence<A::Ratchet>),
    Group(Membership),
}

/// Ids that were delivered in this batch and may not be in the store yet.
///
/// What the store knows was asked before the block before this one was written, so two blocks are
/// remembered.
pub(super) struct Fresh {
    ids: HashMap<Id, Known>,
    block: u64,
    recognizer: Recognizer,
}

/// What is known of an id that was delivered.
struct Known {
    digest: BodyDigest,
    index: usize,
    /// When.
    block: u64,
}

/// An id in its place, so that a message costs no allocation for it.
struct Id {
    len: usize,
    bytes: [u8; MAX_ID_LEN],
}

impl Id {
    /// None if it is too long, which a message that was admitted is not.
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

// As the slice, by which it is looked up.
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

impl Fresh {
    pub(super) fn new(recognizer: Recognizer) -> Self {
        Self { ids: HashMap::new(), block: 0, recognizer }
    }

    /// The digest of a ciphertext.
    fn digest(&self, body: &[u8]) -> BodyDigest {
        self.recognizer.digest(body)
    }

    /// A block of so many messages begins.
    fn turn(&mut self, messages: usize) {
        self.block += 1;
        let oldest = self.block - 1;
        self.ids.retain(|_, known| known.block >= oldest);
        self.ids.reserve(messages);
    }

    fn find(&self, id: &[u8]) -> Option<&Known> {
        self.ids.get(id)
    }

    /// The digest of a message that is not known; the answer to one that is goes to `entries`. This
    /// comes before a ratchet is touched.
    fn admit<'e>(&self, task: &Task<'e>, entries: &mut Vec<Entry<'e>>) -> Option<BodyDigest> {
        let digest = self.digest(task.body);
        let (before, answer) = match (&task.seen, self.find(task.id)) {
            (Some(seen), _) => (seen.digest, Opened::Known(seen.seq)),
            (None, Some(known)) => (known.digest, Opened::Repeated(known.index)),
            (None, None) => return Some(digest),
        };
        let is_same = self.recognizer.is_same(&before, &digest, task.body);
        let result = if is_same { answer } else { Opened::Failed(Failure::IdReused) };
        let (index, id) = (task.index, Cow::Borrowed(task.id));
        entries.push(Entry { index, id, waited_for: None, result });
        None
    }

    /// Takes down what became of a message.
    fn end<'e>(&mut self, entry: Entry<'e>, entries: &mut Vec<Entry<'e>>) {
        if let Opened::Delivery(delivery) = &entry.result
            && let Some(id) = Id::new(&entry.id)
        {
            let (digest, index, block) = (delivery.digest, entry.index, self.block);
            self.ids.insert(id, Known { digest, index, block });
        }
        entries.push(entry);
    }

    /// The batch is over.
    pub(super) fn clear(&mut self) {
        self.ids.clear();
    }
}

impl<A: PairwiseAccount> Lane<A> {
    /// Opens the messages of one block, in their order.
    pub(super) fn work<'e>(
        &mut self,
        fresh: &mut Fresh,
        tasks: Vec<Task<'e>>,
        trust: &Trust<A>,
    ) -> Vec<Entry<'e>> {
        fresh.turn(tasks.len());
        let mut entries = Vec::with_capacity(tasks.len());
        match self {
            Self::Person(correspondence) => {
                for task in tasks {
                    let Some(digest) = fresh.admit(&task, &mut entries) else { continue };
                    let result = correspondence.open(&task, digest, trust);
                    let (index, id) = (task.index, Cow::Borrowed(task.id));
                    fresh.end(Entry { index, id, waited_for: None, result }, &mut entries);
                }
            }
            Self::Group(membership) => {
                // Texts that follow each other are opened together; whether an id came before must
                // be known of all of them.
                let mut run: Vec<(Task<'e>, BodyDigest)> = Vec::new();
                for task in tasks {
                    let again = run.iter().any(|(it, _)| it.id == task.id);
                    if again || membership.waits(task.id) || membership.ends_run(&task) {
                        membership.open(core::mem::take(&mut run), fresh, &mut entries);
                    }
                    let Some(digest) = fresh.admit(&task, &mut entries) else { continue };
                    match membership.admit(&task) {
                        Some(result) => {
                            let (index, id) = (task.index, Cow::Borrowed(task.id));
                            entries.push(Entry { index, id, waited_for: None, result });
                        }
                        None => run.push((task, digest)),
                    }
                }
                membership.open(run, fresh, &mut entries);
            }
        }
        entries
    }

    /// How many devices it holds; a group counts as one.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Person(correspondence) => correspondence.len().max(1),
            Self::Group(_) => 1,
        }
    }

    /// Takes in what the store has of it.
    pub(super) fn load(&mut self, loaded: Loaded<A::Ratchet>) {
        match (self, loaded) {
            (Self::Person(person), Loaded::Partner(partner)) => person.add(*partner),
            (Self::Group(group), Loaded::Group { group: state, waiting }) => {
                group.load(state, waiting);
            }
            // A lane is asked for by its own kind.
            (Self::Person(_), Loaded::Group { .. }) | (Self::Group(_), Loaded::Partner(_)) => {}
        }
    }

    /// Adds what changed since the last time to what is to be written.
    ///
    /// # Errors
    /// [`EngineError`] if a group cannot be written as bytes.
    pub(super) fn save(&mut self, states: &mut States) -> Result<(), EngineError> {
        match self {
            Self::Person(correspondence) => {
                correspondence.save(states);
                Ok(())
            }
            Self::Group(membership) => membership.save(states),
        }
    }
}
