//! The devices, as connections look them up.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use endseal_crypto::peer_id::PeerId;
use endseal_delivery::hub::RegistrationState;
use tokio::sync::Notify;

use crate::store::{DeviceRow, DeviceState};

/// For each device: whether it is revoked, and the signal that wakes its subscription. The writer
/// changes this after a commit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Directory(Arc<RwLock<HashMap<PeerId, Entry>>>);

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) row: DeviceRow,
    pub(crate) is_revoked: bool,
    /// True until the device has registered itself.
    is_pending: bool,
    /// Signalled when a frame arrived in the mailbox, or the device was revoked.
    pub(crate) news: Arc<Notify>,
    /// True if frames have expired since the subscription last checked.
    pub(crate) has_expired: Arc<AtomicBool>,
}

impl Directory {
    pub(crate) fn state(&self, peer: &PeerId) -> RegistrationState {
        match self.entry(peer) {
            None => RegistrationState::Unknown,
            Some(entry) if entry.is_revoked && entry.is_pending => RegistrationState::Unknown,
            Some(entry) if entry.is_revoked => RegistrationState::Revoked,
            Some(entry) if entry.is_pending => RegistrationState::Pending,
            Some(_) => RegistrationState::Registered,
        }
    }

    pub(crate) fn entry(&self, peer: &PeerId) -> Option<Entry> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(peer).cloned()
    }

    /// Records a device, or its revocation.
    pub(crate) fn set(&self, state: &DeviceState) {
        let mut devices = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let DeviceState { peer, row, is_revoked, is_pending, .. } = *state;
        let entry = devices.entry(peer).or_insert_with(|| Entry {
            row,
            is_revoked,
            is_pending,
            news: Arc::default(),
            has_expired: Arc::default(),
        });
        (entry.is_revoked, entry.is_pending) = (is_revoked, is_pending);
        entry.news.notify_one();
    }

    /// Tells the subscription of a device that some of its frames expired.
    pub(crate) fn note_expiry(&self, peer: &PeerId) {
        if let Some(entry) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(peer) {
            entry.has_expired.store(true, Ordering::Release);
            entry.news.notify_one();
        }
    }

    /// Wakes the subscription of a device.
    pub(crate) fn wake(&self, peer: &PeerId) {
        if let Some(entry) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(peer) {
            entry.news.notify_one();
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.0.read().unwrap_or_else(PoisonError::into_inner).len()
    }
}
