//! Making, opening and closing a store.

pub(crate) mod transaction;

use core::cell::{Cell, RefCell, RefMut};
use core::time::Duration;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;

use endseal_crypto::random::Random;
use rusqlite::{Connection, TransactionBehavior};

use crate::delivered_index::{self, DeliveredIndex};
use crate::directory::{self, DATABASE, KEY, LOCK, LOG};
use crate::error::{CreateStoreError, Finding, OpenStoreError, ReprotectError, StoreError};
use crate::key_file::{self, Protection, ProtectionKind, StoreKey, Unlock};
use crate::lock::Lock;
use crate::trouble::{Note, Trouble};
use crate::{assembly, database, integrity, meta, schema};
use transaction::{Durability, ReadTransaction, WriteTransaction};

/// An open store: the only one of its directory, on this machine, until it is closed.
///
/// Dropping it is [`Self::close`] without its result; after a panic, or a commit that failed,
/// dropping writes nothing, as if the process had died.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct Store {
    pub(crate) directory: PathBuf,
    pub(crate) key_path: PathBuf,
    pub(crate) key: StoreKey,
    lock: Lock,
    /// None after a failure that ended it, a reopening that failed, and once closed.
    connection: Option<Connection>,
    note: Note,
    id: [u8; 16],
    /// Generation of the store when it was opened.
    generation: u64,
    /// Generation in the database, which commits raise.
    latest_generation: u64,
    restored: bool,
    restorations: u64,
    /// Mode of the connection: that of the last transaction that wrote.
    durability: Durability,
    /// True if a commit without an fsync is newer than the last one with it.
    unsynced: bool,
    housekeeping: Housekeeping,
    /// The messages that were delivered last, once they were asked for.
    recent: RefCell<Option<DeliveredIndex>>,
    /// True if no message has a number that was not given out.
    numbers_checked: Cell<bool>,
}

/// Options of opening a store.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    wait: Duration,
    key_file: Option<PathBuf>,
    pub(crate) housekeeping: Housekeeping,
}

/// Sizes beyond which the store does work of its own before a transaction begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Housekeeping {
    /// Length in bytes of a log that is moved into the database.
    pub(crate) max_log_len: u64,
    /// Number of recent messages that a checkpoint sorts in.
    pub(crate) many_recent: usize,
}

impl Default for Housekeeping {
    fn default() -> Self {
        Self { max_log_len: MAX_LOG_LEN, many_recent: delivered_index::MANY }
    }
}

impl OpenOptions {
    /// Not waiting, and the key file in the directory.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Waits at most that long for the process that has the store open.
    #[must_use]
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// The key file is at another place: on another medium, say.
    #[must_use]
    pub fn key_file(mut self, path: &Path) -> Self {
        self.key_file = Some(path.to_owned());
        self
    }

    pub(crate) fn key_path(&self, directory: &Path) -> PathBuf {
        self.key_file.clone().unwrap_or_else(|| directory.join(KEY))
    }
}

impl Store {
    /// Makes a store in a new directory, or an empty one, and opens it. It appears whole or not at
    /// all.
    ///
    /// # Errors
    /// [`CreateStoreError::Exists`] if there is anything at `directory`.
    pub fn create(
        directory: &Path,
        protection: Protection<'_>,
        random: &mut impl Random,
    ) -> Result<Self, CreateStoreError> {
        let key = StoreKey::try_init_with(|key| random.fill(key))?;
        let mut id = [0; 16];
        random.fill(&mut id)?;
        let key_file = key_file::seal(&key, &protection, random)?;
        let lock = assembly::assemble(directory, |new| {
            directory::write_whole(&new.join(KEY), &key_file)?;
            directory::private().create_new(true).open(new.join(DATABASE))?;
            let mut connection = database::open(&new.join(DATABASE), &key)?;
            connection.pragma_update(None, "journal_mode", "WAL")?;
            schema::make(&mut connection)?;
            let transaction = connection.transaction()?;
            meta::write(&transaction, meta::ID, &id)?;
            meta::set_number(&transaction, meta::GENERATION, 0)?;
            meta::set_number(&transaction, meta::SEQ, 0)?;
            meta::set_number(&transaction, meta::RESTORATIONS, 0)?;
            meta::write(&transaction, meta::RESTORED, &[0])?;
            transaction.commit()?;
            Ok::<(), CreateStoreError>(database::checkpoint(&connection)?)
        })?;
        let housekeeping = Housekeeping::default();
        Self::load(directory.to_owned(), directory.join(KEY), key, lock, housekeeping).map_err(
            |error| match error {
                OpenStoreError::Full => CreateStoreError::Full,
                OpenStoreError::Io(error) => CreateStoreError::Io(error),
                other => CreateStoreError::Io(io::Error::other(other)),
            },
        )
    }

    /// Opens the store of a directory.
    ///
    /// If damage was reported and no check was good since, the database is checked first, which
    /// reads all of it.
    ///
    /// # Errors
    /// [`OpenStoreError`]; nothing was changed.
    pub fn open(
        directory: &Path,
        unlock: Unlock<'_>,
        options: OpenOptions,
    ) -> Result<Self, OpenStoreError> {
        fs::metadata(directory.join(DATABASE)).map_err(OpenStoreError::missing)?;
        let lock = Lock::take(&directory.join(LOCK), options.wait)?;
        let path = options.key_path(directory);
        let file =
            directory::read_bounded(&path, key_file::LEN).map_err(OpenStoreError::missing)?;
        let key = key_file::open(&file, unlock)?;
        Self::load(directory.to_owned(), path, key, lock, options.housekeeping)
    }

    /// Changes the protection of the store. The new key file replaces the old one in one step. The
    /// key of the database stays, so an old copy of the key file still opens it with the old
    /// secret.
    ///
    /// # Errors
    /// [`ReprotectError`]: the protection is the old one, or after [`ReprotectError::Uncertain`]
    /// either.
    pub fn reprotect(
        &mut self,
        protection: Protection<'_>,
        random: &mut impl Random,
    ) -> Result<(), ReprotectError> {
        let file = key_file::seal(&self.key, &protection, random)?;
        directory::replace(&self.key_path, &file)?;
        directory::synchronise_parent(&self.key_path).map_err(ReprotectError::Uncertain)
    }

    /// Checks that `unlock` opens this store, as a program does that was left alone for a while.
    ///
    /// # Errors
    /// [`OpenStoreError::Authentication`] for another secret.
    pub fn authenticate(&self, unlock: Unlock<'_>) -> Result<(), OpenStoreError> {
        let file = directory::read_bounded(&self.key_path, key_file::LEN);
        let key = key_file::open(&file.map_err(OpenStoreError::missing)?, unlock)?;
        if key == self.key { Ok(()) } else { Err(OpenStoreError::Authentication) }
    }

    /// Kind of the secret that the key file of a store needs.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn protection(
        directory: &Path,
        options: &OpenOptions,
    ) -> Result<ProtectionKind, OpenStoreError> {
        let path = options.key_path(directory);
        let file =
            directory::read_bounded(&path, key_file::LEN).map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => OpenStoreError::Missing,
                _ => OpenStoreError::Io(error),
            })?;
        key_file::kind(&file)
    }

    /// Identifier of this store, also against one that is made in its place: 16 random bytes. Its
    /// backups have the same.
    #[must_use]
    pub fn id(&self) -> &[u8; 16] {
        &self.id
    }

    /// Increases on every open and close. Data cached in memory is valid only for the same number.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Number of times that the database was found to be a copy: restored from one, or put in place
    /// of a later one. It also counts if no session or group waits for a reset. One-time keys of a
    /// copy may have been used: the layer above keeps the number for which it made its own, and
    /// makes new ones for another number.
    #[must_use]
    pub fn restorations(&self) -> u64 {
        self.restorations
    }

    /// Counts a restoration that the caller found out: another copy of this database was in use, so
    /// that the next keys of its chains may have been used. Sessions and groups that may send wait
    /// for a reset from now on, as after [`Self::restore`].
    ///
    /// # Errors
    /// [`StoreError`]; nothing is marked then. A caller that holds states of the database in memory
    /// MUST read them again.
    pub fn mark_restored(&mut self) -> Result<(), StoreError> {
        let transaction = self.begin()?;
        let connection = transaction.connection()?;
        meta::mark_restored(connection)?;
        let waits = meta::waits_for_reset(connection)?;
        if !waits {
            meta::write(connection, meta::RESTORED, &[0])?;
        }
        let restorations = meta::number(connection, meta::RESTORATIONS)?;
        transaction.commit()?;
        (self.restored, self.restorations) = (waits, restorations);
        Ok(())
    }

    /// Returns true if the database was restored and some session or group still waits for a reset.
    #[must_use]
    pub fn is_restored(&self) -> bool {
        self.restored
    }

    /// Returns true after a commit or a checkpoint that failed, a read that failed, or a page that
    /// was damaged: only [`Self::reopen`] is of use then.
    #[must_use]
    pub fn is_uncertain(&self) -> bool {
        self.connection.is_none()
    }

    /// Begins a transaction that writes; its commit is durable when it returns. If the log has
    /// grown beyond 4 MiB it is moved into the database first.
    ///
    /// # Errors
    /// [`StoreError::Uncertain`] after a commit that failed.
    pub fn begin(&mut self) -> Result<WriteTransaction<'_>, StoreError> {
        self.keep_house()?;
        WriteTransaction::begin(self, Durability::Synced)
    }

    /// Begins a transaction whose commit makes no fsync: it outlives the end of the process, and a
    /// loss of power only from the next [`Self::sync`], or commit of [`Self::begin`], on. Until
    /// then nothing of it may be acknowledged, and no ciphertext of it may leave.
    ///
    /// # Errors
    /// As [`Self::begin`].
    pub fn begin_unsynced(&mut self) -> Result<WriteTransaction<'_>, StoreError> {
        self.keep_house()?;
        WriteTransaction::begin(self, Durability::Unsynced)
    }

    /// Makes every transaction that was committed durable.
    ///
    /// # Errors
    /// As [`WriteTransaction::commit`].
    pub fn sync(&mut self) -> Result<(), StoreError> {
        self.begin()?.commit()
    }

    /// Generation that a commit with `changes` writes: the next one, if the commit makes an fsync.
    /// SQLite makes none if no page changed, so that this is what carries earlier commits to the
    /// medium.
    pub(crate) fn next_generation(&self, changes: bool) -> Option<u64> {
        let makes_fsync = self.durability == Durability::Synced && (changes || self.unsynced);
        makes_fsync.then(|| self.latest_generation.saturating_add(1))
    }

    /// Writes the generation of a commit, so that its page changes also if the number does not.
    pub(crate) fn write_generation(&self, generation: u64) -> Result<(), StoreError> {
        let connection = self.connection()?;
        if generation == self.latest_generation {
            meta::remove(connection, meta::GENERATION)?;
        }
        Ok(meta::set_number(connection, meta::GENERATION, generation)?)
    }

    /// Notes that a transaction was committed, with this generation if it made an fsync.
    pub(crate) fn note_commit(&mut self, generation: Option<u64>) {
        if let Some(generation) = generation {
            self.latest_generation = generation;
            self.unsynced = false;
            // The commit is durable. If its number cannot be written, the one that `lock` has is
            // less, as after a loss of power.
            let _ = self.lock.note_generation(generation);
        } else if self.durability == Durability::Unsynced {
            self.unsynced = true;
        }
    }

    /// Sets the mode of the transaction that begins next. [`WriteTransaction::begin`] alone calls
    /// it.
    pub(crate) fn set_durability(&mut self, durability: Durability) -> Result<(), StoreError> {
        if self.durability != durability {
            let synced = durability == Durability::Synced;
            let set = database::set_synchronous(self.connection()?, synced);
            self.noted(set.map_err(StoreError::from))?;
            self.durability = durability;
        }
        Ok(())
    }

    /// Moves a log that is beyond its limit into the database.
    fn keep_house(&mut self) -> Result<(), StoreError> {
        let limit = self.housekeeping.max_log_len;
        // Without a log there is nothing to move.
        if fs::metadata(self.directory.join(LOG)).is_ok_and(|log| log.len() > limit) {
            match self.checkpoint() {
                // A full medium is no error here: deletions may follow that free space, and the log
                // can still grow a little.
                Ok(()) | Err(StoreError::Full) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Begins a transaction that reads. Dropping it is its end.
    ///
    /// # Errors
    /// As [`Self::begin`].
    pub fn read(&mut self) -> Result<ReadTransaction<'_>, StoreError> {
        ReadTransaction::begin(self)
    }

    /// Opens the database again after [`StoreError::Uncertain`], and so finds out whether the
    /// commit happened, or whether a page that was damaged can be read now. The lock is kept in
    /// between.
    ///
    /// # Errors
    /// As [`Self::open`]. The store stays as it is, and this can be tried again.
    pub fn reopen(&mut self) -> Result<(), OpenStoreError> {
        self.connection = None;
        let opened = Opened::new(&self.directory, &self.key, &mut self.lock)?;
        self.take(opened);
        Ok(())
    }

    /// Moves the log into the database and truncates it, so that states which were replaced are
    /// gone from the files. If many messages were delivered since, their ids are sorted in first.
    ///
    /// # Errors
    /// [`StoreError::Full`]: the log is as it was. [`StoreError::Io`], [`StoreError::Uncertain`]:
    /// the medium failed; reopen the store if [`Self::is_uncertain`]. Nothing that was committed is
    /// lost to the process.
    pub fn checkpoint(&mut self) -> Result<(), StoreError> {
        self.sort_in()?;
        let moved = database::checkpoint(self.connection()?).map_err(StoreError::from);
        if matches!(moved, Err(ref error) if !matches!(error, StoreError::Full)) {
            // The kernel may have dropped writes of the log whose fsync failed, and no later fsync
            // repeats them. Reopening writes the log again.
            self.become_uncertain();
        }
        self.noted(moved)
    }

    /// Sorts recent messages in with the others, if they are many.
    fn sort_in(&mut self) -> Result<(), StoreError> {
        let many = self.housekeeping.many_recent;
        if self.recent.get_mut().as_ref().is_none_or(|recent| recent.len() < many) {
            return Ok(());
        }
        // The checkpoint, which comes next, makes the fsync.
        let transaction = WriteTransaction::begin(self, Durability::Unsynced)?;
        match transaction.sort_in().and_then(|()| transaction.commit()) {
            // The messages stay where they are, which needs no more space.
            Err(StoreError::Full) => Ok(()),
            sorted => sorted,
        }
    }

    /// Returns the index of the messages that were delivered last, and loads it if it is not in
    /// memory.
    pub(crate) fn recent(
        &self,
        connection: &Connection,
    ) -> Result<RefMut<'_, DeliveredIndex>, StoreError> {
        let mut recent = self.recent.borrow_mut();
        if recent.is_none() {
            *recent = Some(DeliveredIndex::load(connection)?);
        }
        RefMut::filter_map(recent, Option::as_mut).map_err(|_| StoreError::Ended)
    }

    /// The store knows it, and is asked again.
    pub(crate) fn forget_recent(&self) {
        self.recent.replace(None);
    }

    /// Drops the index between transactions if it holds too many entries that were not delivered.
    pub(crate) fn tidy_recent(&self) {
        self.recent.borrow_mut().take_if(|recent| recent.is_cluttered());
    }

    /// Closes the store: a checkpoint, and a note that the end was a good one.
    ///
    /// # Errors
    /// [`StoreError`]; everything that was committed is safe all the same.
    pub fn close(mut self) -> Result<(), StoreError> {
        self.finish()
    }

    /// The connection; errors are those of this store from here on.
    pub(crate) fn connection(&self) -> Result<&Connection, StoreError> {
        self.note.follow();
        self.connection.as_ref().ok_or(StoreError::Uncertain)
    }

    /// Ends the connection if it met trouble, and marks the lock if that was damage, so that the
    /// next opening looks for it.
    pub(crate) fn note_trouble(&mut self) {
        let Some(trouble) = self.note.take() else { return };
        if trouble == Trouble::Damaged {
            // If it cannot be marked, the next operation that meets the damage marks it.
            let _ = self.lock.set_damaged(true);
        }
        self.become_uncertain();
    }

    /// [`Self::note_trouble`] where no transaction does it.
    pub(crate) fn noted<T, E>(&mut self, result: Result<T, E>) -> Result<T, E> {
        self.note_trouble();
        result
    }

    /// Keeps the result of a check.
    pub(crate) fn note_check(&self, is_good: bool) {
        // As above.
        let _ = self.lock.set_damaged(!is_good);
    }

    /// Closes the connection after a failure that leaves the content of the database unknown.
    pub(crate) fn become_uncertain(&mut self) {
        self.connection = None;
    }

    pub(crate) fn load(
        directory: PathBuf,
        key_path: PathBuf,
        key: StoreKey,
        mut lock: Lock,
        housekeeping: Housekeeping,
    ) -> Result<Self, OpenStoreError> {
        let opened = Opened::new(&directory, &key, &mut lock)?;
        let mut store = Self {
            directory,
            key_path,
            key,
            lock,
            connection: None,
            note: Note::default(),
            id: [0; 16],
            generation: 0,
            latest_generation: 0,
            restored: false,
            restorations: 0,
            durability: Durability::Synced,
            unsynced: false,
            housekeeping,
            recent: RefCell::new(None),
            numbers_checked: Cell::new(false),
        };
        store.take(opened);
        Ok(store)
    }

    fn take(&mut self, opened: Opened) {
        self.forget_recent();
        self.numbers_checked.set(false);
        self.connection = Some(opened.connection);
        self.id = opened.id;
        self.generation = opened.generation;
        self.latest_generation = opened.generation;
        self.restored = opened.restored;
        self.restorations = opened.restorations;
        self.durability = Durability::Synced;
        self.unsynced = false;
    }

    fn finish(&mut self) -> Result<(), StoreError> {
        self.sort_in()?;
        self.note.follow();
        let Some(connection) = self.connection.take() else {
            return Err(StoreError::Uncertain);
        };
        let generation = self.latest_generation.saturating_add(1);
        meta::set_number(&connection, meta::GENERATION, generation)?;
        database::checkpoint(&connection)?;
        connection.close().map_err(|(_, error)| error)?;
        Ok(self.lock.set_generation(generation)?)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if self.connection.is_some() && !thread::panicking() {
            // A caller who wants the error calls `close`; what was committed is safe either way.
            let _ = self.finish();
        }
        self.note_trouble();
    }
}

/// A database that has passed all checks of opening.
struct Opened {
    connection: Connection,
    id: [u8; 16],
    generation: u64,
    restored: bool,
    restorations: u64,
}

impl Opened {
    fn new(directory: &Path, key: &StoreKey, lock: &mut Lock) -> Result<Self, OpenStoreError> {
        database::settle_log(&directory.join(LOG))?;
        // Before SQLite opens it: closing a file gives up all locks that the process has on it.
        if !integrity::has_salt(&directory.join(DATABASE), key)? {
            return Err(OpenStoreError::Damaged(Finding::Page(1)));
        }
        let mut connection = database::open(&directory.join(DATABASE), key)?;
        schema::check(&connection)?;
        let before = meta::number(&connection, meta::GENERATION)?;
        if lock.is_damaged()? {
            if let Some(finding) = integrity::quick(&connection)? {
                return Err(OpenStoreError::Damaged(finding));
            }
            lock.set_damaged(false)?;
        }

        let known = lock.generation()?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if before < known {
            meta::mark_restored(&transaction)?;
        }
        // Above what this machine saw, so that no number is met again.
        let generation = before.max(known).saturating_add(1);
        let restored = meta::is_restored(&transaction)? && meta::waits_for_reset(&transaction)?;
        if !restored {
            meta::write(&transaction, meta::RESTORED, &[0])?;
        }
        let id = meta::read(&transaction, meta::ID)?;
        let restorations = meta::number(&transaction, meta::RESTORATIONS)?;
        meta::set_number(&transaction, meta::GENERATION, generation)?;
        transaction.commit()?;
        lock.set_generation(generation)?;
        Ok(Self { connection, id, generation, restored, restorations })
    }
}

/// Larger than the log of a batch, and small enough to be moved in milliseconds: 4 MiB.
const MAX_LOG_LEN: u64 = 4 << 20;
