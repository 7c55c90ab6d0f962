//! Encrypted payloads of NIP-44, version 2, with the extended length.
//!
//! ```text
//! payload = Base64(02 || nonce || ChaCha20(prefix || plaintext || zeros) || MAC)
//! ```
//!
//! The layout and the limits are in `docs/spec/nostr.md`. A payload authenticates two keys, not an
//! event: the caller MUST verify the event around it first.

pub use cache::Cache;
pub use conversation::Conversation;
pub use padding::{MAX_PLAINTEXT, MAX_PLAINTEXT_SHORT, padded_len};
pub use payload::{MAX_PAYLOAD, MIN_PAYLOAD, OpenError};
pub use seal::{Lengths, SealError, payload_len};

mod cache;
mod conversation;
mod open;
mod padding;
mod payload;
mod seal;
