//! Limits the connections of registered peers: only the newest ones of each peer are kept.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use endseal_crypto::peer_id::PeerId;
use endseal_transport::{CloseCode, Connection};
use tokio::sync::Semaphore;

/// Maximum number of simultaneous connections of a registered peer. A peer may have one current
/// connection; one attempt for each of eight addresses of the hub, of which it keeps one; and one
/// connection of another command.
pub(super) const PER_PEER: usize = 10;

/// Maximum number of simultaneous connections of unregistered peers.
const MAX_UNREGISTERED: usize = 64;
/// Connections of a peer that get the whole window. Further ones work with the first, as after the
/// total is used up.
const WIDE_PER_PEER: usize = 4;
/// Bytes of a connection that may be received and not read, in the first window and in the whole.
/// The first has room for the registration of an unregistered peer.
pub(super) const FIRST_WINDOW: u32 = 72 << 10;
pub(super) const WHOLE_WINDOW: u32 = 1_280 << 10;
/// Connections with whole windows in all.
const WIDE: usize = 96;
/// KiB of unfinished frames that a peer may have here: two of the longest, so that one that stalls
/// does not keep back another.
const PARTIAL_KIB: usize = 2 * 1_152;

/// The memory that the connections of a peer share.
pub(super) struct PeerMemory {
    wide: Arc<Semaphore>,
    /// KiB of unfinished frames.
    pub(super) partial: Arc<Semaphore>,
}

impl Default for PeerMemory {
    fn default() -> Self {
        let [wide, partial] =
            [WIDE_PER_PEER, PARTIAL_KIB].map(|permits| Arc::new(Semaphore::new(permits)));
        Self { wide, partial }
    }
}

/// The newest connections of each registered peer.
///
/// A further connection closes the oldest one. The oldest is the most likely to be dead already:
/// its process was killed or its network changed, and without this only the idle timeout would
/// detect it.
#[derive(Clone)]
pub(crate) struct Connections {
    table: Arc<Mutex<Table>>,
    wide: Arc<Semaphore>,
}

impl Default for Connections {
    fn default() -> Self {
        Self { table: Arc::default(), wide: Arc::new(Semaphore::new(WIDE)) }
    }
}

#[derive(Default)]
struct Table {
    /// Number of connections so far, which is also the number of the next one.
    count: u64,
    peers: HashMap<PeerId, Peer>,
}

/// Connections with their numbers, the oldest first.
type Numbered = VecDeque<(u64, Connection)>;

#[derive(Default)]
struct Peer {
    connections: Numbered,
    memory: Arc<PeerMemory>,
}

impl Table {
    /// Adds a connection. Returns its number, and the oldest connection of the peer if there are
    /// too many now.
    fn add(
        &mut self,
        peer: PeerId,
        connection: &Connection,
    ) -> (u64, Option<Connection>, Arc<PeerMemory>) {
        let number = self.count;
        self.count += 1;
        let Peer { connections: ours, memory } = self.peers.entry(peer).or_default();
        // A connection that has ended may still be listed until its task notices.
        ours.retain(|(_, it)| it.close_reason().is_none());
        ours.push_back((number, connection.clone()));
        let oldest = if ours.len() > PER_PEER { ours.pop_front() } else { None };
        (number, oldest.map(|(_, it)| it), Arc::clone(memory))
    }
}

impl Connections {
    /// Records a connection until the returned value is dropped, and closes the peer's oldest
    /// connection if there are too many.
    pub(super) fn enter(&self, connection: &Connection) -> Place {
        let peer = connection.peer();
        let (number, oldest, memory) = self.table().add(peer, connection);
        if let Some(oldest) = oldest {
            oldest.abort(CloseCode::Busy);
        }
        Place { connections: self.clone(), peer, number, memory }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A recorded connection. It is removed from the table on drop.
pub(super) struct Place {
    connections: Connections,
    peer: PeerId,
    number: u64,
    pub(super) memory: Arc<PeerMemory>,
}

impl Place {
    /// Gives a connection that is used the whole window, if the peer and the hub have one left.
    /// Returns what must be kept while it has it.
    pub(super) fn widen(&self, connection: &Connection, exchanges: u32) -> impl Sized + use<> {
        let wide = Arc::clone(&self.memory.wide).try_acquire_owned().ok();
        let wide = wide.and_then(|own| {
            let all = Arc::clone(&self.connections.wide).try_acquire_owned().ok()?;
            Some((own, all))
        });
        let bytes = if wide.is_some() { WHOLE_WINDOW } else { FIRST_WINDOW };
        connection.widen(bytes, exchanges);
        wide
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut table = self.connections.table();
        let Some(ours) = table.peers.get_mut(&self.peer) else { return };
        ours.connections.retain(|(number, _)| *number != self.number);
        if ours.connections.is_empty() {
            table.peers.remove(&self.peer);
        }
    }
}

/// The newest connections of unregistered peers. A further one closes the oldest, so that peers
/// which stay keep out no one who registers at once.
#[derive(Clone, Default)]
pub(crate) struct Newcomers(Arc<Mutex<(u64, Numbered)>>);

impl Newcomers {
    /// Records a connection until the returned value is dropped, and closes the oldest one if there
    /// are too many.
    pub(super) fn enter(&self, connection: &Connection) -> Newcomer {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (count, connections) = &mut *all;
        *count += 1;
        connections.push_back((*count, connection.clone()));
        if connections.len() > MAX_UNREGISTERED
            && let Some((_, oldest)) = connections.pop_front()
        {
            oldest.abort(CloseCode::Busy);
        }
        Newcomer { newcomers: self.clone(), number: *count }
    }
}

/// A recorded connection of an unregistered peer. It is removed on drop.
pub(super) struct Newcomer {
    newcomers: Newcomers,
    number: u64,
}

impl Drop for Newcomer {
    fn drop(&mut self) {
        let mut all = self.newcomers.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.1.retain(|(number, _)| *number != self.number);
    }
}
