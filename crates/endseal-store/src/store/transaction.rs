//! Transactions: all of it or nothing.

use core::cell::{Cell, RefCell, RefMut};
use core::ops::Deref;

use rusqlite::{CachedStatement, Connection};

use super::Store;
use crate::delivered_index::{self, DeliveredIndex};
use crate::error::convert::is_full;
use crate::error::{Finding, StoreError};
use crate::inbox_table::pack::Packed;
use crate::inbox_table::{self, Changes};
use crate::meta;

/// Fsync of a commit. A transaction has it from its begin, and nothing changes it afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// The commit returns after the fsync.
    Synced,
    /// A later commit, or a checkpoint, makes the fsync.
    Unsynced,
}

/// A transaction that reads. Dropping it is its end.
///
/// After [`StoreError::Io`] it can only be dropped.
#[allow(missing_debug_implementations, reason = "nothing of it is for people")]
pub struct ReadTransaction<'s> {
    store: &'s mut Store,
    /// True while there is something to roll back.
    open: bool,
    /// The last number given out in the inbox, once it is known.
    seq: Cell<Option<u64>>,
    /// True if `seq` differs from the database.
    seq_moved: Cell<bool>,
    /// True if a session or group changed, so that the last reset may have happened.
    status_moved: Cell<bool>,
    /// True if recent messages in memory differ from those before the transaction.
    recent_moved: Cell<bool>,
    /// Deliveries and consumptions that are not in the table of the inbox yet.
    pub(crate) inbox: RefCell<Changes>,
    /// True after an error that left something half done: a commit is refused.
    spoilt: Cell<bool>,
    /// Rows that the connection had changed before.
    changes: u64,
}

/// A transaction that reads and writes. Dropped without [`Self::commit`], nothing of it happened.
///
/// It sees its own writes. An operation that fails changes nothing by itself, and the transaction
/// can go on, except after [`StoreError::Io`] and [`StoreError::Full`], where it can only be
/// dropped.
#[allow(missing_debug_implementations, reason = "nothing of it is for people")]
pub struct WriteTransaction<'s>(ReadTransaction<'s>);

impl<'s> Deref for WriteTransaction<'s> {
    type Target = ReadTransaction<'s>;

    fn deref(&self) -> &ReadTransaction<'s> {
        &self.0
    }
}

impl<'s> WriteTransaction<'s> {
    /// Begins a transaction whose commit is as durable as `durability` says. SQLite has one mode
    /// for the connection; it is set here and nowhere else, because SQLite refuses it within a
    /// transaction.
    pub(crate) fn begin(store: &'s mut Store, durability: Durability) -> Result<Self, StoreError> {
        store.set_durability(durability)?;
        ReadTransaction::begin_with(store, "BEGIN IMMEDIATE").map(Self)
    }

    /// Commits the transaction, and makes all of its changes durable.
    ///
    /// # Errors
    /// [`StoreError::Uncertain`] if the medium failed so that the commit may or may not have
    /// happened: reopen the store. With every other error nothing happened.
    pub fn commit(self) -> Result<(), StoreError> {
        let mut inner = self.0;
        if inner.spoilt.get() {
            return Err(StoreError::Ended);
        }
        inner.write_inbox()?;
        inner.write_recent()?;
        if let (true, Some(seq)) = (inner.seq_moved.get(), inner.seq.get()) {
            meta::set_number(inner.connection()?, meta::SEQ, seq)?;
        }
        let mut restored = inner.store.restored;
        if restored && inner.status_moved.get() {
            restored = meta::waits_for_reset(inner.connection()?)?;
            if !restored {
                meta::write(inner.connection()?, meta::RESTORED, &[0])?;
            }
        }
        let changes = inner.connection()?.total_changes() != inner.changes;
        let generation = inner.store.next_generation(changes);
        if let Some(generation) = generation {
            inner.store.write_generation(generation)?;
        }
        let committed = inner.connection()?.prepare_cached("COMMIT")?.execute([]);
        match committed {
            Ok(_) => {
                inner.open = false;
                inner.store.note_commit(generation);
                inner.store.tidy_recent();
                inner.store.restored = restored;
                Ok(())
            }
            Err(error) if is_full(&error) && inner.roll_back() => Err(StoreError::Full),
            Err(_) => {
                inner.open = false;
                inner.store.become_uncertain();
                Err(StoreError::Uncertain)
            }
        }
    }

    /// Writes dirty pages to the log now, so that [`Self::commit`] has less to do. Useful on an
    /// otherwise idle thread. Pages that change again are written again, and nothing of it is valid
    /// before the commit.
    ///
    /// # Errors
    /// [`StoreError::Full`], [`StoreError::Io`]: the transaction can only be dropped.
    pub fn write_ahead(&self) -> Result<(), StoreError> {
        let written = self.connection()?.cache_flush();
        Ok(written.inspect_err(|_| self.spoil())?)
    }
}

impl<'s> ReadTransaction<'s> {
    pub(crate) fn begin(store: &'s mut Store) -> Result<Self, StoreError> {
        Self::begin_with(store, "BEGIN")
    }

    fn begin_with(store: &'s mut Store, sql: &'static str) -> Result<Self, StoreError> {
        let connection = store.connection()?;
        let started = connection.prepare_cached(sql).and_then(|mut begin| begin.execute([]));
        let changes = connection.total_changes();
        store.noted(started.map_err(StoreError::from))?;
        Ok(Self {
            store,
            open: true,
            seq: Cell::new(None),
            seq_moved: Cell::new(false),
            status_moved: Cell::new(false),
            recent_moved: Cell::new(false),
            inbox: RefCell::new(Changes::new()),
            spoilt: Cell::new(false),
            changes,
        })
    }

    /// The connection, within this transaction. SQLite rolls back by itself when the medium is full
    /// or fails; every later statement would then be a transaction of its own.
    pub(crate) fn connection(&self) -> Result<&Connection, StoreError> {
        let connection = self.store.connection()?;
        if connection.is_autocommit() { Err(StoreError::Ended) } else { Ok(connection) }
    }

    /// A statement of this crate. It is prepared once for each connection.
    pub(crate) fn statement(&self, sql: &'static str) -> Result<CachedStatement<'_>, StoreError> {
        Ok(self.connection()?.prepare_cached(sql)?)
    }

    /// The last number given out in the inbox.
    pub(crate) fn seq(&self) -> Result<u64, StoreError> {
        if let Some(seq) = self.seq.get() {
            return Ok(seq);
        }
        let seq = meta::number(self.connection()?, meta::SEQ)?;
        self.seq.set(Some(seq));
        Ok(seq)
    }

    /// Gives out a number; it is written when the transaction is committed.
    pub(crate) fn set_seq(&self, seq: u64) {
        self.seq.set(Some(seq));
        self.seq_moved.set(true);
    }

    /// Checks, before numbers are assigned, that no row of the inbox has a higher number than the
    /// last one.
    pub(crate) fn begin_numbers(&self) -> Result<(), StoreError> {
        if !self.store.numbers_checked.get() {
            if inbox_table::last(self.connection()?)? > self.seq()? {
                return Err(StoreError::Damaged(Finding::number_above()));
            }
            self.store.numbers_checked.set(true);
        }
        Ok(())
    }

    /// Adds messages to the inbox.
    pub(crate) fn put<'a>(
        &self,
        mut messages: impl Iterator<Item = Packed<'a>>,
    ) -> Result<(), StoreError> {
        let (connection, mut inbox) = (self.connection()?, self.inbox.borrow_mut());
        messages.try_for_each(|message| inbox.add(connection, &message))
    }

    /// Writes what was delivered and consumed, before the inbox is read or the transaction
    /// committed.
    pub(crate) fn write_inbox(&self) -> Result<(), StoreError> {
        self.inbox.borrow_mut().write(self.connection()?)
    }

    /// The messages that were delivered last, to be looked through or added to.
    pub(crate) fn recent(&self) -> Result<RefMut<'_, DeliveredIndex>, StoreError> {
        self.store.recent(self.connection()?)
    }

    /// Before recent messages change in memory.
    pub(crate) fn note_recent(&self) {
        self.recent_moved.set(true);
    }

    /// Writes what was delivered to where it is found again.
    pub(crate) fn write_recent(&self) -> Result<(), StoreError> {
        if self.recent_moved.get() { self.recent()?.write(self.connection()?) } else { Ok(()) }
    }

    /// Sorts the messages that were delivered last in with the others.
    pub(crate) fn sort_in(&self) -> Result<(), StoreError> {
        self.write_recent()?;
        self.note_recent();
        self.store.forget_recent();
        delivered_index::sort_in(self.connection()?)
    }

    /// After an error that left something half done.
    pub(crate) fn spoil(&self) {
        self.spoilt.set(true);
    }

    pub(crate) fn note_status(&self) {
        self.status_moved.set(true);
    }

    /// Rolls back. Returns true if nothing of the transaction is left.
    fn roll_back(&mut self) -> bool {
        self.open = false;
        if self.recent_moved.get() {
            self.store.forget_recent();
        }
        self.store.connection().is_ok_and(|connection| {
            // SQLite may have rolled back by itself, and then says that there is nothing to do.
            connection.is_autocommit() || connection.execute_batch("ROLLBACK").is_ok()
        })
    }
}

impl Drop for ReadTransaction<'_> {
    fn drop(&mut self) {
        if self.open && !self.roll_back() {
            self.store.become_uncertain();
        }
        self.store.note_trouble();
    }
}
