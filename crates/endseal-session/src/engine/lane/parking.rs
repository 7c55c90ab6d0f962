//! Messages of one conversation that cannot be opened yet (docs/spec/session.md, "Parked messages").

use alloc::borrow::Cow;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicUsize, Ordering};

use endseal_store::ParkedRow;

use crate::engine::task::{Opened, Task};
use crate::{Failure, Outcome};

/// Most parked messages of one conversation, and most bytes.
const MAX_MESSAGES: usize = 1_000;
const MAX_BYTES: usize = 16 << 20;
/// Most parked messages of a store, and most bytes: group ids and identities of strangers cost their
/// inventor nothing.
const MAX_ALL_MESSAGES: usize = 16_384;
const MAX_ALL_BYTES: usize = 128 << 20;
/// Epochs beyond the group's whose messages are parked.
pub(super) const MAX_AHEAD: u64 = 32;
/// The latest epoch that the store can hold. No group reaches it.
const MAX_EPOCH: u64 = u64::MAX >> 1;

/// Parked messages of one conversation, in the order of arrival.
pub(in crate::engine) struct Parking {
    rows: VecDeque<Parked>,
    bytes: usize,
    loaded: bool,
    /// True if the rows were not tried since something outside the conversation changed.
    due: bool,
}

/// A parked message.
pub(in crate::engine) struct Parked {
    pub(in crate::engine) id: Vec<u8>,
    /// Number of the sending device; 0 in a group.
    pub(in crate::engine) device: u32,
    pub(in crate::engine) reason: Reason,
    /// Epoch of a group that the message names, unauthenticated; 0 outside groups.
    pub(in crate::engine) epoch: u64,
    pub(in crate::engine) body: Vec<u8>,
}

/// Reason for which a message is parked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Reason {
    LaterEpoch,
    /// A failure that may pass.
    Unopened(Failure),
}

impl Reason {
    /// The reason that a failure is, if it may pass by itself.
    pub(super) fn of(failure: Failure) -> Option<Self> {
        let passes = matches!(
            failure,
            Failure::NoGroup | Failure::Stranger | Failure::TooFarAhead | Failure::Damaged
        );
        passes.then_some(Self::Unopened(failure))
    }

    /// Number in the store (docs/spec/store.md, "Schema").
    fn number(self) -> u8 {
        match self {
            Self::Unopened(Failure::NoGroup) => 2,
            Self::Unopened(Failure::Stranger) => 3,
            Self::Unopened(Failure::TooFarAhead) => 4,
            Self::Unopened(Failure::Damaged) => 5,
            // No other failure is parked.
            Self::LaterEpoch | Self::Unopened(_) => 1,
        }
    }

    fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            1 => Self::LaterEpoch,
            2 => Self::Unopened(Failure::NoGroup),
            3 => Self::Unopened(Failure::Stranger),
            4 => Self::Unopened(Failure::TooFarAhead),
            5 => Self::Unopened(Failure::Damaged),
            _ => return None,
        })
    }
}

impl Parked {
    /// The row of the store; `None` if no reason has its number.
    pub(in crate::engine) fn from_row(row: ParkedRow) -> Option<Self> {
        let ParkedRow { message: id, device, reason, epoch, body } = row;
        Some(Self { id, device, reason: Reason::from_number(reason)?, epoch, body })
    }

    pub(in crate::engine) fn outcome(&self) -> Outcome {
        outcome(self.reason, self.epoch)
    }
}

/// The result of a message that is parked.
pub(in crate::engine) fn outcome(reason: Reason, epoch: u64) -> Outcome {
    match reason {
        Reason::LaterEpoch => Outcome::Buffered(epoch),
        Reason::Unopened(failure) => Outcome::Parked(failure),
    }
}

/// A message to be written to the store.
pub(in crate::engine) fn row(
    id: &[u8],
    device: u32,
    reason: Reason,
    epoch: u64,
    body: &[u8],
) -> ParkedRow {
    let (message, body) = (id.to_vec(), body.to_vec());
    ParkedRow { message, device, reason: reason.number(), epoch, body }
}

/// Parked messages of all conversations, counted.
#[derive(Default)]
pub(in crate::engine) struct ParkingBudget {
    messages: AtomicUsize,
    bytes: AtomicUsize,
}

impl ParkingBudget {
    /// The budget of a store that has so many.
    pub(in crate::engine) fn new(messages: usize, bytes: usize) -> Arc<Self> {
        Arc::new(Self { messages: messages.into(), bytes: bytes.into() })
    }

    /// Returns true if no conversation has a parked message.
    pub(in crate::engine) fn is_unused(&self) -> bool {
        self.messages.load(Ordering::Relaxed) == 0
    }

    /// Conversations on other threads may exceed the limit by a message each.
    fn take(&self, len: usize) -> bool {
        let fits = self.messages.load(Ordering::Relaxed) < MAX_ALL_MESSAGES
            && self.bytes.load(Ordering::Relaxed).saturating_add(len) <= MAX_ALL_BYTES;
        if fits {
            self.messages.fetch_add(1, Ordering::Relaxed);
            self.bytes.fetch_add(len, Ordering::Relaxed);
        }
        fits
    }

    fn give_back(&self, len: usize) {
        self.messages.fetch_sub(1, Ordering::Relaxed);
        self.bytes.fetch_sub(len, Ordering::Relaxed);
    }
}

impl Parking {
    pub(super) fn new() -> Self {
        Self { rows: VecDeque::new(), bytes: 0, loaded: false, due: false }
    }

    pub(in crate::engine) fn is_loaded(&self) -> bool {
        self.loaded
    }

    /// Takes in the rows of the store.
    pub(in crate::engine) fn load(&mut self, rows: Vec<Parked>) {
        self.bytes = rows.iter().map(|it| it.body.len()).sum();
        self.due = !rows.is_empty();
        self.rows = rows.into();
        self.loaded = true;
    }

    /// Lets the rows be tried with the next message.
    pub(in crate::engine) fn set_due(&mut self) {
        self.due = !self.rows.is_empty();
    }

    /// See [`Self::set_due`]. The caller tries them.
    pub(super) fn take_due(&mut self) -> bool {
        core::mem::take(&mut self.due)
    }

    pub(in crate::engine) fn rows(&self) -> impl Iterator<Item = &Parked> {
        self.rows.iter()
    }

    pub(super) fn find(&self, id: &[u8]) -> Option<&Parked> {
        self.rows.iter().find(|it| it.id == id)
    }

    /// Parks a message. The messages that made room are in `evicted`.
    pub(super) fn park<'e>(
        &mut self,
        task: &Task<'e>,
        reason: Reason,
        epoch: u64,
        budget: &ParkingBudget,
        evicted: &mut Vec<Parked>,
    ) -> Opened<'e> {
        if epoch > MAX_EPOCH {
            return Opened::Failed(Failure::Malformed);
        }
        let len = task.body.len();
        if !self.make_room(len, reason, epoch, budget, evicted) || !budget.take(len) {
            return Opened::Failed(Failure::BufferFull);
        }
        self.bytes += len;
        let device = task.sender.map_or(0, |sender| sender.device.number());
        let (id, body) = (task.id.to_vec(), task.body.to_vec());
        self.rows.push_back(Parked { id, device, reason, epoch, body });
        Opened::Park { device, reason, epoch, body: Cow::Borrowed(task.body) }
    }

    /// Makes room for a message of `len` bytes by removing those of the latest epochs, if its own is
    /// earlier.
    fn make_room(
        &mut self,
        len: usize,
        reason: Reason,
        epoch: u64,
        budget: &ParkingBudget,
        evicted: &mut Vec<Parked>,
    ) -> bool {
        while self.rows.len() >= MAX_MESSAGES || self.bytes + len > MAX_BYTES {
            let later = self.rows.iter().enumerate();
            let later = later.filter(|(_, it)| it.reason == Reason::LaterEpoch);
            let farthest = later.max_by_key(|(_, it)| it.epoch);
            let Some((at, _)) =
                farthest.filter(|(_, it)| reason == Reason::LaterEpoch && it.epoch > epoch)
            else {
                return false;
            };
            if let Some(row) = self.rows.remove(at) {
                self.removed(&row, budget);
                evicted.push(row);
            }
        }
        true
    }

    /// Removes the message of an id; returns true if there was one.
    pub(super) fn remove(&mut self, id: &[u8], budget: &ParkingBudget) -> bool {
        let at = self.rows.iter().position(|it| it.id == id);
        let row = at.and_then(|at| self.rows.remove(at));
        if let Some(row) = &row {
            self.removed(row, budget);
        }
        row.is_some()
    }

    /// All rows, each of which the caller gives to [`Self::keep`] or [`Self::removed`].
    pub(super) fn take_all(&mut self) -> VecDeque<Parked> {
        core::mem::take(&mut self.rows)
    }

    pub(super) fn keep(&mut self, row: Parked) {
        self.rows.push_back(row);
    }

    pub(super) fn removed(&mut self, row: &Parked, budget: &ParkingBudget) {
        self.bytes = self.bytes.saturating_sub(row.body.len());
        budget.give_back(row.body.len());
    }

    /// Names the later epoch as the reason of all rows beyond `epoch`, and of no other.
    pub(super) fn name_later(&mut self, epoch: u64) {
        for row in &mut self.rows {
            if row.epoch > epoch {
                row.reason = Reason::LaterEpoch;
            }
        }
    }

    /// Forgets all rows, which the caller deletes.
    pub(in crate::engine) fn clear(&mut self, budget: &ParkingBudget) {
        for row in self.take_all() {
            self.removed(&row, budget);
        }
    }
}
