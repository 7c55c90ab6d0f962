//! Messages that were delivered before.

/// A message that was delivered before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Seen {
    /// Number of the message in the inbox, even if it was consumed.
    pub seq: u64,
    /// Digest of its ciphertext that the caller gave when it delivered the message. Another
    /// ciphertext under the same id is not the same message.
    pub digest: [u8; 16],
}
