//! Receipts for a series of messages, which bound the number of messages in transit.

use std::collections::HashSet;

use endseal_codec::{Receipt, ReceiptKind};

use super::message;
use super::refusal::Refusal;

/// Limit on the ids of one receipt (docs/spec/transfer.md).
const MAX_IDS: usize = 1024;

/// Messages of a series that were delivered and have no receipt yet.
#[derive(Debug, Default)]
pub struct DueReceipts {
    conversation: Box<[u8]>,
    ids: Vec<[u8; 16]>,
}

impl DueReceipts {
    /// Number of messages after which a receipt is sent.
    pub const BATCH: usize = 256;

    /// Adds a delivered message of a conversation, whose id has 1 to 64 bytes. The caller sends the
    /// receipt when [`is_due`](Self::is_due) returns true, and before it adds a message of another
    /// conversation.
    pub fn add(&mut self, conversation: &[u8], id: [u8; 16]) {
        if self.ids.is_empty() && *self.conversation != *conversation {
            self.conversation = conversation.into();
        }
        self.ids.push(id);
    }

    /// Returns true if a message of this conversation can be added to the waiting ones.
    #[must_use]
    pub fn takes(&self, conversation: &[u8]) -> bool {
        self.ids.is_empty() || *self.conversation == *conversation
    }

    /// Returns true if no message waits for its receipt.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Returns true if the receipt should be sent now, without waiting for another message.
    #[must_use]
    pub fn is_due(&self) -> bool {
        self.ids.len() >= Self::BATCH
    }

    /// Takes up to 1,024 waiting messages, and makes the receipt for them. `own` is the Ed25519 key
    /// of the receiver, and `timestamp` is in milliseconds since 1970. Returns `None` if no message
    /// waits.
    pub fn take(&mut self, own: [u8; 32], timestamp: u64) -> Option<Vec<u8>> {
        if self.ids.is_empty() {
            return None;
        }
        let ids = self.ids.drain(..self.ids.len().min(MAX_IDS)).collect();
        Some(message::delivered(&self.conversation, own, ids, timestamp))
    }
}

/// Messages of a series that were sent and have no receipt yet.
#[derive(Debug, Default)]
pub struct Unconfirmed {
    ids: HashSet<[u8; 16]>,
}

impl Unconfirmed {
    /// Limit on the messages in transit.
    pub const MAX: usize = 4096;

    /// Returns true if another message may be sent.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.ids.len() < Self::MAX
    }

    /// Returns true if every message that was sent has its receipt.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Adds a message that is about to be sent.
    pub fn add(&mut self, id: [u8; 16]) {
        self.ids.insert(id);
    }

    /// Processes a receipt. Returns the number of messages that it confirms.
    ///
    /// # Errors
    /// Returns [`Refusal::Receipt`] if it names a message that does not wait for one, and
    /// [`Refusal::Order`] if it is another kind of receipt.
    pub fn confirm(&mut self, receipt: &Receipt) -> Result<usize, Refusal> {
        if receipt.kind != ReceiptKind::DELIVERED {
            return Err(Refusal::Order);
        }
        let known = receipt.messages.iter().all(|id| self.ids.remove(id));
        if known { Ok(receipt.messages.len()) } else { Err(Refusal::Receipt) }
    }
}
