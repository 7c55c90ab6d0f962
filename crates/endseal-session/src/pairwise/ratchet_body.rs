//! Part of a message that a ratchet opens.

/// Part of a message that a ratchet opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "the kinds of the format")]
pub enum RatchetBody<'a> {
    /// Of a pre-key message: the message and what its session began with.
    Prekey(&'a [u8]),
    /// The message alone.
    Ratchet(&'a [u8]),
}
