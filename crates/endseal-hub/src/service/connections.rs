//! Limits the connections of registered peers: only the newest ones of each peer are kept.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use endseal_crypto::peer_id::PeerId;
use endseal_transport::{CloseCode, Connection};

/// Maximum number of simultaneous connections of a registered peer. A peer may have one current
/// connection; one attempt for each of eight addresses of the hub, of which it keeps one; and one
/// connection of another command.
pub(super) const PER_PEER: usize = 10;

/// The newest connections of each registered peer.
///
/// A further connection closes the oldest one. The oldest is the most likely to be dead already:
/// its process was killed or its network changed, and without this only the idle timeout would
/// detect it.
#[derive(Clone, Default)]
pub(crate) struct Connections(Arc<Mutex<Table>>);

#[derive(Default)]
struct Table {
    /// Number of connections so far, which is also the number of the next one.
    count: u64,
    peers: HashMap<PeerId, VecDeque<(u64, Connection)>>,
}

impl Table {
    /// Adds a connection. Returns its number, and the oldest connection of the peer if there are
    /// too many now.
    fn add(&mut self, peer: PeerId, connection: &Connection) -> (u64, Option<Connection>) {
        let number = self.count;
        self.count += 1;
        let ours = self.peers.entry(peer).or_default();
        // A connection that has ended may still be listed until its task notices.
        ours.retain(|(_, it)| it.close_reason().is_none());
        ours.push_back((number, connection.clone()));
        let oldest = if ours.len() > PER_PEER { ours.pop_front() } else { None };
        (number, oldest.map(|(_, it)| it))
    }
}

impl Connections {
    /// Records a connection until the returned value is dropped, and closes the peer's oldest
    /// connection if there are too many.
    pub(super) fn enter(&self, connection: &Connection) -> Place {
        let peer = connection.peer();
        let (number, oldest) = self.table().add(peer, connection);
        if let Some(oldest) = oldest {
            oldest.abort(CloseCode::Busy);
        }
        Place { connections: self.clone(), peer, number }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A recorded connection. It is removed from the table on drop.
pub(super) struct Place {
    connections: Connections,
    peer: PeerId,
    number: u64,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut table = self.connections.table();
        let Some(ours) = table.peers.get_mut(&self.peer) else { return };
        ours.retain(|(number, _)| *number != self.number);
        if ours.is_empty() {
            table.peers.remove(&self.peer);
        }
    }
}
