//! The devices that are connected, as their connections look them up.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use endseal_crypto::peer_id::PeerId;
use endseal_delivery::hub::RegistrationState;
use tokio::sync::Notify;

use crate::store::{DeviceRow, DeviceState};

/// For each connected peer: its registration, and the signal that wakes its subscription. The
/// writer changes this after a commit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Directory(Arc<RwLock<Table>>);

#[derive(Debug, Default)]
struct Table {
    peers: HashMap<PeerId, Entry>,
    /// Peers by the numbers of their devices.
    rows: HashMap<DeviceRow, PeerId>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    /// The device. `None` for a peer that is not registered.
    device: Option<Registration>,
    /// Signalled when a frame arrived in the mailbox, or the device was revoked.
    pub(crate) news: Arc<Notify>,
    /// True if frames have expired since the subscription last checked.
    pub(crate) has_expired: Arc<AtomicBool>,
    /// The number of connections of the peer.
    connections: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Registration {
    row: DeviceRow,
    is_revoked: bool,
    /// True until the device has registered itself.
    is_pending: bool,
    /// The position of the last frame that was added to its mailbox, as far as this process knows.
    last: u64,
    /// The position of the last frame that expired.
    expired: u64,
}

impl Entry {
    /// The number of the device. `None` if the peer is not registered.
    pub(crate) fn row(&self) -> Option<DeviceRow> {
        self.device.map(|it| it.row)
    }

    pub(crate) fn is_revoked(&self) -> bool {
        self.device.is_some_and(|it| it.is_revoked)
    }

    fn set(&mut self, state: &DeviceState) {
        let DeviceState { row, is_revoked, is_pending, last, gap: (_, expired), .. } = *state;
        let now = Registration { row, is_revoked, is_pending, last, expired };
        let before = self.device.replace(now);
        if before.is_some_and(|before| before.expired < expired) {
            self.has_expired.store(true, Ordering::Release);
        }
        if before != Some(now) {
            self.news.notify_one();
        }
    }
}

impl Directory {
    /// Records a connection of a peer until the returned value is dropped.
    pub(crate) fn enter(&self, peer: PeerId) -> Connected {
        self.write().peers.entry(peer).or_default().connections += 1;
        Connected { directory: self.clone(), peer }
    }

    pub(crate) fn state(&self, peer: &PeerId) -> RegistrationState {
        match self.entry(peer).and_then(|entry| entry.device) {
            None => RegistrationState::Unknown,
            Some(device) if device.is_revoked && device.is_pending => RegistrationState::Unknown,
            Some(device) if device.is_revoked => RegistrationState::Revoked,
            Some(device) if device.is_pending => RegistrationState::Pending,
            Some(_) => RegistrationState::Registered,
        }
    }

    pub(crate) fn entry(&self, peer: &PeerId) -> Option<Entry> {
        self.read().peers.get(peer).cloned()
    }

    /// Returns the connected peers.
    pub(crate) fn peers(&self) -> Vec<PeerId> {
        self.read().peers.keys().copied().collect()
    }

    /// Records the state of a device, if it is connected, and wakes its subscription if there is
    /// something new for it.
    pub(crate) fn set(&self, state: &DeviceState) {
        let mut table = self.write();
        if let Some(entry) = table.peers.get_mut(&state.peer) {
            entry.set(state);
            table.rows.insert(state.row, state.peer);
        }
    }

    /// Wakes the subscription of a device.
    pub(crate) fn wake(&self, device: DeviceRow) {
        let table = self.read();
        if let Some(entry) = table.rows.get(&device).and_then(|peer| table.peers.get(peer)) {
            entry.news.notify_one();
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Table> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Table> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A recorded connection. It is removed on drop.
pub(crate) struct Connected {
    directory: Directory,
    peer: PeerId,
}

impl Drop for Connected {
    fn drop(&mut self) {
        let mut table = self.directory.write();
        let Some(entry) = table.peers.get_mut(&self.peer) else { return };
        entry.connections -= 1;
        if entry.connections == 0
            && let Some(row) = table.peers.remove(&self.peer).and_then(|entry| entry.row())
        {
            table.rows.remove(&row);
        }
    }
}
