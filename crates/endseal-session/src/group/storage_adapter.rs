//! Where the MLS library finds what it would read from a file, and leaves what it would write.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::convert::Infallible;
use std::sync::{Mutex, MutexGuard, PoisonError};

use endseal_crypto::secret::Zeroizing;
use mls_rs::{GroupStateStorage, KeyPackageStorage};
use mls_rs_core::group::{EpochRecord, GroupState};
use mls_rs_core::key_package::KeyPackageData;

use super::signatures::{Keys, Signatures};
use super::skipped_key_budget::{Generation, SkippedKeyBudget};

/// States of past epochs by number. They are shared between the copies of a group.
pub(super) type Epochs = BTreeMap<u64, Arc<Zeroizing<Vec<u8>>>>;

/// A table shared with the library. All copies of a group share one, so whoever lays something on
/// it holds the `exclusive` lock until it is taken away.
#[derive(Clone)]
pub(super) struct StorageAdapter(Arc<Shared>);

#[derive(Default)]
struct Shared {
    exclusive: Mutex<()>,
    table: Mutex<Table>,
    keys: Mutex<Keys>,
}

/// Data exchanged with the library.
#[derive(Default)]
pub(super) struct Table {
    pub(super) state: Option<Zeroizing<Vec<u8>>>,
    pub(super) epochs: Epochs,
    pub(super) inserts: Vec<EpochRecord>,
    pub(super) updates: Vec<EpochRecord>,
    pub(super) key_package: Option<(Vec<u8>, KeyPackageData)>,
    /// If there, signatures are collected here and not verified.
    pub(super) signatures: Option<Signatures>,
    /// There while a message is opened.
    pub(super) watch: Option<Watch>,
}

/// Facts about a message that are recorded while the library opens it.
pub(super) struct Watch {
    pub(super) epoch: u64,
    pub(super) is_application: bool,
    pub(super) skipped_keys: SkippedKeyBudget,
    /// The sender data, which is opened first. Without it no key was looked for.
    pub(super) message: Option<Generation>,
    /// The message skips more than there is room for.
    pub(super) is_full: bool,
}

impl Watch {
    /// Looks at what was decrypted. Whether the library may go on.
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

    /// Does `work` with `table` laid out, and gives back what lies there afterwards.
    pub(super) fn with<T>(&self, table: Table, work: impl FnOnce() -> T) -> (T, Table) {
        // A panic of the library leaves a table that the next turn overwrites.
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

    /// The caller learns which key package was used and deletes its secrets.
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
