//! Errors of requests to the local API.

use core::{error, fmt};
use std::io;

use endseal_service::control::ControlFrameError;
use serde::{Deserialize, Serialize};

use super::MAX_TEXTS_LEN;

/// Reason why the process refused a request, as it is sent over the socket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LocalError {
    /// The request could not be parsed.
    Invalid(String),
    /// The text with this number, counted from 1, is too long. No text was stored.
    TooLong(u64),
    /// The text with this number, counted from 1, is not UTF-8. No text was stored.
    NotUtf8(u64),
    /// The receiver is this identity itself.
    Own,
    /// The hub is unreachable or refused.
    Hub {
        /// Reason in one line, for people.
        cause: String,
        /// True if another attempt may succeed.
        is_transient: bool,
    },
    /// The store failed.
    Store(String),
    /// Too many requests are waiting.
    Busy,
    /// The process is stopping.
    Stopping,
}

impl fmt::Display for LocalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(cause) | Self::Hub { cause, .. } | Self::Store(cause) => {
                f.write_str(cause)
            }
            Self::TooLong(number) => write!(f, "text {number} is longer than 1,000,000 bytes"),
            Self::NotUtf8(number) => write!(f, "text {number} is not UTF-8"),
            Self::Own => f.write_str("this is your own identity"),
            Self::Busy => f.write_str("too many requests are waiting; try again later"),
            Self::Stopping => f.write_str("the process is stopping"),
        }
    }
}

impl error::Error for LocalError {}

/// Reason why a call has no reply, or not the expected one.
#[derive(Debug)]
#[non_exhaustive]
pub enum LocalCallError {
    /// No process is listening on the socket.
    NotRunning,
    /// The request was not sent, or the reply was not read.
    Frame(ControlFrameError),
    /// The reply belongs to another kind of request: the process is of another version.
    Unexpected,
    /// The texts cannot be read.
    Input(io::Error),
    /// The texts are longer than [`MAX_TEXTS_LEN`].
    TooMany,
    /// The process refused the request.
    Failed(LocalError),
}

impl From<ControlFrameError> for LocalCallError {
    fn from(error: ControlFrameError) -> Self {
        Self::Frame(error)
    }
}

impl fmt::Display for LocalCallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRunning => f.write_str("endseal up is not running"),
            Self::Frame(error) => error.fmt(f),
            Self::Unexpected => f.write_str("unexpected reply: endseal up may be another version"),
            Self::Input(_) => f.write_str("cannot read the texts"),
            Self::TooMany => write!(f, "the texts have more than {MAX_TEXTS_LEN} bytes"),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl error::Error for LocalCallError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Input(error) => Some(error),
            _ => None,
        }
    }
}
