//! Nostr: keys, events, encrypted texts, private messages and requests to a remote signer
//! (docs/spec/nostr.md, docs/spec/nostr-events.md). Events are texts of JSON.

mod event;
mod key;
mod message;
mod remote_signing;

pub use endseal_nostr::encrypted_key::{DEFAULT_LOG_N, DEFAULT_MAX_LOG_N, MAX_LOG_N};
pub use event::verify;
#[cfg(feature = "test-vectors")]
pub use key::TestConversation;
pub use key::{
    EncryptedKey, NewEncryptedKey, NostrKey, StretchInput, StretchedPassword, public_key,
};
pub use message::{Unwrapped, WrapOptions};
pub use remote_signing::{Bunker, Invitation, Response, ResponseKind};
