//! Counts and sizes of a store, for metrics and for people.

use std::fs;

use crate::directory::{DATABASE, LOG};
use crate::error::StoreError;
use crate::store::Store;
use crate::{delivered_index, inbox_table, rows};

/// Counts and sizes of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// The rows of each table; of `seen`, all messages that were delivered and are remembered, and
    /// of `inbox` the messages.
    pub rows: Vec<(&'static str, u64)>,
    /// Length of the database in bytes.
    pub database_len: u64,
    /// Length of its log in bytes.
    pub log_len: u64,
    /// Pages of the database, those in the log included.
    pub pages: u64,
    /// Pages that hold nothing and are used again first.
    pub free_pages: u64,
    /// The generation of the store, [`Store::generation`].
    pub generation: u64,
    /// True if the store was restored from a backup, [`Store::is_restored`].
    pub restored: bool,
}

impl Store {
    /// Counts the rows of all tables, and reads the sizes of the files.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn statistics(&mut self) -> Result<Statistics, StoreError> {
        let counted = self.count();
        self.noted(counted)
    }

    fn count(&self) -> Result<Statistics, StoreError> {
        let connection = self.connection()?;
        let number = |sql: &str| connection.query_row(sql, [], |row| rows::number(row, 0));
        let mut packed = 0;
        delivered_index::each(connection, |_, _| packed += 1)?;
        let rows: Result<_, rusqlite::Error> = TABLES
            .iter()
            .map(|table| {
                if *table == INBOX {
                    return Ok((*table, inbox_table::len(connection)?));
                }
                let rows = number(&format!("SELECT count(*) FROM {table}"))?;
                Ok((*table, if *table == SEEN { rows + packed } else { rows }))
            })
            .collect();
        let len = |name| fs::metadata(self.directory.join(name)).map(|file| file.len());
        Ok(Statistics {
            rows: rows?,
            database_len: len(DATABASE)?,
            log_len: len(LOG).unwrap_or(0),
            pages: number("PRAGMA page_count")?,
            free_pages: number("PRAGMA freelist_count")?,
            generation: self.generation(),
            restored: self.is_restored(),
        })
    }
}

/// Its latest rows are in packs.
const SEEN: &str = "seen";

/// A row is several messages.
const INBOX: &str = "inbox";

const TABLES: &[&str] = &[
    "record",
    "address",
    "conversation",
    "session",
    "mls_group",
    "mls_epoch",
    SEEN,
    INBOX,
    "parked",
    "outbox",
    "cursor",
];
