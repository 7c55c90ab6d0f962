//! The order in which the messages of a batch are opened.
//!
//! A ratchet keeps few keys for messages that were overtaken, so the messages of a chain are opened
//! in the order of their numbers: before a message is opened, all messages of its chain that have a
//! lower number and come later in the batch are. Nothing else moves, and no message whose id came
//! before in the batch. The numbers are not authenticated; a wrong number changes the order alone.

use alloc::vec::Vec;
use std::collections::{HashMap, HashSet};

use crate::{BatchReport, ChainPlace, Envelope, Message, Origin, Ratchet, SessionTag};

/// An order other than that of delivery.
pub(super) struct Order {
    /// The place in the batch of each step.
    places: Vec<usize>,
    /// The step of each place in the batch.
    steps: Vec<usize>,
    /// Number of messages from the front of the batch that are done, by the number of steps.
    done: Vec<usize>,
}

/// A chain: the session and the sender's ratchet key.
type Chain = (SessionTag, [u8; 32]);

/// Chains that are compared with before the others are looked up.
const RECENT: usize = 8;

impl Order {
    /// The order for a batch. `None` if it is that of delivery.
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
            // Empty if it was opened before a message in front of it.
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

    /// The messages in this order. Each has the position of the queue up to which all are done with
    /// it.
    pub(super) fn arrange<'e>(&self, envelopes: &[Envelope<'e>]) -> Vec<Envelope<'e>> {
        let arranged = self.places.iter().enumerate().filter_map(|(step, place)| {
            let done = envelopes.get(self.done(step)..self.done(step + 1)).unwrap_or_default();
            let position = done.iter().rev().map(|it| it.position).find(|it| !it.is_empty());
            Some(envelopes.get(*place)?.at(position.unwrap_or_default()))
        });
        arranged.collect()
    }

    /// Returns the number of messages from the front of the batch that are done after `steps`
    /// steps.
    pub(super) fn done(&self, steps: usize) -> usize {
        self.done.get(steps).copied().unwrap_or_default()
    }

    /// The step in which the message at a place is opened.
    pub(super) fn step(&self, place: usize) -> usize {
        self.steps.get(place).copied().unwrap_or_default()
    }

    /// A report in steps as one in the order of delivery. It covers the messages up to the first
    /// that was not done.
    pub(super) fn restore(&self, report: BatchReport) -> BatchReport {
        let front = 0..self.done(report.outcomes.len());
        let outcomes =
            front.filter_map(|place| report.outcomes.get(self.step(place)).copied()).collect();
        BatchReport { outcomes, ..report }
    }
}

/// The messages of a chain by number and place, and the number of them that are in the order.
#[derive(Default)]
struct Members {
    list: Vec<(u64, usize)>,
    next: usize,
}

/// The chain of a message and its number in it.
fn number<R: Ratchet>(envelope: &Envelope<'_>) -> Option<(Chain, u64)> {
    let Origin::Device(_) = envelope.origin else { return None };
    let message = Message::parse(envelope.body).ok()?;
    let ChainPlace { chain, index } = R::place(message.ratchet_body()?)?;
    Some(((message.tag()?, chain), index))
}

/// Returns true if the messages of each chain come in the order of their numbers.
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
