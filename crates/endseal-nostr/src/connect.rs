//! Messages and URIs of remote signing (NIP-46), read and written. They decide nothing: that a
//! request is well formed does not mean that it is allowed.
//!
//! Messages are read within the buffer that they were decrypted in: texts lose their escapes where
//! they lie. The caller MUST wipe that buffer afterwards, as it holds plaintexts and secrets.

mod metadata;
mod permission;
mod request;
mod response;
mod secret;
mod uri;

pub use metadata::Metadata;
pub use permission::{InvalidPermission, Method, Permission, Permissions};
pub use request::{Call, CallError, Connect, Message, Request};
pub use response::{Answer, Response};
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
    /// They are not the JSON of one.
    Json(JsonError),
    /// A member is absent: `id`, the `method` of a request, `result` and `error` of a response.
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
