//! Connections of registered peers: the newest few of each.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use endseal_crypto::peer_id::PeerId;
use endseal_transport::{CloseCode, Connection};

/// Connections of a registered peer at once: the one that it has, those of an attempt to reach the
/// hub at each of eight addresses, of which it keeps one, and one of another command.
pub(super) const PER_PEER: usize = 10;

/// The newest connections of each registered peer.
///
/// A further one closes the oldest: it is the one whose end is most likely lost, with a process
/// that died or a network that changed, and would be noticed after the idle timeout alone.
#[derive(Clone, Default)]
pub(crate) struct Connections(Arc<Mutex<Table>>);

#[derive(Default)]
struct Table {
    /// Connections so far: the number of the next one.
    count: u64,
    peers: HashMap<PeerId, VecDeque<(u64, Connection)>>,
}

impl Table {
    /// Adds a connection. Returns its number, and the oldest of the peer if it is one too many.
    fn add(&mut self, peer: PeerId, connection: &Connection) -> (u64, Option<Connection>) {
        let number = self.count;
        self.count += 1;
        let ours = self.peers.entry(peer).or_default();
        // Those that have ended leave when their tasks notice.
        ours.retain(|(_, it)| it.close_reason().is_none());
        ours.push_back((number, connection.clone()));
        let oldest = if ours.len() > PER_PEER { ours.pop_front() } else { None };
        (number, oldest.map(|(_, it)| it))
    }
}

impl Connections {
    /// Notes a connection until the place is dropped, and closes the oldest if it is one too many.
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

/// A connection's place among those of its peer, given back on drop.
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
