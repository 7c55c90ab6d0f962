//! In-memory storage of the MLS library: data that it reads and writes during an operation.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::convert::Infallible;
use std::sync::{Mutex, MutexGuard, PoisonError};

use endseal_crypto::secret::Zeroizing;
use mls_rs::{GroupStateStorage, KeyPackageStorage};
use mls_rs_core::group::{EpochRecord, GroupState};
use mls_rs_core::key_package::KeyPackageData;

use super::membership_state::MembershipState;
use super::signatures::{Keys, Signatures};
use super::skipped_key_budget::{Generation, SkippedKeyBudget};

/// States of past epochs, by number. The copies of a group share them.
pub(super) type Epochs = BTreeMap<u64, Arc<Zeroizing<Vec<u8>>>>;

/// Table through which this crate exchanges data with the library. All copies of a group share it,
/// so an operation holds the `exclusive` lock while its data is in the table.
#[derive(Clone)]
pub(super) struct StorageAdapter(Arc<Shared>);

#[derive(Default)]
struct Shared {
    exclusive: Mutex<()>,
    table: Mutex<Table>,
    keys: Mutex<Keys>,
}

/// Data that is exchanged with the library.
#[derive(Default)]
pub(super) struct Table {
    pub(super) state: Option<Zeroizing<Vec<u8>>>,
    pub(super) epochs: Epochs,
    pub(super) inserts: Vec<EpochRecord>,
    pub(super) updates: Vec<EpochRecord>,
    pub(super) key_package: Option<(Vec<u8>, KeyPackageData)>,
    /// If set, signatures are collected here instead of being verified.
    pub(super) signatures: Option<Signatures>,
    /// Set while a message is opened.
    pub(super) watch: Option<Watch>,
    /// State of a conversation. The rules replace it when they allow a commit that changes it.
    pub(super) conversation: Option<Arc<MembershipState>>,
}

/// Facts about a message that are recorded while the library opens it.
pub(super) struct Watch {
    pub(super) epoch: u64,
    pub(super) is_application: bool,
    pub(super) skipped_keys: SkippedKeyBudget,
    /// Position from the sender data, which is decrypted first. `None` means that no key was looked
    /// up.
    pub(super) message: Option<Generation>,
    /// True if the message would skip more keys than the limit allows.
    pub(super) is_full: bool,
}

impl Watch {
    /// Inspects a decrypted plaintext. Returns true if the library may continue.
    pub(super) fn decrypted(&mut self, plaintext: &[u8]) -> bool {
        if self.message.is_none() {
            self.message = Generation::read(plaintext, self.is_application);
            self.is_full =
                self.message.is_some_and(|it| !self.skipped_keys.have_room(self.epoch, it));
        }
        !self.is_full
    }
}

impl StorageAdapter {
    pub(super) fn new() -> Self {
        Self(Arc::new(Shared::default()))
    }

    /// Runs `work` with `table` in place, and returns its result and the table.
    pub(super) fn with<T>(&self, table: Table, work: impl FnOnce() -> T) -> (T, Table) {
        // A panic of the library leaves a table that the next operation overwrites.
        let _exclusive = self.0.exclusive.lock().unwrap_or_else(PoisonError::into_inner);
        *self.table() = table;
        let result = work();
        let table = core::mem::take(&mut *self.table());
        (result, table)
    }

    pub(super) fn keys(&self) -> MutexGuard<'_, Keys> {
        self.0.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn table(&self) -> MutexGuard<'_, Table> {
        self.0.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl GroupStateStorage for StorageAdapter {
    type Error = Infallible;

    fn state(&self, _: &[u8]) -> Result<Option<Zeroizing<Vec<u8>>>, Self::Error> {
        Ok(self.table().state.take())
    }

    fn epoch(&self, _: &[u8], epoch: u64) -> Result<Option<Zeroizing<Vec<u8>>>, Self::Error> {
        Ok(self.table().epochs.get(&epoch).map(|state| (**state).clone()))
    }

    fn write(
        &mut self,
        state: GroupState,
        inserts: Vec<EpochRecord>,
        updates: Vec<EpochRecord>,
    ) -> Result<(), Self::Error> {
        let mut table = self.table();
        table.state = Some(state.data);
        table.inserts = inserts;
        table.updates = updates;
        Ok(())
    }

    fn max_epoch_id(&self, _: &[u8]) -> Result<Option<u64>, Self::Error> {
        Ok(self.table().epochs.last_key_value().map(|(epoch, _)| *epoch))
    }
}

impl KeyPackageStorage for StorageAdapter {
    type Error = Infallible;

    /// Does not delete: the caller learns which key package was used, and deletes its secrets.
    fn delete(&mut self, _: &[u8]) -> Result<(), Self::Error> {
        Ok(())
    }

    fn insert(&mut self, id: Vec<u8>, data: KeyPackageData) -> Result<(), Self::Error> {
        self.table().key_package = Some((id, data));
        Ok(())
    }

    fn get(&self, id: &[u8]) -> Result<Option<KeyPackageData>, Self::Error> {
        let table = self.table();
        Ok(table
            .key_package
            .as_ref()
            .filter(|(found, _)| found == id)
            .map(|(_, data)| data.clone()))
    }
}
