//! What one conversation needs while its messages are opened, and nothing that another one needs:
//! lanes are worked on at the same time.

mod correspondence;
mod membership;

use alloc::borrow::Cow;
use alloc::vec::Vec;
use std::collections::HashMap;

pub(super) use correspondence::{Correspondence, Partner, RatchetEntry};
pub(super) use membership::{Membership, Waiting};

use super::desk::Loaded;
use super::states::States;
use super::task::{BodyDigest, Entry, Opened, Task, digest};
use super::trust::Trust;
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
#[derive(Default)]
pub(super) struct Fresh {
    current: HashMap<Vec<u8>, (BodyDigest, usize)>,
    previous: HashMap<Vec<u8>, (BodyDigest, usize)>,
}

impl Fresh {
    /// A block begins.
    fn turn(&mut self) {
        core::mem::swap(&mut self.current, &mut self.previous);
        self.current.clear();
    }

    fn find(&self, id: &[u8]) -> Option<&(BodyDigest, usize)> {
        self.current.get(id).or_else(|| self.previous.get(id))
    }

    fn add(&mut self, id: &[u8], digest: BodyDigest, index: usize) {
        self.current.insert(id.to_vec(), (digest, index));
    }

    /// The batch is over.
    pub(super) fn clear(&mut self) {
        self.current.clear();
        self.previous.clear();
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
        fresh.turn();
        let mut entries = Vec::with_capacity(tasks.len());
        for task in tasks {
            self.take(fresh, &task, trust, &mut entries);
        }
        entries
    }

    fn take<'e>(
        &mut self,
        fresh: &mut Fresh,
        task: &Task<'e>,
        trust: &Trust<A>,
        entries: &mut Vec<Entry<'e>>,
    ) {
        // Redelivery is looked up before a ratchet is touched.
        let digest = digest(task.body);
        let known = match (&task.seen, fresh.find(task.id)) {
            (Some(seen), _) => Some((seen.digest, Opened::Known(seen.seq))),
            (None, Some((digest, index))) => Some((*digest, Opened::Repeated(*index))),
            (None, None) => None,
        };
        let index = task.index;
        let own = |result| Entry { index, id: Cow::Borrowed(task.id), waited_for: None, result };
        if let Some((before, answer)) = known {
            let same = before == digest;
            entries.push(own(if same { answer } else { Opened::Failed(Failure::IdReused) }));
            return;
        }
        let from = entries.len();
        match self {
            Self::Person(correspondence) => {
                entries.push(own(correspondence.open(task, digest, trust)));
            }
            Self::Group(membership) => membership.open(task, digest, entries),
        }
        for entry in entries.get(from..).unwrap_or_default() {
            if let Opened::Delivery(delivery) = &entry.result {
                fresh.add(&entry.id, delivery.digest, entry.index);
            }
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
