//! Messages in plaintext, until they are consumed.

use endseal_crypto::secret::Zeroizing;

use crate::address::AddressRef;
use crate::conversation::ConversationRef;
use crate::error::StoreError;
use crate::transaction::Transaction;
use crate::{limits, rows};

/// A message that was delivered.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
#[non_exhaustive]
pub struct InboxRow {
    /// Its number; later messages have higher ones.
    pub seq: u64,
    /// Where it belongs.
    pub conversation: ConversationRef,
    /// Who sent it.
    pub sender: AddressRef,
    /// 0 a message, 1 a change of a group.
    pub kind: u8,
    /// Its id.
    pub message: Vec<u8>,
    /// What it says.
    pub plaintext: Zeroizing<Vec<u8>>,
}

impl Transaction<'_> {
    /// At most `limit` messages with numbers above `after`, in their order.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn inbox(&self, after: u64, limit: usize) -> Result<Vec<InboxRow>, StoreError> {
        let Ok(after) = limits::number(after) else { return Ok(Vec::new()) };
        let mut select = self.statement(
            "SELECT seq, conversation, sender, kind, message, plaintext FROM inbox
             WHERE seq > ?1 ORDER BY seq LIMIT ?2",
        )?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let messages = select.query_map((after, limit), |row| {
            Ok(InboxRow {
                seq: rows::number(row, 0)?,
                conversation: ConversationRef(row.get(1)?),
                sender: AddressRef(row.get(2)?),
                kind: rows::number(row, 3)?,
                message: rows::bytes(row, 4)?,
                plaintext: rows::secret(row, 5)?,
            })
        })?;
        Ok(messages.collect::<Result<_, _>>()?)
    }

    /// Removes a message from the inbox; whether it was there. That it was delivered stays known.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn consume(&self, seq: u64) -> Result<bool, StoreError> {
        let Ok(seq) = limits::number(seq) else { return Ok(false) };
        Ok(self.statement("DELETE FROM inbox WHERE seq = ?1")?.execute([seq])? > 0)
    }

    /// How many messages there are.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn inbox_len(&self) -> Result<u64, StoreError> {
        let mut select = self.statement("SELECT count(*) FROM inbox")?;
        Ok(select.query_row([], |row| rows::number(row, 0))?)
    }

    /// Forgets which messages of a conversation were delivered, of those with numbers below `below`
    /// that were consumed; how many. The caller MUST know that they are not delivered again.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn prune_seen(&self, conversation: ConversationRef, below: u64) -> Result<u64, StoreError> {
        let below = i64::try_from(below).unwrap_or(i64::MAX);
        self.sort_in()?;
        let mut delete = self.statement(
            "DELETE FROM seen WHERE conversation = ?1 AND seq < ?2
             AND seq NOT IN (SELECT seq FROM inbox)",
        )?;
        let removed = delete.execute((conversation.0, below))?;
        Ok(u64::try_from(removed).unwrap_or(u64::MAX))
    }
}
