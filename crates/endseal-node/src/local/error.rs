//! Causes why a request failed.

use core::{error, fmt};
use std::io;

use endseal_service::control::ControlFrameError;
use serde::{Deserialize, Serialize};

use super::MAX_TEXTS_LEN;

/// Cause why a request failed, as it is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LocalError {
    /// It is none of these requests.
    Invalid(String),
    /// A text is too long: which, counted from 1. None was taken.
    TooLong(u64),
    /// A text is not UTF-8: which, counted from 1. None was taken.
    NotUtf8(u64),
    /// The receiver is the writer.
    Own,
    /// The hub cannot be reached, or refuses.
    Hub {
        /// Cause.
        cause: String,
        /// Another attempt may succeed.
        is_transient: bool,
    },
    /// The store failed.
    Store(String),
    /// As many requests wait as there may be.
    Busy,
    /// The process ends.
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
            Self::Busy => f.write_str("too many commands wait"),
            Self::Stopping => f.write_str("the process ends"),
        }
    }
}

impl error::Error for LocalError {}

/// Cause why a request has no reply, or not the one that was asked for.
#[derive(Debug)]
#[non_exhaustive]
pub enum LocalCallError {
    /// No process listens.
    NotRunning,
    /// The request was not sent, or the reply not read.
    Frame(ControlFrameError),
    /// The reply is of another request: the process is of another version.
    Unexpected,
    /// The texts cannot be read.
    Input(io::Error),
    /// The texts are longer than [`MAX_TEXTS_LEN`].
    TooMany,
    /// The request failed.
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
            Self::NotRunning => f.write_str("no process stays at the hub"),
            Self::Frame(error) => error.fmt(f),
            Self::Unexpected => f.write_str("the reply is of another request"),
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
