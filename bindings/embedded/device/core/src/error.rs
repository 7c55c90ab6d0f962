//! Errors that the device reports to the host.

use core::fmt;

use endseal_nostr::connect::{CallError, ExecuteError, Refusal};

use crate::store::NotWritten;

/// Cause why a request is answered by an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeviceError {
    /// The person refused, or the request is not understood.
    Refused(Refusal),
    /// The host sent something while the request waited.
    Withdrawn,
    NoKey,
    HasKey,
    OtherKey,
    Random,
    Flash,
    LineTooLong,
    AnswerTooLong,
    NoRequest,
}

impl From<CallError> for DeviceError {
    fn from(error: CallError) -> Self {
        Self::Refused(Refusal::Request(error))
    }
}

impl From<ExecuteError> for DeviceError {
    fn from(error: ExecuteError) -> Self {
        match error {
            ExecuteError::Output(_) => Self::AnswerTooLong,
            error => Self::Refused(Refusal::Failed(error)),
        }
    }
}

impl From<NotWritten> for DeviceError {
    fn from(_: NotWritten) -> Self {
        Self::Flash
    }
}

impl fmt::Display for DeviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refused(refusal) => return refusal.fmt(f),
            Self::Withdrawn => "withdrawn",
            Self::NoKey => "the device has no key",
            Self::HasKey => "the device has a key already",
            Self::OtherKey => "the key is not the key of the device",
            Self::Random => "the random source failed",
            Self::Flash => "the flash cannot be written",
            Self::LineTooLong => "the line is too long",
            Self::AnswerTooLong => "the answer is too long",
            Self::NoRequest => "the line is no request",
        })
    }
}
