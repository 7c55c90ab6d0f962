//! Delivery of messages, each once: the path that a backlog takes.

use rusqlite::{CachedStatement, OptionalExtension as _};

use crate::address::AddressRef;
use crate::conversation::ConversationRef;
use crate::error::StoreError;
use crate::transaction::Transaction;
use crate::{check, limits, rows};

/// Delivers messages in a transaction. It holds its statements, so that a message costs no look-up of
/// them; make it once for a batch.
#[allow(missing_debug_implementations, reason = "nothing of it is for people")]
pub struct Messages<'t> {
    transaction: &'t Transaction<'t>,
    seen: CachedStatement<'t>,
    mark: CachedStatement<'t>,
    deliver: CachedStatement<'t>,
}

/// A message that was delivered before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Seen {
    /// Its number in the inbox, whether or not it is there still.
    pub seq: u64,
    /// The first 16 bytes of BLAKE3 of its ciphertext. Another ciphertext under the same id is not
    /// the same message.
    pub digest: [u8; 16],
}

impl Transaction<'_> {
    /// What delivers messages. It borrows the transaction: drop it before the commit.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn messages(&self) -> Result<Messages<'_>, StoreError> {
        self.seq()?;
        Ok(Messages {
            transaction: self,
            seen: self.statement(
                "SELECT seq, digest FROM seen WHERE conversation = ?1 AND message = ?2",
            )?,
            mark: self.statement("INSERT INTO seen VALUES (?1, ?2, ?3, ?4)")?,
            deliver: self.statement("INSERT INTO inbox VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?,
        })
    }
}

impl<'t> Messages<'t> {
    pub(crate) fn transaction(&self) -> &'t Transaction<'t> {
        self.transaction
    }

    /// Whether a message was delivered, and as what.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn seen(
        &mut self,
        conversation: ConversationRef,
        message: &[u8],
    ) -> Result<Option<Seen>, StoreError> {
        self.transaction.connection()?;
        let seen = self.seen.query_row((conversation.0, message), |row| {
            Ok(Seen { seq: rows::number(row, 0)?, digest: rows::array(row, 1)? })
        });
        Ok(seen.optional()?)
    }

    /// Puts a message into the inbox and remembers its id for ever; the number that it gets. `kind` is
    /// 0 for a message and 1 for a change of a group, and `digest` what [`Seen::digest`] says.
    ///
    /// # Errors
    /// [`StoreError::Duplicate`] if a message of that id was delivered before, [`StoreError::Limit`]. After
    /// any other, drop the transaction.
    pub fn deliver(
        &mut self,
        conversation: ConversationRef,
        message: &[u8],
        sender: AddressRef,
        kind: u8,
        digest: &[u8; 16],
        plaintext: &[u8],
    ) -> Result<u64, StoreError> {
        limits::name(message)?;
        limits::body(plaintext)?;
        self.transaction.connection()?;
        let seq = self.transaction.seq()? + 1;
        let number = limits::number(seq)?;
        self.mark.execute((conversation.0, message, number, digest))?;
        // From here on the number is taken. If the row fails, for want of room, the transaction has ended.
        self.transaction.set_seq(seq);
        let row = (number, conversation.0, sender.0, kind, message, plaintext);
        self.deliver.execute(row).map_err(|error| match StoreError::from(error) {
            // The number is there: the one that the store remembers is too low.
            StoreError::Duplicate => StoreError::Damaged(check::number_above()),
            error => error,
        })?;
        Ok(seq)
    }
}
