//! Order in which the messages of a batch are opened.
//!
//! A ratchet keeps few keys for messages that were overtaken. Therefore, before a message is
//! opened, all messages of its chain with a lower number that come later in the batch are opened.
//! All other messages stay in place, as do messages with an id that occurred before in the batch.
//! The numbers are not authenticated; a wrong number changes the order only.

use alloc::vec::Vec;
use std::collections::{HashMap, HashSet};

use crate::{BatchReport, ChainPlace, Envelope, Message, Origin, Ratchet, SessionTag};

/// Order that differs from the order of delivery.
pub(super) struct Order {
    /// Index in the batch for each step.
    places: Vec<usize>,
    /// Step for each index in the batch.
    steps: Vec<usize>,
    /// For each number of steps, the number of consecutive messages from the start of the batch
    /// that are done.
    done: Vec<usize>,
}

/// Ratchet chain: the session and the sender's ratchet key.
type Chain = (SessionTag, [u8; 32]);

/// Chains that are compared before the map is used.
const RECENT: usize = 8;

impl Order {
    /// Returns the order for a batch; `None` if it is the order of delivery.
    pub(super) fn of<R: Ratchet>(envelopes: &[Envelope<'_>]) -> Option<Self> {
        if is_sorted::<R>(envelopes) {
            return None;
        }
        let mut chains: HashMap<Chain, Members> = HashMap::new();
        let mut ids = HashSet::new();
        let numbered: Vec<_> = envelopes
            .iter()
            .map(|it| {
                let Origin::Device(sender) = it.origin else { return None };
                if ids.insert((*sender.identity.as_bytes(), it.id)) {
                    number::<R>(it)
                } else {
                    None
                }
            })
            .collect();
        for (place, number) in numbered.iter().enumerate() {
            if let Some((chain, index)) = number {
                chains.entry(*chain).or_default().list.push((*index, place));
            }
        }
        for members in chains.values_mut() {
            members.list.sort_unstable();
        }
        let mut places = Vec::with_capacity(envelopes.len());
        for (place, number) in numbered.iter().enumerate() {
            let members = number.and_then(|(chain, index)| Some((chains.get_mut(&chain)?, index)));
            let Some((members, index)) = members else {
                places.push(place);
                continue;
            };
            // Empty if it was opened before, together with an earlier message.
            let due = members.list.get(members.next..).unwrap_or_default();
            let due = due.iter().take_while(|it| **it <= (index, place));
            let before = places.len();
            places.extend(due.map(|(_, place)| *place));
            members.next += places.len() - before;
        }
        Some(Self::new(places))
    }

    fn new(places: Vec<usize>) -> Self {
        let mut steps = alloc::vec![0; places.len()];
        for (step, place) in places.iter().enumerate() {
            if let Some(at) = steps.get_mut(*place) {
                *at = step;
            }
        }
        let mut done = Vec::with_capacity(places.len() + 1);
        let mut front = 0;
        for count in 0..=places.len() {
            while steps.get(front).is_some_and(|step| *step < count) {
                front += 1;
            }
            done.push(front);
        }
        Self { places, steps, done }
    }

    /// Returns the messages in this order. Each gets the queue position up to which all messages
    /// are done after it.
    pub(super) fn arrange<'e>(&self, envelopes: &[Envelope<'e>]) -> Vec<Envelope<'e>> {
        let arranged = self.places.iter().enumerate().filter_map(|(step, place)| {
            let done = envelopes.get(self.done(step)..self.done(step + 1)).unwrap_or_default();
            let position = done.iter().rev().map(|it| it.position).find(|it| !it.is_empty());
            Some(envelopes.get(*place)?.at(position.unwrap_or_default()))
        });
        arranged.collect()
    }

    /// Returns the number of consecutive messages from the start of the batch that are done after
    /// `steps` steps.
    pub(super) fn done(&self, steps: usize) -> usize {
        self.done.get(steps).copied().unwrap_or_default()
    }

    /// Returns the step in which the message at index `place` is opened.
    pub(super) fn step(&self, place: usize) -> usize {
        self.steps.get(place).copied().unwrap_or_default()
    }

    /// Converts a report in steps into one in the order of delivery. It covers the messages before
    /// the first one that was not done.
    pub(super) fn restore(&self, report: BatchReport) -> BatchReport {
        let front = 0..self.done(report.outcomes.len());
        let outcomes =
            front.filter_map(|place| report.outcomes.get(self.step(place)).copied()).collect();
        BatchReport { outcomes, ..report }
    }
}

/// Messages of a chain by number and index, and the count of those that were ordered.
#[derive(Default)]
struct Members {
    list: Vec<(u64, usize)>,
    next: usize,
}

/// Returns the chain of a message and its number in the chain.
fn number<R: Ratchet>(envelope: &Envelope<'_>) -> Option<(Chain, u64)> {
    let Origin::Device(_) = envelope.origin else { return None };
    let message = Message::parse(envelope.body).ok()?;
    let ChainPlace { chain, index } = R::place(message.ratchet_body()?)?;
    Some(((message.tag()?, chain), index))
}

/// Returns true if the messages of each chain are in the order of their numbers.
fn is_sorted<R: Ratchet>(envelopes: &[Envelope<'_>]) -> bool {
    let mut recent: Vec<(Chain, u64)> = Vec::with_capacity(RECENT);
    let mut others: HashMap<Chain, u64> = HashMap::new();
    for (chain, index) in envelopes.iter().filter_map(number::<R>) {
        let known = recent.iter().position(|(it, _)| *it == chain);
        if known.is_none() && recent.len() < RECENT {
            recent.push((chain, index));
            continue;
        }
        let last = match known.and_then(|at| recent.get_mut(at)) {
            Some((_, last)) => last,
            None => others.entry(chain).or_insert(index),
        };
        if index < *last {
            return false;
        }
        *last = index;
    }
    true
}
