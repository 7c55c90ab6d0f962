//! The one error of all calls.

use std::fmt;

use endseal_envelope::{OpenError, RecipientsError, SealError};

/// Reason why a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    code: &'static str,
    message: String,
}

impl Error {
    /// A fault of the caller.
    pub fn argument(message: impl fmt::Display) -> Self {
        Self::new("argument", message)
    }

    pub(crate) fn new(code: &'static str, message: impl fmt::Display) -> Self {
        Self { code, message: message.to_string() }
    }

    /// Stable name of the reason: one of docs/spec/envelope.md, "Opening"; `passphrase` for an
    /// identity file that does not open; `argument` for a fault of the caller.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.code
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<OpenError> for Error {
    fn from(error: OpenError) -> Self {
        Self::new(error.code(), error)
    }
}

impl From<SealError> for Error {
    fn from(error: SealError) -> Self {
        Self::new(error.code(), error)
    }
}

impl From<RecipientsError> for Error {
    fn from(error: RecipientsError) -> Self {
        Self::argument(error)
    }
}
