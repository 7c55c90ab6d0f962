//! Errors of requests.

use core::fmt;

use endseal_session::EngineError;
use endseal_store::StoreError;
use serde::{Deserialize, Serialize};

use crate::error_line::line;
use crate::messages::{AcceptError, ForgetError, LeaveError, SayError};

/// Reason why a request was refused or failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Error {
    /// Code of JSON-RPC, which is -32000 for all errors that are not its own.
    pub code: i32,
    /// Reason in one line, for people.
    pub message: String,
    /// Reason for programs.
    #[serde(rename = "data")]
    pub kind: ErrorKind,
}

/// Reason for programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// The line is not JSON.
    Parse,
    /// The JSON is not a request.
    InvalidRequest,
    /// There is no request of this name.
    UnknownMethod,
    /// Parameters are missing, unknown, or have another form.
    InvalidParams,
    /// A text is too long. No text was stored.
    TooLong {
        /// Number of the text, counted from 1.
        text: u64,
    },
    /// The person to be blocked or verified is this identity itself.
    Own,
    /// The person is blocked.
    Blocked,
    /// No roster of the group is known.
    NoGroup,
    /// This person has left the group, or is no member of it.
    NotMember,
    /// The owner of a group does not leave it.
    Owner,
    /// The conversation has no such text.
    UnknownText {
        /// Number of the text in the history.
        number: u64,
    },
    /// The text is encrypted and waits for the hub, which may have it.
    Encrypted {
        /// Number of the text in the history.
        number: u64,
    },
    /// The text has left this device, or may have left it.
    Left {
        /// Number of the text in the history.
        number: u64,
    },
    /// The hub is unreachable or refused.
    Hub {
        /// True if another attempt may succeed.
        is_transient: bool,
    },
    /// The store is damaged.
    Damaged,
    /// The file system of the store is full.
    Full,
    /// The store failed for another reason.
    Store,
    /// Too many requests are waiting.
    Busy,
    /// The process is stopping.
    Stopping,
    /// Only `endseal up` executes this request.
    NeedsUp,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: &(impl fmt::Display + ?Sized)) -> Self {
        let code = match kind {
            ErrorKind::Parse => -32700,
            ErrorKind::InvalidRequest => -32600,
            ErrorKind::UnknownMethod => -32601,
            ErrorKind::InvalidParams => -32602,
            _ => -32000,
        };
        Self { code, message: message.to_string(), kind }
    }

    pub(crate) fn busy() -> Self {
        Self::new(ErrorKind::Busy, "too many requests are waiting; try again later")
    }

    pub(crate) fn stopping() -> Self {
        Self::new(ErrorKind::Stopping, "the process is stopping")
    }
}

impl From<EngineError> for Error {
    fn from(error: EngineError) -> Self {
        let kind = match &error {
            EngineError::Damaged(_) | EngineError::Store(StoreError::Damaged(_)) => {
                ErrorKind::Damaged
            }
            EngineError::Store(StoreError::Full) => ErrorKind::Full,
            _ => ErrorKind::Store,
        };
        Self::new(kind, &line(&error))
    }
}

impl From<SayError> for Error {
    fn from(error: SayError) -> Self {
        let kind = match error {
            SayError::TooLong(text) => ErrorKind::TooLong { text },
            SayError::Blocked => ErrorKind::Blocked,
            SayError::Group => ErrorKind::NoGroup,
            SayError::Left | SayError::NotMember => ErrorKind::NotMember,
            SayError::Engine(error) => return error.into(),
            _ => ErrorKind::Store,
        };
        Self::new(kind, &line(&error))
    }
}

impl From<ForgetError> for Error {
    fn from(error: ForgetError) -> Self {
        let kind = match error {
            ForgetError::Unknown(number) => ErrorKind::UnknownText { number },
            ForgetError::Encrypted(number) => ErrorKind::Encrypted { number },
            ForgetError::Left(number) => ErrorKind::Left { number },
            ForgetError::Engine(error) => return error.into(),
        };
        Self::new(kind, &line(&error))
    }
}

impl From<LeaveError> for Error {
    fn from(error: LeaveError) -> Self {
        let kind = match error {
            LeaveError::NoGroup => ErrorKind::NoGroup,
            LeaveError::NotMember => ErrorKind::NotMember,
            LeaveError::Owner => ErrorKind::Owner,
            LeaveError::Engine(error) => return error.into(),
            LeaveError::Group(_) => ErrorKind::Store,
        };
        Self::new(kind, &line(&error))
    }
}

impl From<AcceptError> for Error {
    fn from(error: AcceptError) -> Self {
        match error {
            AcceptError::Engine(error) => error.into(),
            AcceptError::Blocked => Self::new(ErrorKind::Blocked, &line(&error)),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl core::error::Error for Error {}
