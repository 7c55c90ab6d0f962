//! Ciphertexts that wait for a later epoch of their group.

use crate::conversation::ConversationRef;
use crate::error::StoreError;
use crate::messages::Messages;
use crate::transaction::ReadTransaction;
use crate::{limits, rows};

/// A ciphertext that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BufferedRow {
    /// The epoch that it waits for.
    pub epoch: u64,
    /// Its place among those of its epoch, in the order of arrival.
    pub seq: u64,
    /// The message's id.
    pub message: Vec<u8>,
    /// The ciphertext.
    pub body: Vec<u8>,
}

impl Messages<'_> {
    /// Keeps a ciphertext until its epoch comes; whether it was not kept already.
    ///
    /// # Errors
    /// [`StoreError::Limit`].
    pub fn buffer(
        &mut self,
        conversation: ConversationRef,
        epoch: u64,
        message: &[u8],
        body: &[u8],
    ) -> Result<bool, StoreError> {
        limits::name(message)?;
        limits::body(body)?;
        let epoch = limits::number(epoch)?;
        let mut insert = self.transaction().statement(
            "INSERT INTO buffered VALUES (?1, ?2,
                 (SELECT 1 + coalesce(max(seq), 0) FROM buffered
                  WHERE conversation = ?1 AND epoch = ?2),
                 ?3, ?4)
             ON CONFLICT (conversation, message) DO NOTHING",
        )?;
        Ok(insert.execute((conversation.0, epoch, message, body))? > 0)
    }

    /// All that waits in a conversation, by epoch and in the order of arrival.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn buffered(
        &mut self,
        conversation: ConversationRef,
    ) -> Result<Vec<BufferedRow>, StoreError> {
        let mut select = self.transaction().statement(
            "SELECT epoch, seq, message, body FROM buffered
             WHERE conversation = ?1 ORDER BY epoch, seq",
        )?;
        let waiting = select.query_map([conversation.0], |row| {
            Ok(BufferedRow {
                epoch: rows::number(row, 0)?,
                seq: rows::number(row, 1)?,
                message: rows::bytes(row, 2)?,
                body: rows::bytes(row, 3)?,
            })
        })?;
        Ok(waiting.collect::<Result<_, _>>()?)
    }

    /// Removes a ciphertext that need not wait any more; whether there was one.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn unbuffer(
        &mut self,
        conversation: ConversationRef,
        message: &[u8],
    ) -> Result<bool, StoreError> {
        let mut delete = self
            .transaction()
            .statement("DELETE FROM buffered WHERE conversation = ?1 AND message = ?2")?;
        Ok(delete.execute((conversation.0, message))? > 0)
    }
}

impl ReadTransaction<'_> {
    /// How many ciphertexts of a conversation wait: the layer above bounds them.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn buffered_len(&self, conversation: ConversationRef) -> Result<u64, StoreError> {
        let mut select = self.statement("SELECT count(*) FROM buffered WHERE conversation = ?1")?;
        Ok(select.query_row([conversation.0], |row| rows::number(row, 0))?)
    }
}
