//! Errors of the store in the state directory.

use core::{error, fmt};
use std::io;
use std::path::PathBuf;

use endseal_keyring::device::DeviceId;
use endseal_session::{EngineError, SendError};
use endseal_store::{CreateStoreError, OpenStoreError, RestoreError};

/// Why there are no sessions to work with.
#[derive(Debug)]
#[non_exhaustive]
pub enum SessionsError {
    /// No store was made.
    Create {
        /// Where it would be.
        path: PathBuf,
        /// Why.
        error: CreateStoreError,
    },
    /// The engine.
    Engine(EngineError),
    /// There is no store yet.
    Missing(PathBuf),
    /// The store does not open.
    Open {
        /// Which.
        path: PathBuf,
        /// Why.
        error: OpenStoreError,
    },
    /// The store is that of a device with another number.
    OtherDevice(DeviceId),
    /// No store was made from the backup.
    Restore {
        /// Which.
        backup: PathBuf,
        /// Why.
        error: RestoreError,
    },
}

impl From<EngineError> for SessionsError {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

impl fmt::Display for SessionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Create { path, .. } => write!(f, "cannot make the store '{}'", path.display()),
            Self::Engine(error) => error.fmt(f),
            Self::Missing(path) => write!(f, "there is no store '{}'", path.display()),
            Self::Open { path, .. } => write!(f, "cannot open the store '{}'", path.display()),
            Self::OtherDevice(device) => write!(f, "this is device {device} already"),
            Self::Restore { backup, .. } => write!(f, "cannot restore '{}'", backup.display()),
        }
    }
}

impl error::Error for SessionsError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Create { error, .. } => Some(error),
            Self::Engine(error) => error.source(),
            Self::Open { error, .. } => Some(error),
            Self::Restore { error, .. } => Some(error),
            _ => None,
        }
    }
}

/// Why texts were not encrypted. None of them was.
#[derive(Debug)]
#[non_exhaustive]
pub enum TextError {
    /// The texts cannot be read.
    Input(io::Error),
    /// A text is longer than a message may be: which, counted from 1.
    TooLong(u64),
    /// The session.
    Send(SendError),
}

impl From<EngineError> for TextError {
    fn from(error: EngineError) -> Self {
        Self::Send(error.into())
    }
}

impl From<SendError> for TextError {
    fn from(error: SendError) -> Self {
        Self::Send(error)
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(_) => f.write_str("cannot read the texts"),
            Self::TooLong(number) => write!(f, "text {number} is longer than a message may be"),
            Self::Send(error) => error.fmt(f),
        }
    }
}

impl error::Error for TextError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Input(error) => Some(error),
            Self::Send(error) => error.source(),
            Self::TooLong(_) => None,
        }
    }
}
