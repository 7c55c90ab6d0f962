//! Copies of a store, and stores from copies (docs/spec/store.md, "Backup, restore, export").

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use rusqlite::Connection;
use rusqlite::backup::{Backup, Progress, StepResult};

use crate::directory::{self, DATABASE, KEY, LOCK, LOG};
use crate::error::{
    BackupError, CreateStoreError, Finding, OpenStoreError, RestoreError, StoreError,
};
use crate::key_file::{self, StoreKey, Unlock};
use crate::lock::Lock;
use crate::store::{Housekeeping, Store};
use crate::trouble::Note;
use crate::{assembly, database, integrity, meta, schema};

impl Store {
    /// Copies the store, as it was committed last, into a new directory `to`: the database under
    /// the same key, and the key file. The copy is marked as restored, so that it never sends by
    /// mistake.
    ///
    /// Every page is read, so a backup that succeeds is one of a store whose pages are authentic.
    ///
    /// # Errors
    /// [`BackupError::Exists`] if there is anything at `to`. Nothing is left there after an error.
    pub fn backup(&mut self, to: &Path) -> Result<(), BackupError> {
        self.backup_with(to, &mut |_, _| ())
    }

    /// [`Self::backup`] that calls `progress` with the number of bytes that were copied and the
    /// length of the database.
    ///
    /// # Errors
    /// As [`Self::backup`].
    pub fn backup_with(
        &mut self,
        to: &Path,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(), BackupError> {
        let copied = self.copy(to, progress);
        self.noted(copied)
    }

    fn copy(&self, to: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<(), BackupError> {
        let from = self.connection().map_err(|_| BackupError::Uncertain)?;
        let key_file = directory::read_bounded(&self.key_path, key_file::LEN)?;
        let _lock = assembly::assemble(to, |new| {
            directory::write_whole(&new.join(KEY), &key_file)?;
            let path = new.join(DATABASE);
            directory::private().create_new(true).open(&path)?;
            let mut copy = database::open(&path, &self.key)?;
            copy_pages(&Backup::new(from, &mut copy)?, progress)?;
            copy.close().map_err(|(_, error)| error)?;
            let mut copy = database::open(&path, &self.key)?;
            mark(&mut copy)?;
            copy.close().map_err(|(_, error)| error)?;
            // Empty since the checkpoint.
            Ok::<(), BackupError>(fs::remove_file(new.join(LOG))?)
        })?;
        // A backup is not opened in place, so a lock that stays means nothing.
        let _ = fs::remove_file(to.join(LOCK));
        Ok(())
    }

    /// Makes a store in a new directory from a backup or from a plain copy of a store's files, and
    /// opens it. Sessions and groups that may send in it wait for a reset ([`Self::is_restored`]),
    /// and [`Self::restorations`] increases.
    ///
    /// A write-ahead log beside the copy is part of it: its commits are moved into the database.
    ///
    /// # Errors
    /// [`RestoreError::Place`] if there is anything at `directory`, [`RestoreError::Backup`] if the
    /// backup does not open, [`RestoreError::Log`] if a commit in its log does not read; nothing is
    /// left at `directory` then.
    pub fn restore(
        backup: &Path,
        directory: &Path,
        unlock: Unlock<'_>,
    ) -> Result<Self, RestoreError> {
        // A store that is open changes while it is copied.
        let _lock = Lock::take_existing(&backup.join(LOCK)).map_err(RestoreError::Backup)?;
        let file = directory::read_bounded(&backup.join(KEY), key_file::LEN)
            .map_err(|error| RestoreError::Backup(OpenStoreError::missing(error)))?;
        let key = key_file::open(&file, unlock).map_err(RestoreError::Backup)?;
        let lock = assembly::assemble(directory, |new| {
            directory::write_whole(&new.join(KEY), &file).map_err(CreateStoreError::from)?;
            copy(&backup.join(DATABASE), &new.join(DATABASE))?;
            if fs::exists(backup.join(LOG)).map_err(CreateStoreError::from)? {
                copy(&backup.join(LOG), &new.join(LOG))?;
            }
            adopt(new, &key)
        })?;
        let housekeeping = Housekeeping::default();
        Self::load(directory.to_owned(), directory.join(KEY), key, lock, housekeeping)
            .map_err(RestoreError::Backup)
    }
}

/// Copies all pages. There is no other writer, so each step goes on where the one before ended.
fn copy_pages(
    backup: &Backup<'_, '_>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), BackupError> {
    loop {
        let step = backup.step(STEP).map_err(StoreError::from)?;
        let Progress { remaining, pagecount } = backup.progress();
        let bytes = |pages: i32| u64::try_from(pages).unwrap_or(0) * PAGE_LEN;
        progress(bytes(pagecount - remaining), bytes(pagecount));
        match step {
            StepResult::Done => return Ok(()),
            StepResult::More => {}
            _ => return Err(io::Error::from(io::ErrorKind::ResourceBusy).into()),
        }
    }
}

/// Pages of a step: 4 MiB.
const STEP: i32 = 1024;

fn copy(from: &Path, to: &Path) -> Result<(), RestoreError> {
    let mut source =
        File::open(from).map_err(|error| RestoreError::Backup(OpenStoreError::missing(error)))?;
    let copied = directory::private().create_new(true).open(to).and_then(|mut copy| {
        io::copy(&mut source, &mut copy)?;
        copy.sync_all()
    });
    Ok(copied.map_err(CreateStoreError::from)?)
}

/// Checks a copy before it gets the name of a store, takes in its log, and marks it.
fn adopt(new: &Path, key: &StoreKey) -> Result<(), RestoreError> {
    Note::follow_none();
    let backup = |error: OpenStoreError| RestoreError::Backup(error);
    let path = new.join(DATABASE);
    let has_salt = integrity::has_salt(&path, key).map_err(|error| backup(error.into()))?;
    if !has_salt {
        return Err(backup(OpenStoreError::Damaged(Finding::Page(1))));
    }
    let mut connection = database::open(&path, key).map_err(|error| backup(error.into()))?;
    schema::check(&connection).map_err(backup)?;
    let frames = database::move_log(&connection).map_err(|error| backup(error.into()))?;
    if has_commit_beyond(&new.join(LOG), frames).map_err(|error| backup(error.into()))? {
        return Err(RestoreError::Log);
    }
    let mut findings = Vec::new();
    integrity::structure(&connection, &mut findings).map_err(|error| match error {
        StoreError::Full => RestoreError::Place(CreateStoreError::Full),
        StoreError::Io(error) => backup(OpenStoreError::Io(error)),
        other => backup(OpenStoreError::Io(io::Error::other(other))),
    })?;
    if let Some(finding) = findings.into_iter().next() {
        return Err(backup(OpenStoreError::Damaged(finding)));
    }
    mark(&mut connection).map_err(|error| backup(error.into()))?;
    connection.close().map_err(|(_, error)| backup(error.into()))
}

/// Marks a copy as restored, and leaves nothing of it in its log.
fn mark(connection: &mut Connection) -> Result<(), rusqlite::Error> {
    let transaction = connection.transaction()?;
    meta::mark_restored(&transaction)?;
    transaction.commit()?;
    database::checkpoint(connection)
}

/// Returns true if a log has a frame that ends a commit behind its first `frames`: SQLite takes
/// such a frame for torn, and everything from it on for never committed.
fn has_commit_beyond(log: &Path, frames: u64) -> io::Result<bool> {
    let mut file = match File::open(log) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let len = file.metadata()?.len();
    let mut at = LOG_HEADER_LEN + frames.saturating_mul(FRAME_LEN);
    while at + FRAME_LEN <= len {
        // Number of the page, then the pages of the database after a commit, or 0.
        let mut head = [0; 8];
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(&mut head)?;
        if head[4..] != [0; 4] {
            return Ok(true);
        }
        at += FRAME_LEN;
    }
    Ok(false)
}

/// SQLite's file format, section 4.1.
const LOG_HEADER_LEN: u64 = 32;
const FRAME_LEN: u64 = 24 + PAGE_LEN;
const PAGE_LEN: u64 = 4096;
