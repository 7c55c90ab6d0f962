//! Sessions with devices, with the states of their ratchets.

use endseal_crypto::secret::Zeroizing;
use rusqlite::Row;

use crate::address::{AddressRef, one};
use crate::error::StoreError;
use crate::store::transaction::{ReadTransaction, WriteTransaction};
use crate::{limits, rows};

/// Permission of a session or a group to send and receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionStatus {
    /// The session sends and receives.
    Active,
    /// Receiving alone: another session took its place.
    ReceiveOnly,
    /// Receiving, until it has been reset: the store was restored, and keys that come next in its
    /// chain may have been used.
    NeedsReset,
}

/// A session with a device.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
#[allow(clippy::exhaustive_structs, reason = "the caller makes rows; a field is a new schema")]
pub struct SessionRow {
    /// Tells the sessions with one device apart.
    pub tag: [u8; 8],
    /// Kind of the ratchet; the layer above numbers them.
    pub engine: u8,
    /// Permission to send and receive.
    pub status: SessionStatus,
    /// Time of the last use, in a unit of the layer above; at most 2^63 - 1.
    pub used: u64,
    /// The ratchet's state, encoded by the layer above.
    pub state: Zeroizing<Vec<u8>>,
}

/// A session without its state.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionSummary {
    /// Address of the device with which the session is.
    pub address: AddressRef,
    /// Tells the sessions with one device apart.
    pub tag: [u8; 8],
    /// Kind of the ratchet; the layer above numbers them.
    pub engine: u8,
    /// Permission to send and receive.
    pub status: SessionStatus,
    /// Time of the last use, in a unit of the layer above.
    pub used: u64,
    /// Length of the state in bytes.
    pub state_len: usize,
}

impl ReadTransaction<'_> {
    /// The sessions with a device, the one used last first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn sessions_of(&self, address: AddressRef) -> Result<Vec<SessionRow>, StoreError> {
        let mut select = self.statement(
            "SELECT tag, engine, standing, used, state FROM session WHERE address = ?1
             ORDER BY used DESC, tag",
        )?;
        let sessions = select.query_map([address.0], |row| {
            Ok(SessionRow {
                tag: rows::array(row, 0)?,
                engine: rows::number(row, 1)?,
                status: SessionStatus::read(row, 2)?,
                used: rows::number(row, 3)?,
                state: rows::secret(row, 4)?,
            })
        })?;
        Ok(sessions.collect::<Result<_, _>>()?)
    }

    /// All sessions, without their states.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn sessions(&self) -> Result<Vec<SessionSummary>, StoreError> {
        let mut select = self.statement(
            "SELECT address, tag, engine, standing, used, length(state) FROM session
             ORDER BY address, tag",
        )?;
        let sessions = select.query_map([], |row| {
            Ok(SessionSummary {
                address: AddressRef(row.get(0)?),
                tag: rows::array(row, 1)?,
                engine: rows::number(row, 2)?,
                status: SessionStatus::read(row, 3)?,
                used: rows::number(row, 4)?,
                state_len: rows::number(row, 5)?,
            })
        })?;
        Ok(sessions.collect::<Result<_, _>>()?)
    }
}

impl WriteTransaction<'_> {
    /// Removes all that belongs to the keys of one device: sessions, groups, ciphertexts that wait
    /// to be sent or to be opened, and positions in queues. Messages and records stay, and numbers
    /// of ciphertexts go on.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn remove_device_state(&self) -> Result<(), StoreError> {
        self.note_status();
        for table in ["session", "mls_epoch", "mls_group", "outbox", "parked", "cursor"] {
            self.connection()?.execute(&format!("DELETE FROM {table}"), [])?;
        }
        Ok(())
    }

    /// Writes a session, in the place of the one with its tag.
    ///
    /// # Errors
    /// [`StoreError::Reference`] if there is no such address, [`StoreError::Limit`].
    pub fn put_session(&self, address: AddressRef, session: &SessionRow) -> Result<(), StoreError> {
        limits::state(&session.state)?;
        let used = limits::number(session.used)?;
        self.statement(
            "INSERT INTO session VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT DO UPDATE SET engine = excluded.engine, standing = excluded.standing,
                                       used = excluded.used, state = excluded.state",
        )?
        .execute((
            address.0,
            session.tag,
            session.engine,
            session.status.number(),
            used,
            session.state.as_slice(),
        ))?;
        self.note_status();
        Ok(())
    }

    /// Changes the permission of a session to send and receive.
    ///
    /// # Errors
    /// [`StoreError::Reference`] if there is no such session.
    pub fn set_session_status(
        &self,
        address: AddressRef,
        tag: &[u8; 8],
        status: SessionStatus,
    ) -> Result<(), StoreError> {
        self.note_status();
        let mut update =
            self.statement("UPDATE session SET standing = ?3 WHERE address = ?1 AND tag = ?2")?;
        one(update.execute((address.0, tag, status.number()))?)
    }

    /// Removes a session. Returns true if there was one. Its state is overwritten in the database,
    /// and gone from the files after a [checkpoint](crate::Store::checkpoint).
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn remove_session(&self, address: AddressRef, tag: &[u8; 8]) -> Result<bool, StoreError> {
        self.note_status();
        let mut delete = self.statement("DELETE FROM session WHERE address = ?1 AND tag = ?2")?;
        Ok(delete.execute((address.0, tag))? > 0)
    }
}

impl SessionStatus {
    pub(crate) const fn number(self) -> u8 {
        match self {
            Self::Active => 0,
            Self::ReceiveOnly => 1,
            Self::NeedsReset => 2,
        }
    }

    pub(crate) fn read(row: &Row<'_>, column: usize) -> rusqlite::Result<Self> {
        match rows::number(row, column)? {
            0_u8 => Ok(Self::Active),
            1 => Ok(Self::ReceiveOnly),
            2 => Ok(Self::NeedsReset),
            other => Err(rusqlite::Error::IntegralValueOutOfRange(column, i64::from(other))),
        }
    }
}
