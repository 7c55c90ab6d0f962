//! Ciphertexts that cannot be opened yet, and are tried again when their conversation moves.

use crate::conversation::ConversationRef;
use crate::error::StoreError;
use crate::messages::Messages;
use crate::store::transaction::{ReadTransaction, WriteTransaction};
use crate::{limits, rows};

/// A ciphertext that could not be decrypted yet and is kept for a later attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "the caller makes rows; a field is a new schema")]
pub struct ParkedRow {
    /// Id of the message, unique in its conversation.
    pub message: Vec<u8>,
    /// Number of the sending device; 0 in a group.
    pub device: u32,
    /// Reason, numbered by the layer above.
    pub reason: u8,
    /// Epoch of the group that the ciphertext names; 0 outside groups. At most 2^63 - 1.
    pub epoch: u64,
    /// The ciphertext, as it was received.
    pub body: Vec<u8>,
}

/// Parked ciphertexts of one conversation for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParkedTotal {
    /// Conversation whose ciphertexts are counted.
    pub conversation: ConversationRef,
    /// Reason for which they are parked, numbered by the layer above.
    pub reason: u8,
    /// Number of parked ciphertexts.
    pub messages: u64,
    /// Sum of their lengths in bytes.
    pub bytes: u64,
    /// Place of the last one in the order of arrival of the conversation.
    pub last_place: u64,
    /// Id of the message that is last in the order of arrival.
    pub last: Vec<u8>,
}

impl Messages<'_> {
    /// Parks a ciphertext behind the others of its conversation. If a message of that id is parked,
    /// its reason and epoch are replaced.
    ///
    /// # Errors
    /// [`StoreError::Limit`].
    pub fn park(
        &mut self,
        conversation: ConversationRef,
        row: &ParkedRow,
    ) -> Result<(), StoreError> {
        limits::name(&row.message)?;
        limits::body(&row.body)?;
        let epoch = limits::number(row.epoch)?;
        let mut insert = self.transaction().statement(
            "INSERT INTO parked VALUES (?1,
                 (SELECT 1 + coalesce(max(seq), 0) FROM parked WHERE conversation = ?1),
                 ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (conversation, message) DO UPDATE
                 SET reason = excluded.reason, epoch = excluded.epoch",
        )?;
        insert.execute((
            conversation.0,
            &row.message,
            row.device,
            row.reason,
            epoch,
            row.body.as_slice(),
        ))?;
        Ok(())
    }

    /// Parked ciphertexts of a conversation, in the order of arrival.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn parked(&mut self, conversation: ConversationRef) -> Result<Vec<ParkedRow>, StoreError> {
        let mut select = self.transaction().statement(
            "SELECT message, device, reason, epoch, body FROM parked
             WHERE conversation = ?1 ORDER BY seq",
        )?;
        let parked = select.query_map([conversation.0], |row| {
            Ok(ParkedRow {
                message: rows::bytes(row, 0)?,
                device: rows::number(row, 1)?,
                reason: rows::number(row, 2)?,
                epoch: rows::number(row, 3)?,
                body: rows::bytes(row, 4)?,
            })
        })?;
        Ok(parked.collect::<Result<_, _>>()?)
    }

    /// Removes a parked ciphertext; returns whether there was one.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn unpark(
        &mut self,
        conversation: ConversationRef,
        message: &[u8],
    ) -> Result<bool, StoreError> {
        let mut delete = self
            .transaction()
            .statement("DELETE FROM parked WHERE conversation = ?1 AND message = ?2")?;
        Ok(delete.execute((conversation.0, message))? > 0)
    }
}

impl ReadTransaction<'_> {
    /// Totals of all conversations that have parked ciphertexts, those of a conversation after each
    /// other.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn parked_totals(&self) -> Result<Vec<ParkedTotal>, StoreError> {
        let mut select = self.statement(
            // SQLite takes the bare column from the row that has the maximum.
            "SELECT conversation, reason, count(*), sum(length(body)), max(seq), message FROM parked
             GROUP BY conversation, reason ORDER BY conversation, reason",
        )?;
        let totals = select.query_map([], |row| {
            Ok(ParkedTotal {
                conversation: ConversationRef(row.get(0)?),
                reason: rows::number(row, 1)?,
                messages: rows::number(row, 2)?,
                bytes: rows::number(row, 3)?,
                last_place: rows::number(row, 4)?,
                last: rows::bytes(row, 5)?,
            })
        })?;
        Ok(totals.collect::<Result<_, _>>()?)
    }
}

impl WriteTransaction<'_> {
    /// Removes all parked ciphertexts of a conversation; returns their number.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn unpark_all(&self, conversation: ConversationRef) -> Result<usize, StoreError> {
        Ok(self
            .statement("DELETE FROM parked WHERE conversation = ?1")?
            .execute([conversation.0])?)
    }
}
