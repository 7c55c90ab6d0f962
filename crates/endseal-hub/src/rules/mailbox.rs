//! Frames that leave mailboxes: acknowledged, expired, or dropped with their device.

use endseal_crypto::peer_id::PeerId;

use super::{Deletion, DeletionReason, Rules};
use crate::command::MailboxEnd;
use crate::store::{Deleted, DeletedShare, DeviceState, Outdated, StorageError};

impl Rules<'_> {
    /// Deletes the frames that a node has acknowledged, and returns the end of its mailbox. A
    /// position that the mailbox has not reached yet deletes nothing: in this case the database was
    /// restored from an earlier copy, and its frames are delivered again.
    pub(crate) fn acknowledge(
        &mut self,
        peer: &PeerId,
        position: u64,
        told: u64,
    ) -> Result<Option<MailboxEnd>, StorageError> {
        let Some(device) = self.device(peer)? else { return Ok(None) };
        let DeviceState { last, gap, .. } = device.state;
        let before = self.context.told.get(peer).copied().unwrap_or_default();
        let told = before.max(told);
        if told > before {
            self.context.told.insert(*peer, told);
        }
        if position > last {
            return Ok(Some(MailboxEnd { last, gap }));
        }
        let reason = DeletionReason::Acknowledged;
        let deleted = self.delete(&Deletion { peer: *peer, up_to: position, reason })?;
        if deleted > 0
            && let Some(device) = self.change(peer)?
        {
            device.state.acknowledged = device.state.acknowledged.max(position);
        }
        let is_told = gap.0 > 0 && position >= gap.1 && told >= gap.1;
        if is_told && let Some(device) = self.change(peer)? {
            device.state.gap = (0, 0);
        }
        let gap = self.read(peer).map_or((0, 0), |device| device.state.gap);
        Ok(Some(MailboxEnd { last, gap }))
    }

    /// Deletes frames of a mailbox, and returns their number. If they are many, the rest is deleted
    /// in later transactions.
    pub(crate) fn delete(&mut self, deletion: &Deletion) -> Result<u64, StorageError> {
        let Deletion { peer, up_to, reason } = *deletion;
        let Some(device) = self.device(&peer)?.filter(|device| device.state.frames > 0) else {
            return Ok(0);
        };
        let row = device.state.row;
        let Deleted { shares, position, is_all } =
            self.transaction.delete_deliveries(row, up_to)?;
        if !is_all {
            self.deletions.push(*deletion);
        }
        let mut total = 0;
        for DeletedShare { sender, identity, frames, bytes } in shares {
            // Senders learn of frames that are deleted before they were acknowledged.
            if reason != DeletionReason::Acknowledged
                && let Some(sender) = self.change(&sender)?
            {
                sender.state.dropped += frames;
            }
            let Some(device) = self.change(&peer)? else { continue };
            device.state.frames = device.state.frames.saturating_sub(frames);
            device.state.bytes = device.state.bytes.saturating_sub(bytes);
            if let Some(share) = device.shares.get_mut(&identity) {
                share.frames = share.frames.saturating_sub(frames);
                share.bytes = share.bytes.saturating_sub(bytes);
                if share.frames == 0 {
                    device.shares.remove(&identity);
                }
            }
            self.count(row, identity, -frames.cast_signed(), -bytes.cast_signed());
            total += frames;
        }
        if total > 0
            && reason == DeletionReason::Expired
            && let Some(device) = self.change(&peer)?
        {
            device.state.gap = (device.state.gap.0 + total, position);
        }
        Ok(total)
    }

    /// Deletes groups without a member that is left, and plans the deletion of the frames that are
    /// older than the retention at a time, and of those of revoked devices.
    pub(crate) fn expire(&mut self, time: u64) -> Result<(), StorageError> {
        self.transaction.delete_abandoned_groups()?;
        let retention =
            u64::try_from(self.context.limits.retention.as_micros()).unwrap_or(u64::MAX);
        // A position is at least the time at which its frame came.
        let before = time.saturating_sub(retention);
        let outdated = self.transaction.outdated(before)?;
        self.deletions.extend(outdated.into_iter().map(|Outdated { peer, is_revoked, last }| {
            match is_revoked {
                true => Deletion { peer, up_to: last, reason: DeletionReason::Dropped },
                false => Deletion { peer, up_to: before, reason: DeletionReason::Expired },
            }
        }));
        Ok(())
    }
}
