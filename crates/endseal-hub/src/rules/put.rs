//! Frames that senders put into mailboxes.

use std::borrow::Cow;
use std::sync::Arc;

use endseal_codec::frame::Replayed;
use endseal_codec::hub::{Code, Refused};
use endseal_crypto::peer_id::PeerId;
use endseal_delivery::position_after;

use super::group::Recipients;
use super::{Device, Rules};
use crate::command::{Put, refused};
use crate::digest::short_digest;
use crate::limits::HubLimits;
use crate::metrics::Amount;
use crate::store::{DeviceRow, Quota, StorageError};

/// Bytes of the database that a frame and a delivery need besides their contents, rounded up.
const FRAME_OVERHEAD: u64 = 4_096;
const DELIVERY_OVERHEAD: u64 = 128;

impl Rules<'_> {
    /// Stores a frame in all of its target mailboxes, or in none if it is refused.
    /// Returns the number of deliveries that the sender has not paid for yet.
    pub(crate) fn put(&mut self, put: &Put) -> Result<Result<usize, Refused>, StorageError> {
        let exchange = Arc::as_ptr(&put.stopped).addr();
        if let Some((_, code)) = self.stops.get(&exchange) {
            return Ok(Err(refused(*code)));
        }
        let result = self.store(put)?;
        if let Err(Refused { code, mailboxes, .. }) = &result {
            // The sender repeats such a frame without the missing mailboxes. Later frames must not
            // overtake it, so they are refused too.
            let is_put_again =
                *code == Code::MAILBOX && mailboxes.len() < self.number_of_targets(put);
            let is_stopped = matches!(*code, Code::FULL | Code::SPACE | Code::MEMBERS);
            if is_stopped || is_put_again {
                self.stops.insert(exchange, (Arc::clone(&put.stopped), *code));
            }
        }
        Ok(result)
    }

    /// Returns the number of targets of a frame, named or not.
    fn number_of_targets(&self, put: &Put) -> usize {
        let group = put.group.as_ref().filter(|_| put.targets.is_empty());
        let group = group.and_then(|it| self.groups.get(&it.id));
        group.map_or(put.targets.len(), |it| it.number_of_others())
    }

    fn store(&mut self, put: &Put) -> Result<Result<usize, Refused>, StorageError> {
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
                return Ok(if is_same { Ok(0) } else { Err(refused(Code::USED)) });
            }
            Err(Replayed::Old) => return Ok(Err(refused(Code::OLD))),
        }
        let recipients = match &put.group {
            None => self.named_recipients(put, &identity),
            Some(group) => self.group_recipients(put, group, &identity)?,
        };
        let Recipients { targets, welcome, after, missed } = match recipients {
            Ok(recipients) => recipients,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let of_frame = put.frame.len() as u64;
        let of_welcome = welcome.as_ref().map_or(0, |(frame, _)| frame.len() as u64);
        let joining = welcome.as_ref().map_or(&[][..], |(_, new)| new);
        let full = |it: &&PeerId, added| self.is_full(&identity, it, added);
        let mailboxes = targets.iter().filter(|it| full(it, of_frame));
        let mailboxes = mailboxes.chain(joining.iter().filter(|it| full(it, of_welcome)));
        let mailboxes: Vec<[u8; 32]> = mailboxes.map(|it| *it.as_bytes()).collect();
        if !mailboxes.is_empty() {
            return Ok(Err(Refused { mailboxes, ..refused(Code::FULL) }));
        }
        // The log and the database each need this.
        let frames = 1 + u64::from(welcome.is_some());
        let bytes = of_frame + of_welcome;
        let deliveries = targets.len() + joining.len();
        let taken = 2 * (frames * FRAME_OVERHEAD + bytes + DELIVERY_OVERHEAD * deliveries as u64);
        // As in a mailbox, a person may keep as much waiting as is left for all others, unless it
        // has a quota. That is exceeded by one frame, so that the longest one leaves, too.
        let total = self.total(&identity);
        let has_share = |left: &u64| match self.quota(&identity).from {
            Some(quota) => total < quota,
            None => total <= *left,
        };
        let room = self.context.room.checked_sub(taken).filter(has_share);
        let Some(room) = room else { return Ok(Err(refused(Code::SPACE))) };
        if welcome.is_some() && next_window.accept(put.sequence + 1).is_err() {
            return Ok(Err(refused(Code::USED)));
        }
        let Some(sender) = self.change(&put.sender)? else {
            return Ok(Err(refused(Code::REGISTERED)));
        };
        sender.state.window = next_window;
        sender.state.dropped += missed;
        self.context.room = room;
        self.transaction.note_put(row, put.sequence, &digest)?;
        self.deliver(row, identity, &put.frame, &targets)?;
        if let Some((frame, new)) = &welcome {
            self.transaction.note_put(row, put.sequence + 1, &short_digest(frame))?;
            self.deliver(row, identity, frame, new)?;
        }
        if let Some((id, after)) = after {
            self.adopt_group(id, after);
        }
        // Named targets were paid before.
        let is_for_all =
            put.targets.is_empty() || put.group.as_ref().is_some_and(|it| it.commit.is_some());
        let unpaid = if is_for_all { deliveries } else { 0 };
        Ok(Ok(unpaid))
    }

    /// Writes a frame and a delivery for each target.
    fn deliver(
        &mut self,
        sender: DeviceRow,
        identity: [u8; 32],
        frame: &[u8],
        targets: &[PeerId],
    ) -> Result<(), StorageError> {
        self.stored.frames += 1;
        let added = frame.len() as u64;
        self.stored.bytes += added;
        if targets.is_empty() {
            return Ok(());
        }
        let message = self.transaction.add_message(sender, targets.len(), frame)?;
        for target in targets {
            let now = self.context.now;
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
            self.transaction.add_delivery(row, position, message)?;
        }
        Ok(())
    }

    /// Returns the mailboxes that a frame names, if all of them exist.
    fn named_recipients<'p>(
        &self,
        put: &'p Put,
        sender: &[u8; 32],
    ) -> Result<Recipients<'p>, Refused> {
        let absent = put.targets.iter().filter(|it| self.is_absent(sender, it));
        let mailboxes: Vec<[u8; 32]> = absent.map(|it| *it.as_bytes()).collect();
        if !mailboxes.is_empty() {
            return Err(Refused { mailboxes, ..refused(Code::MAILBOX) });
        }
        let targets = Cow::Borrowed(&put.targets[..]);
        Ok(Recipients { targets, welcome: None, after: None, missed: 0 })
    }

    /// Returns true if a target has no mailbox for the sender. That of a pending device is for its
    /// own person alone.
    pub(super) fn is_absent(&self, sender: &[u8; 32], target: &PeerId) -> bool {
        self.read(target).is_none_or(|Device { state, .. }| {
            state.is_revoked || state.is_pending && state.identity != *sender
        })
    }

    /// Returns true if a mailbox has no room, or the sender has taken its share of it: as much as
    /// is left for all others. So one person fills half of a mailbox, two fill three quarters, and
    /// there is always room for another. The owner has no share to keep to.
    pub(super) fn is_full(&self, sender: &[u8; 32], target: &PeerId, added: u64) -> bool {
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
