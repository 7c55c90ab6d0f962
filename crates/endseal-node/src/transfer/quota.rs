//! Limits on the unfinished files of a peer.

use alloc::sync::Arc;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use endseal_transport::PeerId;

/// Limits on the unfinished files of each peer, over all of its connections.
///
/// The content of an unfinished file has no name yet, so that the user cannot see which file fills
/// the disk.
#[derive(Debug)]
pub struct TransferQuota {
    files: usize,
    bytes: u64,
    peers: Mutex<HashMap<PeerId, Usage>>,
}

#[derive(Debug, Default)]
struct Usage {
    files: usize,
    bytes: u64,
}

impl TransferQuota {
    /// Allows each peer at most `files` unfinished files, with at most `bytes` of content in total.
    #[must_use]
    pub fn new(files: usize, bytes: u64) -> Arc<Self> {
        Arc::new(Self { files, bytes, peers: Mutex::default() })
    }

    /// Reserves one more file for `peer`. Returns `None` if it has reached its limit.
    pub(super) fn begin(self: &Arc<Self>, peer: PeerId) -> Option<Reservation> {
        let mut peers = self.peers();
        if peers.get(&peer).map_or(0, |usage| usage.files) >= self.files {
            return None;
        }
        peers.entry(peer).or_default().files += 1;
        Some(Reservation { quota: self.clone(), peer, bytes: 0 })
    }

    fn peers(&self) -> MutexGuard<'_, HashMap<PeerId, Usage>> {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reservation of one unfinished file, which is released on drop.
#[derive(Debug)]
pub(super) struct Reservation {
    quota: Arc<TransferQuota>,
    peer: PeerId,
    bytes: u64,
}

impl Reservation {
    /// Adds bytes of content. Returns false, and adds none, if that would exceed the limit.
    #[must_use]
    pub(super) fn grow(&mut self, bytes: u64) -> bool {
        let mut peers = self.quota.peers();
        let usage = peers.entry(self.peer).or_default();
        match usage.bytes.checked_add(bytes).filter(|sum| *sum <= self.quota.bytes) {
            Some(sum) => {
                usage.bytes = sum;
                self.bytes += bytes;
                true
            }
            None => false,
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut peers = self.quota.peers();
        if let Some(usage) = peers.get_mut(&self.peer) {
            usage.files = usage.files.saturating_sub(1);
            usage.bytes = usage.bytes.saturating_sub(self.bytes);
            if usage.files == 0 {
                peers.remove(&self.peer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_has_its_share_and_another_its_own() {
        let quota = TransferQuota::new(2, 100);
        let [one, other] = [1, 2].map(|n| PeerId::of_spki(&[n]));
        let mut first = quota.begin(one).unwrap();
        let mut second = quota.begin(one).unwrap();
        assert!(quota.begin(one).is_none());
        assert!(first.grow(60) && !second.grow(41) && second.grow(40) && !second.grow(u64::MAX));
        assert!(quota.begin(other).unwrap().grow(100));
        drop(first);
        assert!(second.grow(60));
        drop(second);
        assert!(quota.peers().is_empty());
    }
}
