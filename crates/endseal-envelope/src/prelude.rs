//! Sender, message id and time before the content, and the signature of each block.

use endseal_crypto::segment::COMMITMENT_LEN;
use endseal_crypto::{ed25519, hash, label};

use crate::error::OpenError;

/// Length of the prelude, the first fixed bytes of an envelope.
pub(crate) const PRELUDE_LEN: usize = 56;
/// Length of a full block of content: 4 MiB.
pub(crate) const BLOCK_LEN: usize = 4 << 20;
/// Length of a full block with its signature.
pub(crate) const SIGNED_BLOCK_LEN: usize = BLOCK_LEN + ed25519::Signature::LEN;
const MESSAGE_LEN: usize = label::ENVELOPE_SIGNATURE.as_str().len()
    + 1
    + hash::LEN
    + COMMITMENT_LEN
    + PRELUDE_LEN
    + 8
    + 1
    + hash::LEN;

/// Sender, message id and time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prelude {
    /// Not known to be a key until a signature of it was checked.
    pub(crate) sender: [u8; 32],
    pub(crate) message_id: [u8; 16],
    pub(crate) time: u64,
}

impl Prelude {
    pub(crate) fn encode(&self) -> [u8; PRELUDE_LEN] {
        let mut out = [0; PRELUDE_LEN];
        out[..32].copy_from_slice(&self.sender);
        out[32..48].copy_from_slice(&self.message_id);
        out[48..].copy_from_slice(&self.time.to_le_bytes());
        out
    }

    pub(crate) fn parse(bytes: &[u8; PRELUDE_LEN]) -> Self {
        let mut prelude = Self { sender: [0; 32], message_id: [0; 16], time: 0 };
        let (sender, rest) = bytes.split_at(32);
        let (message_id, time) = rest.split_at(16);
        prelude.sender.copy_from_slice(sender);
        prelude.message_id.copy_from_slice(message_id);
        prelude.time = time.first_chunk().map_or(0, |time| u64::from_le_bytes(*time));
        prelude
    }
}

/// Common part of the signed messages of one envelope.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transcript {
    message: [u8; MESSAGE_LEN],
}

impl Transcript {
    pub(crate) fn new(
        header_digest: &[u8; hash::LEN],
        commitment: &[u8; COMMITMENT_LEN],
        prelude: &[u8; PRELUDE_LEN],
    ) -> Self {
        let mut message = [0; MESSAGE_LEN];
        let mut rest = &mut message[..];
        for part in [
            label::ENVELOPE_SIGNATURE.as_str().as_bytes(),
            &[0],
            header_digest,
            commitment,
            prelude,
        ] {
            let (head, tail) = rest.split_at_mut(part.len());
            head.copy_from_slice(part);
            rest = tail;
        }
        Self { message }
    }

    /// `label || 00 || H || commitment || prelude || le64(index) || last || BLAKE3(block)`.
    pub(crate) fn block(
        &self,
        index: u64,
        last: bool,
        digest: &[u8; hash::LEN],
    ) -> [u8; MESSAGE_LEN] {
        let mut message = self.message;
        let end = MESSAGE_LEN - hash::LEN;
        message[end..].copy_from_slice(digest);
        message[end - 1] = u8::from(last);
        message[end - 9..end - 1].copy_from_slice(&index.to_le_bytes());
        message
    }
}

/// A signature that has not been checked yet, with what it must sign.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim {
    pub(crate) message: [u8; MESSAGE_LEN],
    pub(crate) signature: ed25519::Signature,
}

impl Claim {
    pub(crate) fn check(&self, sender: &ed25519::PublicKey) -> Result<(), OpenError> {
        sender.verify(&self.message, &self.signature).map_err(|_| OpenError::Authentication)
    }

    /// Checks the first claim of an envelope, and with it that the sender's key is one.
    pub(crate) fn check_first(&self, sender: &[u8; 32]) -> Result<ed25519::PublicKey, OpenError> {
        ed25519::PublicKey::from_signed(sender, &self.message, &self.signature)
            .map_err(|_| OpenError::Authentication)
    }
}

/// Length of prelude, blocks and signatures for that much content. `None` if it overflows.
pub(crate) const fn stream_len(content_len: u64) -> Option<u64> {
    let signatures = (content_len / BLOCK_LEN as u64 + 1) * ed25519::Signature::LEN as u64;
    content_len.checked_add(signatures + PRELUDE_LEN as u64)
}

/// Length of the content in a stream of that length. `None` if no stream has that length.
pub(crate) const fn content_len(stream_len: u64) -> Option<u64> {
    let Some(blocks) = stream_len.checked_sub(PRELUDE_LEN as u64) else { return None };
    let full = blocks / SIGNED_BLOCK_LEN as u64;
    let Some(last) = (blocks % SIGNED_BLOCK_LEN as u64).checked_sub(ed25519::Signature::LEN as u64)
    else {
        return None;
    };
    Some(full * BLOCK_LEN as u64 + last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signed_message_has_191_bytes() {
        assert_eq!(MESSAGE_LEN, 191);
    }

    #[test]
    fn lengths_invert_each_other() {
        let block = BLOCK_LEN as u64;
        for len in [0, 1, 63, 64, block - 1, block, block + 1, 2 * block - 1, 2 * block, 1 << 40] {
            assert_eq!(content_len(stream_len(len).unwrap()), Some(len), "{len}");
        }
        for len in [0, 55, 56, 119, 120 + block, 183 + block] {
            let expected = (len == 120 + block - 1).then_some(len);
            assert_eq!(content_len(len), expected, "{len}");
        }
        assert_eq!(stream_len(u64::MAX), None);
    }
}
