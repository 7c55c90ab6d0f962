//! Positions up to which the queues of servers are read.

use rusqlite::OptionalExtension as _;

use crate::error::StoreError;
use crate::store::transaction::{ReadTransaction, WriteTransaction};
use crate::{limits, rows};

impl ReadTransaction<'_> {
    /// Returns the position up to which a queue is read; `None` if none was kept.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn cursor(&self, queue: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let mut select = self.statement("SELECT position FROM cursor WHERE queue = ?1")?;
        Ok(select.query_row([queue], |row| rows::bytes(row, 0)).optional()?)
    }
}

impl WriteTransaction<'_> {
    /// Keeps how far a queue is read.
    ///
    /// # Errors
    /// [`StoreError::Limit`].
    pub fn set_cursor(&self, queue: &[u8], position: &[u8]) -> Result<(), StoreError> {
        limits::name(queue)?;
        limits::body(position)?;
        self.statement(
            "INSERT INTO cursor VALUES (?1, ?2)
             ON CONFLICT DO UPDATE SET position = excluded.position",
        )?
        .execute((queue, position))?;
        Ok(())
    }
}
