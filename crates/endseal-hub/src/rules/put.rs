//! Frames that senders put into mailboxes.

use std::sync::Arc;

use endseal_codec::frame::Replayed;
use endseal_codec::hub::{Code, Refused};
use endseal_crypto::peer_id::PeerId;
use endseal_delivery::position_after;

use super::{Device, Rules};
use crate::command::{Put, refused};
use crate::digest::short_digest;
use crate::limits::HubLimits;
use crate::metrics::Amount;
use crate::store::{Quota, StorageError};

/// Bytes of the database that a frame and a delivery need besides their contents, rounded up.
const FRAME_OVERHEAD: u64 = 4_096;
const DELIVERY_OVERHEAD: u64 = 128;

impl Rules<'_> {
    /// Stores a frame in all of its target mailboxes, or in none if it is refused.
    pub(crate) fn put(&mut self, put: &Put) -> Result<Result<(), Refused>, StorageError> {
        let exchange = Arc::as_ptr(&put.stopped).addr();
        if let Some((_, code)) = self.stops.get(&exchange) {
            return Ok(Err(refused(*code)));
        }
        let result = self.store(put)?;
        if let Err(Refused { code, mailboxes, .. }) = &result {
            // The sender repeats such a frame without the missing mailboxes. Later frames must not
            // overtake it, so they are refused too.
            let is_put_again = *code == Code::MAILBOX && mailboxes.len() < put.targets.len();
            if matches!(*code, Code::FULL | Code::SPACE) || is_put_again {
                self.stops.insert(exchange, (Arc::clone(&put.stopped), *code));
            }
        }
        Ok(result)
    }

    fn store(&mut self, put: &Put) -> Result<Result<(), Refused>, StorageError> {
        self.load(put.targets.iter().copied())?;
        let (row, identity, mut next_window) = match self.registered(&put.sender)? {
            Ok(Device { state, .. }) => (state.row, state.identity, state.window.clone()),
            Err(code) => return Ok(Err(refused(code))),
        };
        let digest = short_digest(&put.frame);
        match next_window.accept(put.sequence) {
            Ok(()) => {}
            // The answer was lost, or the frame is put again before it came.
            Err(Replayed::Seen) => {
                let noted = self.transaction.noted_put(row, put.sequence)?;
                let is_same = noted.is_none_or(|noted| noted == digest);
                return Ok(if is_same { Ok(()) } else { Err(refused(Code::USED)) });
            }
            Err(Replayed::Old) => return Ok(Err(refused(Code::OLD))),
        }
        let slot_len = put.slots.len().checked_div(put.targets.len()).unwrap_or_default();
        let added = (put.frame.len() + slot_len) as u64;
        for (code, is_refused) in [
            (Code::MAILBOX, Self::is_absent as fn(&Self, &[u8; 32], &PeerId, u64) -> bool),
            (Code::FULL, Self::is_full),
        ] {
            let found = put.targets.iter().filter(|it| is_refused(self, &identity, it, added));
            let mailboxes: Vec<[u8; 32]> = found.map(|it| *it.as_bytes()).collect();
            if !mailboxes.is_empty() {
                return Ok(Err(Refused { code, mailboxes, ..Refused::default() }));
            }
        }
        // The log and the database each need this.
        let taken = 2 * (FRAME_OVERHEAD + (put.frame.len() + put.slots.len()) as u64)
            + 2 * DELIVERY_OVERHEAD * put.targets.len() as u64;
        // As in a mailbox, a person may keep as much waiting as is left for all others, unless it
        // has a quota. That is exceeded by one frame, so that the longest one leaves, too.
        let total = self.total(&identity);
        let has_share = |left: &u64| match self.quota(&identity).from {
            Some(quota) => total < quota,
            None => total <= *left,
        };
        let room = self.context.room.checked_sub(taken).filter(has_share);
        let Some(room) = room else { return Ok(Err(refused(Code::SPACE))) };
        let Some(sender) = self.change(&put.sender)? else {
            return Ok(Err(refused(Code::REGISTERED)));
        };
        sender.state.window = next_window;
        self.context.room = room;
        let now = self.context.now;
        self.transaction.note_put(row, put.sequence, &digest)?;
        let message = self.transaction.add_message(row, put.targets.len(), &put.frame)?;
        for (number, target) in put.targets.iter().enumerate() {
            let slot = put.slots.get(number * slot_len..(number + 1) * slot_len);
            let Some(device) = self.change(target)? else { continue };
            let state = &mut device.state;
            let position = position_after(state.last, now)
                .ok_or(StorageError::Format("a mailbox has no positions left"))?;
            (state.last, state.frames, state.bytes) =
                (position, state.frames + 1, state.bytes + added);
            let row = state.row;
            let share = device.shares.entry(identity).or_default();
            (share.frames, share.bytes) = (share.frames + 1, share.bytes + added);
            self.count(row, identity, 1, added.cast_signed());
            self.transaction.add_delivery(row, position, message, slot.unwrap_or_default())?;
        }
        self.stored.frames += 1;
        self.stored.bytes += (put.frame.len() + put.slots.len()) as u64;
        Ok(Ok(()))
    }

    /// Returns true if a target has no mailbox for the sender. That of a pending device is for its
    /// own person alone.
    fn is_absent(&self, sender: &[u8; 32], target: &PeerId, _: u64) -> bool {
        self.read(target).is_none_or(|Device { state, .. }| {
            state.is_revoked || state.is_pending && state.identity != *sender
        })
    }

    /// Returns true if a mailbox has no room, or the sender has taken its share of it: as much as
    /// is left for all others. So one person fills half of a mailbox, two fill three quarters, and
    /// there is always room for another. The owner has no share to keep to.
    fn is_full(&self, sender: &[u8; 32], target: &PeerId, added: u64) -> bool {
        let Some(Device { state, shares }) = self.read(target) else { return false };
        let (frames, bytes) = self.mailbox_limits(&state.identity);
        let frames = frames.saturating_sub(state.frames);
        let bytes = bytes.saturating_sub(state.bytes);
        let share = match state.identity == *sender {
            true => Amount::default(),
            false => shares.get(sender).copied().unwrap_or_default(),
        };
        share.frames >= frames || share.bytes.saturating_add(added) > bytes
    }

    fn quota(&self, identity: &[u8; 32]) -> Quota {
        self.context.quotas.get(identity).copied().unwrap_or_default()
    }

    /// Returns the frames and bytes that each mailbox of a person may have. A quota changes both in
    /// the same proportion.
    fn mailbox_limits(&self, identity: &[u8; 32]) -> (u64, u64) {
        let HubLimits { mailbox_frames, mailbox_bytes, .. } = *self.context.limits;
        let Some(quota) = self.quota(identity).mailbox else {
            return (mailbox_frames, mailbox_bytes);
        };
        let frames = u128::from(mailbox_frames) * u128::from(quota);
        let frames = frames / u128::from(mailbox_bytes.max(1));
        (u64::try_from(frames).unwrap_or(u64::MAX), quota)
    }
}
