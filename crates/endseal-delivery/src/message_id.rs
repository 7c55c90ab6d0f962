//! Ids of messages, which receivers compare to recognise duplicates.

use endseal_crypto::peer_id::PeerId;
use endseal_crypto::{hash, label};

/// Id of the message that a sender put under a sequence. Receivers recognise repetitions by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId([u8; Self::LEN]);

impl MessageId {
    /// Length of a message id in bytes.
    pub const LEN: usize = 16;

    /// The first 16 bytes of BLAKE3-derive("endseal/delivery@v1 message id", sender || sequence).
    #[must_use]
    pub fn of(sender: &PeerId, sequence: u64) -> Self {
        let parts = [&sender.as_bytes()[..], &sequence.to_le_bytes()];
        let digest = hash::derive(label::DELIVERY_MESSAGE_ID, &parts);
        let mut id = [0; Self::LEN];
        id.copy_from_slice(&digest[..Self::LEN]);
        Self(id)
    }

    /// The bytes of the message id.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }
}
