//! Messages of one conversation that cannot be opened yet (docs/spec/session.md, "Parked
//! messages").

use alloc::borrow::Cow;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use endseal_store::ParkedRow;

use crate::engine::parking_budget::{ParkingBudget, Pool};
use crate::engine::parking_reason::{Reason, TOO_FAR};
use crate::engine::task::{Opened, Task};
use crate::{Failure, Outcome};

/// Limits of parked messages of one conversation: number and bytes.
const MAX_MESSAGES: usize = 1_000;
const MAX_BYTES: usize = 16 << 20;
/// Limits for messages among them that are too far ahead in their chain: number and bytes.
const MAX_FAR_MESSAGES: usize = 256;
const MAX_FAR_BYTES: usize = 4 << 20;
/// Share that is reserved for each later epoch. With [`MAX_AHEAD`] epochs and all messages that are
/// too far ahead, the shares take less than the limit of a conversation.
const EPOCH_MESSAGES: usize = 16;
const EPOCH_BYTES: usize = 256 << 10;
/// Share that each known conversation always has, even if others have used up the common limit.
const OWN_MESSAGES: usize = 64;
const OWN_BYTES: usize = 1 << 20;
/// Number of epochs after the group's current one whose messages are parked.
pub(super) const MAX_AHEAD: u64 = 32;
/// The latest epoch that the store can hold. No group reaches it.
const MAX_EPOCH: u64 = u64::MAX >> 1;

/// Parked messages of one conversation, in the order of arrival.
pub(in crate::engine) struct Parking {
    rows: VecDeque<Parked>,
    bytes: usize,
    loaded: bool,
    /// True if the rows were not tried since state outside the conversation changed.
    due: bool,
}

/// Parked message of a conversation.
pub(in crate::engine) struct Parked {
    pub(in crate::engine) id: Vec<u8>,
    /// Number of the sending device; 0 in a group.
    pub(in crate::engine) device: u32,
    pub(in crate::engine) reason: Reason,
    /// Pool in which it is counted, by the reason for which it was parked.
    pub(super) pool: Pool,
    /// Epoch that the message names, unauthenticated; 0 outside groups.
    pub(in crate::engine) epoch: u64,
    pub(in crate::engine) body: Vec<u8>,
}

impl Parked {
    /// Makes the message from its row in the store.
    pub(in crate::engine) fn from_row(row: ParkedRow) -> Self {
        let ParkedRow { message: id, device, reason, epoch, body } = row;
        let reason = Reason::from_number(reason);
        Self { id, device, reason, pool: reason.pool(), epoch, body }
    }

    pub(in crate::engine) fn outcome(&self) -> Outcome {
        outcome(self.reason, self.epoch)
    }

    pub(super) fn is_too_far(&self) -> bool {
        self.reason == TOO_FAR
    }
}

/// Returns the result that is reported for a parked message.
pub(in crate::engine) fn outcome(reason: Reason, epoch: u64) -> Outcome {
    match reason {
        Reason::LaterEpoch => Outcome::Buffered(epoch),
        Reason::Unopened(failure) => Outcome::Parked(failure),
    }
}

/// Makes the row of a message for the store.
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

/// Number and bytes of a subset of the rows.
#[derive(Clone, Copy, Default)]
struct Share {
    messages: usize,
    bytes: usize,
}

impl Share {
    fn add(&mut self, len: usize) {
        self.messages += 1;
        self.bytes += len;
    }

    fn remove(&mut self, len: usize) {
        self.messages -= 1;
        self.bytes -= len;
    }

    /// Returns true if one more message of `len` bytes stays within these limits.
    fn fits(self, len: usize, messages: usize, bytes: usize) -> bool {
        self.messages < messages && self.bytes + len <= bytes
    }
}

impl Parking {
    pub(super) fn new() -> Self {
        Self { rows: VecDeque::new(), bytes: 0, loaded: false, due: false }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(in crate::engine) fn is_loaded(&self) -> bool {
        self.loaded
    }

    /// Adds the rows of the store.
    pub(in crate::engine) fn load(&mut self, rows: Vec<Parked>) {
        self.bytes = rows.iter().map(|it| it.body.len()).sum();
        self.due = !rows.is_empty();
        self.rows = rows.into();
        self.loaded = true;
    }

    /// Makes the next message of the conversation trigger a retry.
    pub(in crate::engine) fn set_due(&mut self) {
        self.due = !self.rows.is_empty();
    }

    /// Returns true if a retry is due, and clears the flag. The caller makes the retry.
    pub(super) fn take_due(&mut self) -> bool {
        core::mem::take(&mut self.due)
    }

    pub(in crate::engine) fn rows(&self) -> impl Iterator<Item = &Parked> {
        self.rows.iter()
    }

    pub(super) fn find(&self, id: &[u8]) -> Option<&Parked> {
        self.rows.iter().find(|it| it.id == id)
    }

    /// Parks a message. Messages that were removed for it are added to `evicted`.
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
        let (len, pool) = (task.body.len(), reason.pool());
        if reason == TOO_FAR && !self.far().fits(len, MAX_FAR_MESSAGES, MAX_FAR_BYTES) {
            return Opened::Failed(Failure::BufferFull);
        }
        let Some(victims) = self.victims(len, reason, epoch) else {
            return Opened::Failed(Failure::BufferFull);
        };
        for at in victims {
            if let Some(row) = self.rows.remove(at) {
                self.removed(&row, budget);
                evicted.push(row);
            }
        }
        let own = Share { messages: self.rows.len(), bytes: self.bytes };
        let has_share = pool == Pool::Known && own.fits(len, OWN_MESSAGES, OWN_BYTES);
        if !budget.take(pool, len, has_share) {
            return Opened::Failed(Failure::BufferFull);
        }
        self.bytes += len;
        let device = task.sender.map_or(0, |sender| sender.device.number());
        let (id, body) = (task.id.to_vec(), task.body.to_vec());
        self.rows.push_back(Parked { id, device, reason, pool, epoch, body });
        Opened::Park { device, reason, epoch, body: Cow::Borrowed(task.body) }
    }

    /// Returns the number and bytes of messages that are too far ahead.
    fn far(&self) -> Share {
        let mut share = Share::default();
        let far = self.rows.iter().filter(|row| row.is_too_far());
        far.for_each(|row| share.add(row.body.len()));
        share
    }

    /// Returns the positions of messages to evict for one of `len` bytes, the last one first;
    /// `None` if there is no space. Only messages of later epochs are evicted, those of the
    /// farthest epoch and the newest first, and only those above their epoch's share. The epoch
    /// must be later than that of the new message, or the new message must be within its own
    /// epoch's share.
    fn victims(&self, len: usize, reason: Reason, epoch: u64) -> Option<Vec<usize>> {
        let mut all = Share { messages: self.rows.len(), bytes: self.bytes };
        if all.fits(len, MAX_MESSAGES, MAX_BYTES) {
            return Some(Vec::new());
        }
        if reason != Reason::LaterEpoch {
            return None;
        }
        let mut shares: BTreeMap<u64, Share> = BTreeMap::new();
        let mut later = Vec::new();
        for (at, row) in self.rows.iter().enumerate() {
            if row.reason == Reason::LaterEpoch {
                shares.entry(row.epoch).or_default().add(row.body.len());
                later.push((row.epoch, at, row.body.len()));
            }
        }
        let own = shares.get(&epoch).copied().unwrap_or_default();
        let is_within = own.fits(len, EPOCH_MESSAGES, EPOCH_BYTES);
        later.sort_unstable_by(|a, b| b.cmp(a));
        let mut victims = Vec::new();
        for (of, at, freed) in later {
            let Some(share) = shares.get_mut(&of) else { continue };
            let exceeds = share.messages > EPOCH_MESSAGES || share.bytes > EPOCH_BYTES;
            if exceeds && (of > epoch || of < epoch && is_within) {
                share.remove(freed);
                all.remove(freed);
                victims.push(at);
                if all.fits(len, MAX_MESSAGES, MAX_BYTES) {
                    victims.sort_unstable_by(|a, b| b.cmp(a));
                    return Some(victims);
                }
            }
        }
        None
    }

    /// Removes the message with this id. Returns true if there was one.
    pub(super) fn remove(&mut self, id: &[u8], budget: &ParkingBudget) -> bool {
        let at = self.rows.iter().position(|it| it.id == id);
        let row = at.and_then(|at| self.rows.remove(at));
        if let Some(row) = &row {
            self.removed(row, budget);
        }
        row.is_some()
    }

    /// Takes all rows; the caller must pass each one to [`Self::keep`] or [`Self::removed`].
    pub(super) fn take_all(&mut self) -> VecDeque<Parked> {
        core::mem::take(&mut self.rows)
    }

    pub(super) fn keep(&mut self, row: Parked) {
        self.rows.push_back(row);
    }

    pub(super) fn removed(&mut self, row: &Parked, budget: &ParkingBudget) {
        self.bytes = self.bytes.saturating_sub(row.body.len());
        budget.give_back(row.pool, row.body.len());
    }

    /// Sets the reason of all rows after `epoch` to the later epoch.
    pub(super) fn name_later(&mut self, epoch: u64) {
        for row in &mut self.rows {
            if row.epoch > epoch {
                row.reason = Reason::LaterEpoch;
            }
        }
    }

    /// Removes the messages up to id `last` that may never open, and returns their ids for
    /// deletion. Removes nothing if `last` is not parked any more.
    pub(in crate::engine) fn expire(
        &mut self,
        last: &[u8],
        budget: &ParkingBudget,
    ) -> Vec<Vec<u8>> {
        let Some(at) = self.rows.iter().position(|row| row.id == last) else { return Vec::new() };
        let newer = self.rows.split_off(at + 1);
        let mut expired = Vec::new();
        for row in self.take_all() {
            if row.reason.ages() {
                self.removed(&row, budget);
                expired.push(row.id);
            } else {
                self.keep(row);
            }
        }
        self.rows.extend(newer);
        expired
    }

    /// Removes all rows; the caller deletes them from the store.
    pub(in crate::engine) fn clear(&mut self, budget: &ParkingBudget) {
        for row in self.take_all() {
            self.removed(&row, budget);
        }
    }
}
