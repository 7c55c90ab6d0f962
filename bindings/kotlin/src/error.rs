//! Errors.

use std::fmt;

use endseal_facade::Error;

/// Reason why a call failed: a subclass for each code of docs/spec/envelope.md.
#[derive(Debug, uniffi::Error)]
#[uniffi(flat_error)]
pub enum EndsealError {
    /// The caller's mistake: a context, recipients, a suite or a call that cannot be.
    Argument(String),
    /// The bytes are no envelope, or no identity file.
    Header(String),
    /// The envelope is of another version of the format.
    Version(String),
    /// The envelope exceeds a limit of the format.
    Limit(String),
    /// The envelope is not for this identity or context, was changed, or was cut short.
    Authentication(String),
    /// Refused by the options: the suite.
    Suite(String),
    /// Refused by the options: the sender.
    Sender(String),
    /// Refused by the options: the time is too long ago, or not stated.
    TooOld(String),
    /// Refused by the options: the time is too far ahead.
    TooNew(String),
    /// Refused by the options: it was opened before.
    Replayed(String),
    /// The source of randomness failed.
    Random(String),
    /// The identity file does not open with this passphrase.
    Passphrase(String),
}

impl fmt::Display for EndsealError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argument(text)
            | Self::Header(text)
            | Self::Version(text)
            | Self::Limit(text)
            | Self::Authentication(text)
            | Self::Suite(text)
            | Self::Sender(text)
            | Self::TooOld(text)
            | Self::TooNew(text)
            | Self::Replayed(text)
            | Self::Random(text)
            | Self::Passphrase(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for EndsealError {}

impl From<Error> for EndsealError {
    fn from(error: Error) -> Self {
        let text = error.to_string();
        match error.code() {
            "header" => Self::Header(text),
            "version" => Self::Version(text),
            "limit" => Self::Limit(text),
            "authentication" => Self::Authentication(text),
            "suite" => Self::Suite(text),
            "sender" => Self::Sender(text),
            "too-old" => Self::TooOld(text),
            "too-new" => Self::TooNew(text),
            "replayed" => Self::Replayed(text),
            "random" => Self::Random(text),
            "passphrase" => Self::Passphrase(text),
            _ => Self::Argument(text),
        }
    }
}
