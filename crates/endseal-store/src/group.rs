//! States of MLS groups, and of their past epochs.

use endseal_crypto::secret::Zeroizing;
use rusqlite::OptionalExtension as _;

use crate::error::StoreError;
use crate::session::SessionStatus;
use crate::store::transaction::{ReadTransaction, WriteTransaction};
use crate::{limits, rows};

/// State of a group, with its epoch and its permission to send and receive.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
#[allow(clippy::exhaustive_structs, reason = "the caller makes rows; a field is a new schema")]
pub struct GroupRow {
    /// Permission to send and receive.
    pub status: SessionStatus,
    /// The epoch that `state` is of; at most 2^63 - 1.
    pub epoch: u64,
    /// The group's state, encoded by the layer above.
    pub state: Zeroizing<Vec<u8>>,
}

impl ReadTransaction<'_> {
    /// The state of a group.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn group(&self, name: &[u8]) -> Result<Option<GroupRow>, StoreError> {
        let mut select =
            self.statement("SELECT standing, epoch, state FROM mls_group WHERE name = ?1")?;
        let group = select.query_row([name], |row| {
            Ok(GroupRow {
                status: SessionStatus::read(row, 0)?,
                epoch: rows::number(row, 1)?,
                state: rows::secret(row, 2)?,
            })
        });
        Ok(group.optional()?)
    }

    /// Names of all groups, in their order.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn groups(&self) -> Result<Vec<Vec<u8>>, StoreError> {
        let mut select = self.statement("SELECT name FROM mls_group ORDER BY name")?;
        Ok(select.query_map([], |row| rows::bytes(row, 0))?.collect::<Result<_, _>>()?)
    }

    /// The state of a past epoch.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn group_epoch(
        &self,
        name: &[u8],
        epoch: u64,
    ) -> Result<Option<Zeroizing<Vec<u8>>>, StoreError> {
        // There is none beyond what can be written.
        let Ok(epoch) = limits::number(epoch) else { return Ok(None) };
        let mut select =
            self.statement("SELECT state FROM mls_epoch WHERE name = ?1 AND epoch = ?2")?;
        Ok(select.query_row((name, epoch), |row| rows::secret(row, 0)).optional()?)
    }

    /// The latest of the epochs that are kept.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn max_group_epoch(&self, name: &[u8]) -> Result<Option<u64>, StoreError> {
        let mut select = self
            .statement("SELECT epoch FROM mls_epoch WHERE name = ?1 ORDER BY epoch DESC LIMIT 1")?;
        Ok(select.query_row([name], |row| rows::number(row, 0)).optional()?)
    }
}

impl WriteTransaction<'_> {
    /// Writes a group's state, in the place of the one before.
    ///
    /// # Errors
    /// [`StoreError::Limit`].
    pub fn put_group(&self, name: &[u8], group: &GroupRow) -> Result<(), StoreError> {
        limits::name(name)?;
        limits::state(&group.state)?;
        let epoch = limits::number(group.epoch)?;
        self.statement(
            "INSERT INTO mls_group VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT DO UPDATE SET standing = excluded.standing, epoch = excluded.epoch,
                                       state = excluded.state",
        )?
        .execute((name, group.status.number(), epoch, group.state.as_slice()))?;
        self.note_status();
        Ok(())
    }

    /// Removes a group and its epochs; whether there was one.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn remove_group(&self, name: &[u8]) -> Result<bool, StoreError> {
        self.note_status();
        self.statement("DELETE FROM mls_epoch WHERE name = ?1")?.execute([name])?;
        Ok(self.statement("DELETE FROM mls_group WHERE name = ?1")?.execute([name])? > 0)
    }

    /// Writes the state of a past epoch.
    ///
    /// # Errors
    /// [`StoreError::Limit`].
    pub fn put_group_epoch(&self, name: &[u8], epoch: u64, state: &[u8]) -> Result<(), StoreError> {
        limits::name(name)?;
        limits::state(state)?;
        self.statement(
            "INSERT INTO mls_epoch VALUES (?1, ?2, ?3)
             ON CONFLICT DO UPDATE SET state = excluded.state",
        )?
        .execute((name, limits::number(epoch)?, state))?;
        Ok(())
    }

    /// Removes the epochs before `below`; how many there were.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn trim_group_epochs(&self, name: &[u8], below: u64) -> Result<u64, StoreError> {
        let below = limits::number(below)?;
        let mut delete = self.statement("DELETE FROM mls_epoch WHERE name = ?1 AND epoch < ?2")?;
        let removed = delete.execute((name, below))?;
        Ok(u64::try_from(removed).unwrap_or(u64::MAX))
    }
}
