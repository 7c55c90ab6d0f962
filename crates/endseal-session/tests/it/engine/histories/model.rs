//! Model of a device's results and state according to the specification, without cryptography.

use core::mem::take;
use std::collections::{HashMap, HashSet, VecDeque};

use endseal_session::{Envelope, Failure, Outcome};

use crate::engine::party::{Party, blake};
use crate::engine::world::GROUP;

/// Number of past epochs whose messages can be opened.
pub(super) const PAST: u64 = 3;

/// A message for the device.
#[derive(Clone)]
pub(super) struct Mail {
    /// Index of the sender; `None` for the group.
    pub(super) origin: Option<usize>,
    pub(super) id: Vec<u8>,
    pub(super) body: Vec<u8>,
    /// Text; `None` for a group change.
    pub(super) text: Option<Vec<u8>>,
    /// Epoch of a group message.
    pub(super) epoch: u64,
    pub(super) is_damaged: bool,
}

impl Mail {
    pub(super) fn envelope(&self, people: &[Party]) -> Envelope<'_> {
        match self.origin {
            Some(at) => Envelope::from_device(&self.id, people[at].address, &self.body),
            None => Envelope::from_group(&self.id, GROUP, &self.body),
        }
    }
}

/// Sender and id of a message.
type Key = (Option<usize>, Vec<u8>);

/// Expected state of the device.
#[derive(Clone, Default)]
pub(super) struct Model {
    /// Delivered ids with their numbers and bodies.
    pub(super) seen: HashMap<Key, (u64, [u8; 32])>,
    /// Bodies of messages with used keys.
    pub(super) used: HashSet<[u8; 32]>,
    pub(super) waiting: Vec<Mail>,
    pub(super) epoch: u64,
    /// Last number of the inbox, and its rows.
    pub(super) number: u64,
    pub(super) inbox: VecDeque<Row>,
}

/// Row of the inbox.
#[derive(Clone)]
pub(super) struct Row {
    pub(super) number: u64,
    pub(super) origin: Option<usize>,
    pub(super) text: Option<Vec<u8>>,
}

/// Expected result of a message.
#[derive(Debug, PartialEq)]
pub(super) enum Expected {
    Exactly(Outcome),
    /// One of several failures, depending on how long ago the key was used.
    Failure,
}

impl Model {
    /// Returns the expected results of a message, and of parked messages that it releases.
    pub(super) fn deliver(
        &mut self,
        mail: &Mail,
        released: &mut Vec<(Vec<u8>, Expected)>,
    ) -> Expected {
        let digest = blake(&mail.body);
        let key = (mail.origin, mail.id.clone());
        if let Some((number, seen)) = self.seen.get(&key) {
            return Expected::Exactly(if *seen == digest {
                Outcome::AlreadyDelivered(*number)
            } else {
                Outcome::Failed(Failure::IdReused)
            });
        }
        if mail.origin.is_none() {
            if let Some(waiting) = self.waiting.iter().find(|it| it.id == mail.id) {
                if waiting.body == mail.body {
                    return Expected::Exactly(Outcome::Buffered(waiting.epoch));
                }
                if mail.epoch > self.epoch {
                    return Expected::Exactly(Outcome::Failed(Failure::IdReused));
                }
            }
            if mail.epoch > self.epoch {
                self.waiting.push(mail.clone());
                return Expected::Exactly(Outcome::Buffered(mail.epoch));
            }
        }
        let expected = self.open(mail);
        if mail.origin.is_none() && mail.text.is_none() && expected != Expected::Failure {
            self.release(released);
        }
        expected
    }

    fn open(&mut self, mail: &Mail) -> Expected {
        let digest = blake(&mail.body);
        if mail.is_damaged || self.used.contains(&digest) {
            return Expected::Failure;
        }
        if mail.origin.is_none() {
            let is_past = mail.epoch < self.epoch;
            if is_past && (mail.text.is_none() || mail.epoch + PAST < self.epoch) {
                return Expected::Failure;
            }
            if mail.text.is_none() {
                self.epoch += 1;
            }
        }
        self.number += 1;
        self.used.insert(digest);
        if mail.origin.is_none() {
            self.waiting.retain(|it| it.id != mail.id);
        }
        self.seen.insert((mail.origin, mail.id.clone()), (self.number, digest));
        let (number, origin, text) = (self.number, mail.origin, mail.text.clone());
        self.inbox.push_back(Row { number, origin, text });
        Expected::Exactly(Outcome::Delivered(self.number))
    }

    fn release(&mut self, released: &mut Vec<(Vec<u8>, Expected)>) {
        let mut again = true;
        while take(&mut again) {
            let epoch = self.epoch;
            let (now, later) =
                take(&mut self.waiting).into_iter().partition(|it| it.epoch <= epoch);
            self.waiting = later;
            for mail in Vec::into_iter(now) {
                let expected = self.open(&mail);
                again |= mail.text.is_none() && expected != Expected::Failure;
                released.push((mail.id, expected));
            }
        }
    }
}
