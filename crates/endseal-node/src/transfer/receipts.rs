//! Receipts for a series of messages: a bounded number of messages is on its way.

use std::collections::HashSet;

use endseal_codec::{Receipt, ReceiptKind};

use super::message;
use super::refusal::Refusal;

/// Ids in one receipt, by the contract.
const MAX_IDS: usize = 1024;

/// The messages of a series that were handed over and have no receipt yet.
#[derive(Debug, Default)]
pub struct DueReceipts {
    conversation: Box<[u8]>,
    ids: Vec<[u8; 16]>,
}

impl DueReceipts {
    /// So many are worth a receipt at once.
    pub const BATCH: usize = 256;

    /// Counts a message that was handed over, of a conversation of 1 to 64 bytes. The caller sends
    /// the receipt when [`is_due`](Self::is_due), and before a message of another conversation is
    /// counted.
    pub fn add(&mut self, conversation: &[u8], id: [u8; 16]) {
        if self.ids.is_empty() && *self.conversation != *conversation {
            self.conversation = conversation.into();
        }
        self.ids.push(id);
    }

    /// Returns true if a message of that conversation can join those that wait.
    #[must_use]
    pub fn takes(&self, conversation: &[u8]) -> bool {
        self.ids.is_empty() || *self.conversation == *conversation
    }

    /// Returns true if no message waits for its receipt.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Returns true if the receipt should be sent now, however soon another message comes.
    #[must_use]
    pub fn is_due(&self) -> bool {
        self.ids.len() >= Self::BATCH
    }

    /// The receipt for all that wait (up to 1,024), as a message of the person with that Ed25519
    /// key.
    pub fn take(&mut self, own: [u8; 32], timestamp: u64) -> Option<Vec<u8>> {
        if self.ids.is_empty() {
            return None;
        }
        let ids = self.ids.drain(..self.ids.len().min(MAX_IDS)).collect();
        Some(message::delivered(&self.conversation, own, ids, timestamp))
    }
}

/// The messages of a series that were sent and have no receipt yet.
#[derive(Debug, Default)]
pub struct Unconfirmed {
    ids: HashSet<[u8; 16]>,
}

impl Unconfirmed {
    /// No more than so many.
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

    /// Counts a message that is about to be sent.
    pub fn add(&mut self, id: [u8; 16]) {
        self.ids.insert(id);
    }

    /// Takes a receipt; gives the number of messages that it is for.
    ///
    /// # Errors
    /// [`Refusal::Receipt`] for a message that does not wait for one, [`Refusal::Order`] for
    /// another kind of receipt.
    pub fn confirm(&mut self, receipt: &Receipt) -> Result<usize, Refusal> {
        if receipt.kind != ReceiptKind::DELIVERED {
            return Err(Refusal::Order);
        }
        let known = receipt.messages.iter().all(|id| self.ids.remove(id));
        if known { Ok(receipt.messages.len()) } else { Err(Refusal::Receipt) }
    }
}
