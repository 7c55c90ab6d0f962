//! Copies of a store, and stores from copies (docs/spec/store.md, "Backup, restore, export").

use std::fs::{self, File};
use std::io;
use std::path::Path;

use rusqlite::backup::Backup;

use crate::directory::{self, DATABASE, KEY, LOCK, LOG};
use crate::error::{BackupError, CreateStoreError, OpenStoreError, RestoreError};
use crate::key_file::{self, StoreKey, Unlock};
use crate::store::{self, Housekeeping, Store};
use crate::{check, database, meta, schema};

impl Store {
    /// Copies the store, as it was committed last, into a new directory `to`: the database under the same
    /// key, and the key file. The copy is marked as restored, so that it never sends by mistake.
    ///
    /// Every page is read, so a backup that succeeds is one of a store whose pages are authentic.
    ///
    /// # Errors
    /// [`BackupError::Exists`] if there is anything at `to`. Nothing is left there after an error.
    pub fn backup(&mut self, to: &Path) -> Result<(), BackupError> {
        let from = self.connection().map_err(|_| BackupError::Uncertain)?;
        let key_file = directory::read_bounded(&self.key_path, key_file::LEN)?;
        store::assemble(to, |new| {
            directory::write_whole(&new.join(KEY), &key_file)?;
            let path = new.join(DATABASE);
            directory::private().create_new(true).open(&path)?;
            let mut copy = database::open(&path, &self.key)?;
            // A negative number stands for all pages: there is no other writer to let in.
            Backup::new(from, &mut copy)?.step(-1)?;
            copy.close().map_err(|(_, error)| error)?;
            let mut copy = database::open(&path, &self.key)?;
            let transaction = copy.transaction()?;
            meta::mark_restored(&transaction)?;
            transaction.commit()?;
            database::checkpoint(&copy)?;
            copy.close().map_err(|(_, error)| error)?;
            // Empty since the checkpoint; and nobody opens a backup where it is.
            fs::remove_file(new.join(LOG))?;
            Ok::<(), BackupError>(fs::remove_file(new.join(LOCK))?)
        })?;
        Ok(())
    }

    /// Makes a store in a new directory from a backup, and opens it. What may send in it waits for a
    /// reset ([`Self::is_restored`]).
    ///
    /// # Errors
    /// [`RestoreError::Place`] if there is anything at `directory`, [`RestoreError::Backup`] if the
    /// backup does not open; nothing is left at `directory` then.
    pub fn restore(
        backup: &Path,
        directory: &Path,
        unlock: Unlock<'_>,
    ) -> Result<Self, RestoreError> {
        let file = directory::read_bounded(&backup.join(KEY), key_file::LEN)
            .map_err(|error| RestoreError::Backup(OpenStoreError::missing(error)))?;
        let key = key_file::open(&file, unlock).map_err(RestoreError::Backup)?;
        let lock = store::assemble(directory, |new| {
            directory::write_whole(&new.join(KEY), &file).map_err(CreateStoreError::from)?;
            copy(&backup.join(DATABASE), &new.join(DATABASE))?;
            examine(&new.join(DATABASE), &key).map_err(RestoreError::Backup)
        })?;
        Self::load(directory.to_owned(), directory.join(KEY), key, lock, Housekeeping::default())
            .map_err(RestoreError::Backup)
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), RestoreError> {
    let mut source =
        File::open(from).map_err(|error| RestoreError::Backup(OpenStoreError::missing(error)))?;
    let copied = directory::private().create_new(true).open(to).and_then(|mut copy| {
        io::copy(&mut source, &mut copy)?;
        copy.sync_all()
    });
    Ok(copied.map_err(CreateStoreError::from)?)
}

/// Whether a copy is a store's database and whole, before it gets the name of a store.
fn examine(path: &Path, key: &StoreKey) -> Result<(), OpenStoreError> {
    let connection = database::open(path, key)?;
    schema::version(&connection)?;
    check::quick(&connection)?.map_or(Ok(()), |finding| Err(OpenStoreError::Damaged(finding)))
}
