//! Limits on simultaneous connections, in total and per peer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use endseal_crypto::peer_id::PeerId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Counts connections and refuses those beyond the limits.
#[derive(Debug)]
pub(crate) struct Admissions {
    total: usize,
    per_peer: usize,
    permits: Arc<Semaphore>,
    peers: Mutex<HashMap<PeerId, usize>>,
}

impl Admissions {
    pub(crate) fn new(total: usize, per_peer: usize) -> Arc<Self> {
        let total = total.min(Semaphore::MAX_PERMITS);
        let permits = Arc::new(Semaphore::new(total));
        Arc::new(Self { total, per_peer, permits, peers: Mutex::default() })
    }

    /// Returns the number of open connections, in both directions.
    pub(crate) fn len(&self) -> usize {
        self.total.saturating_sub(self.permits.available_permits())
    }

    /// Takes a permit for an outgoing connection, which counts in the total only. `None` if the
    /// limit is reached.
    pub(crate) fn outgoing(self: &Arc<Self>) -> Option<ConnectionPermit> {
        let total = self.permits.clone().try_acquire_owned().ok()?;
        Some(ConnectionPermit { _total: total, peer: None })
    }

    /// Takes a permit for a connection from `peer`. `None` if the total or the peer's share is used
    /// up.
    pub(crate) fn incoming(self: &Arc<Self>, peer: PeerId) -> Option<ConnectionPermit> {
        let mut permit = self.outgoing()?;
        let mut peers = self.peers();
        let count = peers.entry(peer).or_default();
        if *count >= self.per_peer {
            if *count == 0 {
                peers.remove(&peer);
            }
            return None;
        }
        *count += 1;
        permit.peer = Some((self.clone(), peer));
        Some(permit)
    }

    fn peers(&self) -> MutexGuard<'_, HashMap<PeerId, usize>> {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Permit of one open connection. Dropping it frees its share of the total and of its peer.
#[derive(Debug)]
pub(crate) struct ConnectionPermit {
    _total: OwnedSemaphorePermit,
    peer: Option<(Arc<Admissions>, PeerId)>,
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let Some((admissions, peer)) = &self.peer else { return };
        let mut peers = admissions.peers();
        if let Some(count) = peers.get_mut(peer) {
            *count -= 1;
            if *count == 0 {
                peers.remove(peer);
            }
        }
    }
}
