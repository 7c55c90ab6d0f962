//! Messages in plaintext, until they are consumed.

use crate::address::AddressRef;
use crate::conversation::ConversationRef;
use crate::error::StoreError;
use crate::inbox_table::pack::Packed;
use crate::store::transaction::{ReadTransaction, WriteTransaction};
use crate::{inbox_table, limits};
use endseal_crypto::secret::Zeroizing;

/// A message that was delivered.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
#[non_exhaustive]
pub struct InboxRow {
    /// Number of the message; later messages have higher numbers.
    pub seq: u64,
    /// Conversation to which the message belongs.
    pub conversation: ConversationRef,
    /// Address of the sender.
    pub sender: AddressRef,
    /// 0 a message, 1 a change of a group.
    pub kind: u8,
    /// Id of the message, unique in its conversation.
    pub message: Vec<u8>,
    /// Content of the message, decrypted.
    pub plaintext: Zeroizing<Vec<u8>>,
}

impl InboxRow {
    fn new(message: &Packed<'_>) -> Self {
        Self {
            seq: message.seq,
            conversation: ConversationRef(message.origin.conversation),
            sender: AddressRef(message.origin.sender),
            kind: message.origin.kind,
            message: message.message.to_vec(),
            plaintext: Zeroizing::new(message.plaintext.to_vec()),
        }
    }
}

impl ReadTransaction<'_> {
    /// At most `limit` messages with numbers above `after`, in their order.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn inbox(&self, after: u64, limit: usize) -> Result<Vec<InboxRow>, StoreError> {
        let Ok(next) = limits::number(after.saturating_add(1)) else { return Ok(Vec::new()) };
        self.write_inbox()?;
        let mut messages = Vec::new();
        if limit == 0 {
            return Ok(messages);
        }
        inbox_table::each_from(self.connection()?, next, |message| {
            if message.seq > after {
                messages.push(InboxRow::new(message));
            }
            messages.len() < limit
        })?;
        Ok(messages)
    }

    /// Returns the number of messages.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn inbox_len(&self) -> Result<u64, StoreError> {
        self.write_inbox()?;
        Ok(inbox_table::len(self.connection()?)?)
    }
}

impl WriteTransaction<'_> {
    /// Removes a message from the inbox; whether it was there. That it was delivered stays known.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn consume(&self, seq: u64) -> Result<bool, StoreError> {
        self.inbox.borrow_mut().consume(self.connection()?, seq)
    }
}
