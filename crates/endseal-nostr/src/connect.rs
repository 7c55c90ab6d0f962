//! Remote signing (NIP-46): messages and URIs, and the way from an event to its answer.
//!
//! Nothing here decides: that a request is well formed does not mean that it is allowed. Rules are
//! in [`policy`](crate::policy), the order of the steps in `docs/spec/nostr-connect.md`:
//!
//! | step | function |
//! |---|---|
//! | read, verify, decrypt, parse | [`Incoming::read`], [`Incoming::verify`], [`Verified::open`], [`Opened::request`] |
//! | age, repetition | [`is_fresh`], [`Request::digest`] |
//! | understand, execute | [`Request::call`], [`execute`] |
//! | answer | [`respond`], with the text of a [`Refusal`] |
//!
//! Messages are read within the buffer that they were decrypted in: texts lose their escapes where
//! they lie. The caller MUST wipe that buffer afterwards, as it holds plaintexts and secrets.

mod canonical_url;
mod digest;
mod display;
mod error_text;
mod execute;
mod extension;
mod freshness;
mod incoming;
mod metadata;
mod permission;
mod request;
mod respond;
mod response;
mod scope;
mod secret;
mod uri;

pub use digest::aux;
pub use display::{MAX_CONTENT, MAX_NAME, Sanitised, is_invisible, sanitise};
pub use error_text::{DeviceFault, MAX_REFUSAL, Refusal};
pub use execute::{ExecuteError, Outcome, execute, execute_len};
pub use extension::{MAX_BATCH, UnwrapBatch, UnwrapResults, unwrap_item};
pub use freshness::{MAX_SKEW, MEMORY, is_fresh};
pub use incoming::{Ignored, Incoming, MAX_EVENT, Opened, Verified};
pub use metadata::Metadata;
pub use permission::{Method, Permission, Permissions};
pub use request::{Call, CallError, Connect, Message, Request};
pub use respond::{
    Encryption, RespondError, ResponseKeys, ResponseLen, Stamp, respond, respond_with, response_len,
};
pub use response::{Answer, Response};
pub use scope::{HTTP_AUTH, RELAY_AUTH, Scope, ScopeError};
pub use secret::{ConnectSecret, InvalidConnectSecret};
pub use uri::{Bunker, ConnectUri, MAX_URI, NostrConnect, UriError};

use core::fmt;
use core::ops::Range;

use crate::json::{JsonError, unescape};

/// Kind of the events that carry requests and responses.
pub const KIND: u16 = 24_133;

/// Cause why bytes are no message. It has no id then, so that it cannot be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MessageError {
    /// The bytes are not the JSON of a message.
    Json(JsonError),
    /// A member is absent: `id`, the `method` of a message with a `result` or `error`, or all of
    /// these.
    Missing,
}

impl From<JsonError> for MessageError {
    fn from(error: JsonError) -> Self {
        Self::Json(error)
    }
}

impl fmt::Display for MessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(error) => error.fmt(f),
            Self::Missing => f.write_str("a member of the message is absent"),
        }
    }
}

impl core::error::Error for MessageError {}

/// Removes the escapes of a string that lies at `place`, which becomes shorter.
fn unescape(json: &mut [u8], place: &mut Range<usize>) -> Result<(), JsonError> {
    place.end = place.start + unescape::in_place(&mut json[place.clone()])?;
    Ok(())
}

/// The text at a place without escapes.
fn text(json: &[u8], place: Range<usize>) -> Result<&str, JsonError> {
    str::from_utf8(&json[place]).map_err(|_| JsonError::Utf8)
}
