//! Small states of kinds that the layer above numbers.

use endseal_crypto::secret::Zeroizing;
use rusqlite::OptionalExtension as _;

use crate::error::StoreError;
use crate::store::transaction::{ReadTransaction, WriteTransaction};
use crate::{limits, rows};

impl ReadTransaction<'_> {
    /// The record of a kind and name.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn record(&self, kind: u32, name: &[u8]) -> Result<Option<Zeroizing<Vec<u8>>>, StoreError> {
        let mut select =
            self.statement("SELECT value FROM record WHERE kind = ?1 AND name = ?2")?;
        Ok(select.query_row((kind, name), |row| rows::secret(row, 0)).optional()?)
    }

    /// All records of a kind, with their names, in the order of these.
    ///
    /// # Errors
    /// [`StoreError`].
    #[allow(clippy::type_complexity, reason = "a list of names with their values")]
    pub fn records(&self, kind: u32) -> Result<Vec<(Vec<u8>, Zeroizing<Vec<u8>>)>, StoreError> {
        let mut select =
            self.statement("SELECT name, value FROM record WHERE kind = ?1 ORDER BY name")?;
        let records =
            select.query_map([kind], |row| Ok((rows::bytes(row, 0)?, rows::secret(row, 1)?)))?;
        Ok(records.collect::<Result<_, _>>()?)
    }
}

impl WriteTransaction<'_> {
    /// Writes a record, in the place of the one of that kind and name. The name may be empty.
    ///
    /// # Errors
    /// [`StoreError::Limit`] for a name beyond 64 bytes or a value beyond 16 MiB.
    pub fn put_record(&self, kind: u32, name: &[u8], value: &[u8]) -> Result<(), StoreError> {
        limits::record_name(name)?;
        limits::state(value)?;
        self.statement(
            "INSERT INTO record VALUES (?1, ?2, ?3)
             ON CONFLICT DO UPDATE SET value = excluded.value",
        )?
        .execute((kind, name, value))?;
        Ok(())
    }

    /// Removes a record; whether there was one.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn remove_record(&self, kind: u32, name: &[u8]) -> Result<bool, StoreError> {
        let mut delete = self.statement("DELETE FROM record WHERE kind = ?1 AND name = ?2")?;
        Ok(delete.execute((kind, name))? > 0)
    }
}
