//! Connections of registered peers: the newest few of each.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use endseal_crypto::peer_id::PeerId;
use endseal_transport::{CloseCode, Connection};

/// Connections of a registered peer at once.
const PER_PEER: usize = 4;

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

impl Connections {
    /// Notes a connection until the place is dropped, and closes the oldest if it is one too many.
    pub(super) fn enter(&self, connection: &Connection) -> Place {
        let peer = connection.peer();
        let mut table = self.table();
        let number = table.count;
        table.count += 1;
        let ours = table.peers.entry(peer).or_default();
        ours.push_back((number, connection.clone()));
        if ours.len() > PER_PEER
            && let Some((_, oldest)) = ours.pop_front()
        {
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
