//! Transactions: all of it or nothing.

use core::cell::{Cell, RefCell, RefMut};

use rusqlite::{CachedStatement, Connection, TransactionBehavior};

use crate::error::StoreError;
use crate::error::convert::is_full;
use crate::inbox::pack::Packed;
use crate::inbox::{self, Changes};
use crate::recent::{self, Recent};
use crate::store::Store;
use crate::{check, meta};

/// A transaction. Dropped without [`Self::commit`], nothing of it happened.
///
/// It sees its own writes. An operation that fails changes nothing by itself, and the transaction can go
/// on, except after [`StoreError::Io`] and [`StoreError::Full`], where it can only be dropped.
#[allow(missing_debug_implementations, reason = "nothing of it is for people")]
pub struct Transaction<'s> {
    store: &'s mut Store,
    /// Whether there is something to roll back.
    open: bool,
    /// The last number given out in the inbox, once it is known.
    seq: Cell<Option<u64>>,
    /// Whether `seq` is another than in the database.
    seq_moved: Cell<bool>,
    /// Whether a session or group changed, so that none may wait for a reset any more.
    standing_moved: Cell<bool>,
    /// Whether recent messages are others in memory than they were before.
    recent_moved: Cell<bool>,
    /// What was delivered and consumed, and is not in the table of the inbox yet.
    pub(crate) inbox: RefCell<Changes>,
    /// Whether it was left half done by an error, and must not be committed.
    spoilt: Cell<bool>,
}

impl<'s> Transaction<'s> {
    pub(crate) fn begin(
        store: &'s mut Store,
        behavior: TransactionBehavior,
    ) -> Result<Self, StoreError> {
        let sql = match behavior {
            TransactionBehavior::Immediate => "BEGIN IMMEDIATE",
            _ => "BEGIN",
        };
        store.connection()?.prepare_cached(sql)?.execute([])?;
        Ok(Self {
            store,
            open: true,
            seq: Cell::new(None),
            seq_moved: Cell::new(false),
            standing_moved: Cell::new(false),
            recent_moved: Cell::new(false),
            inbox: RefCell::new(Changes::new()),
            spoilt: Cell::new(false),
        })
    }

    /// Makes everything durable.
    ///
    /// # Errors
    /// [`StoreError::Uncertain`] if the medium failed so that it may have happened or not: reopen the
    /// store. With every other error nothing happened.
    pub fn commit(mut self) -> Result<(), StoreError> {
        if self.spoilt.get() {
            return Err(StoreError::Ended);
        }
        self.write_inbox()?;
        self.write_recent()?;
        if let (true, Some(seq)) = (self.seq_moved.get(), self.seq.get()) {
            meta::set_number(self.connection()?, meta::SEQ, seq)?;
        }
        let mut restored = self.store.restored;
        if restored && self.standing_moved.get() {
            restored = meta::waits_for_reset(self.connection()?)?;
            if !restored {
                meta::write(self.connection()?, meta::RESTORED, &[0])?;
            }
        }
        let committed = self.connection()?.prepare_cached("COMMIT")?.execute([]);
        match committed {
            Ok(_) => {
                self.open = false;
                self.store.tidy_recent();
                self.store.restored = restored;
                Ok(())
            }
            Err(error) if is_full(&error) && self.roll_back() => Err(StoreError::Full),
            Err(_) => {
                self.open = false;
                self.store.become_uncertain();
                Err(StoreError::Uncertain)
            }
        }
    }

    /// Encrypts and writes the pages that changed so far, which is work of the commit otherwise: for whoever
    /// has a thread that would only wait. Pages that change again are written again, and nothing of it is
    /// valid before the commit.
    ///
    /// # Errors
    /// [`StoreError::Full`], [`StoreError::Io`]: the transaction can only be dropped.
    pub fn write_ahead(&self) -> Result<(), StoreError> {
        let written = self.connection()?.cache_flush();
        Ok(written.inspect_err(|_| self.spoil())?)
    }

    /// The connection, in this transaction. SQLite rolls back by itself when a statement finds no room
    /// or the medium fails; every statement after that would be a transaction of its own.
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

    /// Before numbers are given out: that none above them is taken.
    pub(crate) fn begin_numbers(&self) -> Result<(), StoreError> {
        if !self.store.numbers_checked.get() {
            if inbox::last(self.connection()?)? > self.seq()? {
                return Err(StoreError::Damaged(check::number_above()));
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

    /// The messages that were delivered last, to be looked through or added to.
    pub(crate) fn recent(&self) -> Result<RefMut<'_, Recent>, StoreError> {
        self.store.recent(self.connection()?)
    }

    /// Before recent messages change in memory.
    pub(crate) fn note_recent(&self) {
        self.recent_moved.set(true);
    }

    /// Writes what was delivered to where it is found again.
    fn write_recent(&self) -> Result<(), StoreError> {
        if self.recent_moved.get() { self.recent()?.write(self.connection()?) } else { Ok(()) }
    }

    /// Sorts the messages that were delivered last in with the others.
    pub(crate) fn sort_in(&self) -> Result<(), StoreError> {
        self.write_recent()?;
        self.note_recent();
        self.store.forget_recent();
        recent::sort_in(self.connection()?)
    }

    /// After an error that left something half done.
    pub(crate) fn spoil(&self) {
        self.spoilt.set(true);
    }

    pub(crate) fn note_standing(&self) {
        self.standing_moved.set(true);
    }

    /// Whether nothing of the transaction is left.
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

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if self.open && !self.roll_back() {
            self.store.become_uncertain();
        }
    }
}
