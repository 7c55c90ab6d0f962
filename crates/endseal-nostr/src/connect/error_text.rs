//! Errors that the signer reports to apps.

use core::fmt;

use super::{CallError, ExecuteError, ScopeError};
use crate::output::Output;

/// Longest text of a refusal in bytes.
pub const MAX_REFUSAL: usize = 96;

/// Cause why a request is answered by an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The request came by NIP-04.
    Nip04Transport,
    /// The request is not fresh.
    Stale,
    /// The app's access has expired.
    Expired,
    /// The user revoked the app's access.
    Revoked,
    /// The signer holds no secret key now.
    Locked,
    /// The request is not understood; [`CallError::Method`] is a class of its own.
    Request(CallError),
    /// The log-in or token that should be signed does not say clearly where it is valid.
    Scope(ScopeError),
    /// A paired app sent another secret than its own.
    Secret,
    /// A rule denies, or none allows.
    Denied,
    /// An allowance is used up.
    Limit,
    /// There was no decision in time.
    Timeout,
    /// The method was permitted, but its execution failed.
    Failed(ExecuteError),
    /// The signer could not record the request.
    Unrecorded,
    /// The answer exceeds the limit of the relay.
    TooLarge,
    /// The signer has too many waiting requests; the app may try again later.
    Busy,
    /// The device that holds the user's key did not do what was allowed.
    Device(DeviceFault),
}

/// Cause why a device that holds a user's key gave no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeviceFault {
    /// No connected device has this key.
    Absent,
    /// The device was disconnected, or did not answer in time.
    Lost,
    /// The device answered with an error of its own, or with a result that is not the request's.
    Failed,
}

impl Refusal {
    /// Class of the error, as `docs/spec/nostr-connect.md` lists them.
    #[must_use]
    pub const fn class(&self) -> &'static str {
        match self {
            Self::Nip04Transport => "nip04-transport",
            Self::Stale => "stale",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
            Self::Locked => "locked",
            Self::Request(CallError::Method) => "method",
            Self::Request(_) | Self::Scope(_) => "request",
            Self::Secret => "secret",
            Self::Denied => "denied",
            Self::Limit => "limit",
            Self::Timeout => "timeout",
            Self::Failed(ExecuteError::Output(_)) | Self::TooLarge => "too-large",
            Self::Failed(_) | Self::Unrecorded => "failed",
            Self::Busy => "busy",
            Self::Device(_) => "device",
        }
    }

    /// Writes the text for [`Answer::Error`](super::Answer::Error) into `buffer`.
    #[must_use]
    pub fn text<'b>(&self, buffer: &'b mut [u8; MAX_REFUSAL]) -> &'b str {
        let mut output = Output::new(buffer);
        let written = fmt::write(&mut output, format_args!("{self}")).is_ok();
        match output.finish_text() {
            Ok(text) if written => text,
            // No text is longer, which is tested.
            _ => "failed",
        }
    }
}

impl From<CallError> for Refusal {
    fn from(error: CallError) -> Self {
        Self::Request(error)
    }
}

impl From<ScopeError> for Refusal {
    fn from(error: ScopeError) -> Self {
        Self::Scope(error)
    }
}

impl From<ExecuteError> for Refusal {
    fn from(error: ExecuteError) -> Self {
        Self::Failed(error)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nip04Transport => "NIP-04 is not accepted here: encrypt requests with NIP-44",
            Self::Stale => "the request is older or newer than five minutes",
            Self::Expired => "this connection has expired",
            Self::Revoked => "this connection was revoked",
            Self::Locked => "the signer is locked",
            Self::Request(error) => return error.fmt(f),
            Self::Scope(error) => return error.fmt(f),
            Self::Secret => "the connection secret is wrong",
            Self::Denied => "not allowed",
            Self::Limit => "not allowed: the limit is reached",
            Self::Timeout => "not allowed: no decision in time",
            Self::Failed(ExecuteError::Output(_)) | Self::TooLarge => {
                "the answer is too large for the relay"
            }
            Self::Failed(error) => return error.fmt(f),
            Self::Unrecorded => "the signer cannot write",
            Self::Busy => "too many requests wait for a decision",
            Self::Device(DeviceFault::Absent) => "the device with the key is not connected",
            Self::Device(DeviceFault::Lost) => "the device with the key did not answer",
            Self::Device(DeviceFault::Failed) => "the device with the key could not do it",
        })
    }
}

impl core::error::Error for Refusal {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bech32::Bech32Error;
    use crate::event::{Field, ParseError};
    use crate::json::JsonError;
    use crate::key::KeyError;
    use crate::output::OutputTooSmall;

    #[test]
    fn every_refusal_has_a_short_text() {
        let json = [
            JsonError::Utf8,
            JsonError::Unexpected,
            JsonError::Depth,
            JsonError::Members,
            JsonError::Duplicate,
            JsonError::Integer,
            JsonError::Surrogate,
            JsonError::Trailing,
        ];
        let events = [Field::CreatedAt, Field::Content]
            .map(ParseError::Missing)
            .into_iter()
            .chain([ParseError::Hex(Field::Pubkey), ParseError::Signed])
            .chain(json.map(ParseError::Json))
            .map(CallError::Event);
        let keys = [KeyError::Hex, KeyError::Prefix, KeyError::Value]
            .into_iter()
            .chain([KeyError::Bech32(Bech32Error::Character)])
            .map(CallError::Key);
        let calls = [
            CallError::Method,
            CallError::Params,
            CallError::Surrogate,
            CallError::Length,
            CallError::Secret,
        ]
        .into_iter()
        .chain([CallError::Batch])
        .chain(events)
        .chain(keys)
        .map(Refusal::Request);
        let needed = usize::MAX;
        let failures = [
            ExecuteError::Method,
            ExecuteError::Decryption,
            ExecuteError::Plaintext,
            ExecuteError::OtherAuthor,
            ExecuteError::Output(OutputTooSmall { needed }),
        ]
        .map(Refusal::Failed);
        for refusal in [
            Refusal::Nip04Transport,
            Refusal::Stale,
            Refusal::Expired,
            Refusal::Revoked,
            Refusal::Locked,
            Refusal::Scope(ScopeError::Tags),
            Refusal::Scope(ScopeError::Text),
            Refusal::Secret,
            Refusal::Denied,
            Refusal::Limit,
            Refusal::Timeout,
            Refusal::Unrecorded,
            Refusal::TooLarge,
            Refusal::Busy,
            Refusal::Device(DeviceFault::Absent),
            Refusal::Device(DeviceFault::Lost),
            Refusal::Device(DeviceFault::Failed),
        ]
        .into_iter()
        .chain(calls)
        .chain(failures)
        {
            let text = refusal.to_string();
            assert!(!text.is_empty() && !refusal.class().is_empty());
            assert_eq!(refusal.text(&mut [0; MAX_REFUSAL]), text, "{refusal:?}");
        }
    }
}
