//! Ciphertexts that may have been sent, until whoever carries them says that they were.

use rusqlite::types::ValueRef;

use crate::address::AddressRef;
use crate::conversation::ConversationRef;
use crate::error::StoreError;
use crate::transaction::{ReadTransaction, WriteTransaction};
use crate::{limits, rows};

/// A ciphertext to be sent, as often as it takes, and never made anew.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutboxRow {
    /// Its number, which no other ever had or gets; later ones have higher ones.
    pub seq: u64,
    /// Where it belongs.
    pub conversation: ConversationRef,
    /// For whom; nobody in particular in a group.
    pub recipient: Option<AddressRef>,
    /// The ciphertext.
    pub body: Vec<u8>,
}

impl ReadTransaction<'_> {
    /// At most `limit` ciphertexts with numbers above `after`, in their order.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn outbox(&self, after: u64, limit: usize) -> Result<Vec<OutboxRow>, StoreError> {
        let Ok(after) = limits::number(after) else { return Ok(Vec::new()) };
        let mut select = self.statement(
            "SELECT seq, conversation, recipient, body FROM outbox
             WHERE seq > ?1 ORDER BY seq LIMIT ?2",
        )?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let waiting = select.query_map((after, limit), |row| {
            Ok(OutboxRow {
                seq: rows::number(row, 0)?,
                conversation: ConversationRef(row.get(1)?),
                recipient: match row.get_ref(2)? {
                    ValueRef::Null => None,
                    _ => Some(AddressRef(row.get(2)?)),
                },
                body: rows::bytes(row, 3)?,
            })
        })?;
        Ok(waiting.collect::<Result<_, _>>()?)
    }
}

impl WriteTransaction<'_> {
    /// Adds a ciphertext; the number that it gets. It may leave the machine once this is committed,
    /// together with the state that made it.
    ///
    /// # Errors
    /// [`StoreError::Limit`].
    pub fn push_outbox(
        &self,
        conversation: ConversationRef,
        recipient: Option<AddressRef>,
        body: &[u8],
    ) -> Result<u64, StoreError> {
        limits::body(body)?;
        let mut insert = self
            .statement("INSERT INTO outbox (conversation, recipient, body) VALUES (?1, ?2, ?3)")?;
        let seq = insert.insert((conversation.0, recipient.map(|address| address.0), body))?;
        u64::try_from(seq).map_err(|_| StoreError::Limit(crate::Limit::Number))
    }

    /// Removes a ciphertext that was sent; whether it was there.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn sent(&self, seq: u64) -> Result<bool, StoreError> {
        let Ok(seq) = limits::number(seq) else { return Ok(false) };
        Ok(self.statement("DELETE FROM outbox WHERE seq = ?1")?.execute([seq])? > 0)
    }
}
