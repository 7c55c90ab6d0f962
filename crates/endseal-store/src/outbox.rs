//! Ciphertexts that may have been sent, until the delivery service confirms them.

use rusqlite::OptionalExtension as _;
use rusqlite::types::ValueRef;

use crate::address::AddressRef;
use crate::conversation::ConversationRef;
use crate::error::StoreError;
use crate::store::transaction::{ReadTransaction, WriteTransaction};
use crate::{limits, rows};

/// A ciphertext to be sent, repeatedly until it is confirmed. It is never encrypted again.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutboxRow {
    /// Number of the ciphertext. It is never used again; later ciphertexts have higher numbers.
    pub seq: u64,
    /// Conversation to which the ciphertext belongs.
    pub conversation: ConversationRef,
    /// Address of the recipient; `None` for a group.
    pub recipient: Option<AddressRef>,
    /// Kind of the ciphertext, numbered by the layer above.
    pub kind: u8,
    /// The ciphertext, as it is sent.
    pub body: Vec<u8>,
}

/// Relation of a ciphertext to a change of its conversation that is not decided yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutboxState {
    /// The ciphertext depends on no such change, and may be sent.
    Free,
    /// The ciphertext proposes the change, and may be sent.
    Proposes,
    /// The ciphertext depends on the change, and may be sent once that is accepted.
    Held,
}

impl OutboxState {
    const fn number(self) -> u8 {
        match self {
            Self::Free => 0,
            Self::Proposes => 1,
            Self::Held => 2,
        }
    }
}

impl ReadTransaction<'_> {
    /// At most `limit` ciphertexts with numbers above `after` that may be sent now, in their order.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn outbox(&self, after: u64, limit: usize) -> Result<Vec<OutboxRow>, StoreError> {
        let Ok(after) = limits::number(after) else { return Ok(Vec::new()) };
        let mut select = self.statement(
            "SELECT seq, conversation, recipient, body, kind FROM outbox
             WHERE seq > ?1 AND state <> 2 ORDER BY seq LIMIT ?2",
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
                kind: rows::number(row, 4)?,
            })
        })?;
        Ok(waiting.collect::<Result<_, _>>()?)
    }
}

impl ReadTransaction<'_> {
    /// Returns a ciphertext that depends on a change which is not decided yet; `None` if there is
    /// none with this number.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn held_outbox(&self, seq: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let Ok(seq) = limits::number(seq) else { return Ok(None) };
        let sql = "SELECT body FROM outbox WHERE seq = ?1 AND state = 2";
        let mut select = self.statement(sql)?;
        Ok(select.query_row([seq], |row| rows::bytes(row, 0)).optional()?)
    }

    /// The highest number that a ciphertext ever got, also one that was removed; 0 if none did.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn last_outbox_number(&self) -> Result<u64, StoreError> {
        let sql = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'outbox'";
        Ok(self.statement(sql)?.query_row([], |row| rows::number(row, 0))?)
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
        self.push_outbox_as(conversation, recipient, 0, OutboxState::Free, body)
    }

    /// [`Self::push_outbox`] with kind and state, for up to
    /// [`MAX_STATE_LEN`](crate::limit::MAX_STATE_LEN) bytes.
    ///
    /// # Errors
    /// [`StoreError::Limit`].
    pub fn push_outbox_as(
        &self,
        conversation: ConversationRef,
        recipient: Option<AddressRef>,
        kind: u8,
        state: OutboxState,
        body: &[u8],
    ) -> Result<u64, StoreError> {
        limits::state(body)?;
        let mut insert = self.statement(
            "INSERT INTO outbox (conversation, recipient, body, kind, state)
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?;
        let recipient = recipient.map(|address| address.0);
        let seq = insert.insert((conversation.0, recipient, body, kind, state.number()))?;
        u64::try_from(seq).map_err(|_| StoreError::Limit(crate::Limit::Number))
    }

    /// Ends the undecided change of a conversation. Accepted, held ciphertexts may be sent;
    /// refused, held ciphertexts and the one that proposed it are removed. Returns the number of
    /// rows.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn decide_outbox(
        &self,
        conversation: ConversationRef,
        accepted: bool,
    ) -> Result<usize, StoreError> {
        let mut decide = self.statement(if accepted {
            "UPDATE outbox SET state = 0 WHERE conversation = ?1 AND state <> 0"
        } else {
            "DELETE FROM outbox WHERE conversation = ?1 AND state <> 0"
        })?;
        Ok(decide.execute([conversation.0])?)
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
