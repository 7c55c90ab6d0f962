//! Buffers and keys of the operations. All memory that they use is here or on the stack.

use core::array;

use endseal_crypto::secp256k1::{PublicKey, SecretKey, SigningKey};
use endseal_crypto::sha256::HmacKey;
use endseal_nostr::nip04;
use endseal_nostr::nip44::Conversation;

use crate::payload;

/// Longest message in bytes.
pub(crate) const MAX_MESSAGE: usize = 8192;
/// Size of the buffers: a NIP-44 payload of the longest message has 11,012 characters.
const ROOM: usize = 12 << 10;

/// Text of the published benchmark, repeated to any length.
const TEXT: &[u8] = b"This is a test message for encryption benchmarking. ";

pub(crate) struct Workbench {
    /// Size of the present operation.
    pub(crate) bytes: usize,
    pub(crate) message: [u8; MAX_MESSAGE],
    /// Input that a run must not change.
    pub(crate) input: [u8; ROOM],
    pub(crate) input_len: usize,
    /// Buffer in which operations work.
    pub(crate) work: [u8; ROOM],
    pub(crate) own: SecretKey,
    pub(crate) peer: PublicKey,
    pub(crate) conversation: Conversation,
    pub(crate) nip04: nip04::Key,
    pub(crate) signing: SigningKey,
    /// A prepared HMAC key.
    pub(crate) hmac: HmacKey,
}

impl Workbench {
    pub(crate) fn new() -> Self {
        let own = payload::secret(1);
        let peer = payload::secret(2).public_key();
        Self {
            bytes: 0,
            message: array::from_fn(|at| TEXT[at % TEXT.len()]),
            input: [0; ROOM],
            input_len: 0,
            work: [0; ROOM],
            conversation: Conversation::new(&own, &peer),
            nip04: nip04::Key::new(&own, &peer),
            own,
            peer,
            signing: SigningKey::new(payload::secret(3)),
            hmac: HmacKey::new(&payload::number(4)),
        }
    }

    /// Returns the message of the present size.
    pub(crate) fn message(&self) -> &[u8] {
        &self.message[..self.bytes]
    }

    /// Makes the first `len` bytes of the work buffer the input.
    pub(crate) fn keep(&mut self, len: usize) {
        self.input[..len].copy_from_slice(&self.work[..len]);
        self.input_len = len;
    }

    /// Copies the input to the work buffer.
    pub(crate) fn restore(&mut self) {
        self.work[..self.input_len].copy_from_slice(&self.input[..self.input_len]);
    }

    /// Copies the message to the work buffer.
    pub(crate) fn load(&mut self) {
        self.work[..self.bytes].copy_from_slice(&self.message[..self.bytes]);
    }
}
