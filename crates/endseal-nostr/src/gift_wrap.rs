//! Gift wraps (NIP-59), as private messages use them (NIP-17).
//!
//! A rumor, which is unsigned, is encrypted in a seal, which its author signs; the seal is
//! encrypted in a wrap, which a key signs that is used once. An observer sees the receiver and two
//! times that say little. The receiver learns from the seal who the author is. A rumor alone proves
//! nothing to others; the seal with the key of its conversation does.

mod layer;
mod unwrap;
mod wrap;

pub use layer::{Layer, Lifetime, MAX_DELAY, past_time};
pub use unwrap::{UnwrapError, Unwrapped, unwrap};
pub use wrap::{WrapError, Wrapping, max_wrapped_len, wrap};

/// Kind of a seal (NIP-59).
pub const SEAL: u16 = 13;
/// Kind of a wrap that relays keep.
pub const GIFT_WRAP: u16 = 1059;
/// Kind of a wrap that relays pass on and do not keep.
pub const EPHEMERAL_GIFT_WRAP: u16 = 21059;

/// Kind of a rumor: a chat message (NIP-17).
pub const CHAT_MESSAGE: u16 = 14;
/// Kind of a rumor: a file for the chat (NIP-17).
pub const FILE_MESSAGE: u16 = 15;
/// Kind of a rumor: a reaction to a message (NIP-25).
pub const REACTION: u16 = 7;
/// Kind of a rumor: the deletion of a message (NIP-09).
pub const DELETION: u16 = 5;
