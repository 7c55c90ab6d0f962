//! Errors of the store in the state directory.

use core::{error, fmt};
use std::io;
use std::path::PathBuf;

use endseal_keyring::device::DeviceId;
use endseal_session::{EngineError, SendError};
use endseal_store::{CreateStoreError, OpenStoreError, RestoreError};

/// Reason why the sessions cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum SessionsError {
    /// The store was not created.
    Create {
        /// Path of the new store.
        path: PathBuf,
        /// Reason why it was not created.
        error: CreateStoreError,
    },
    /// The engine or its store failed.
    Engine(EngineError),
    /// There is no store at this path.
    Missing(PathBuf),
    /// The store cannot be opened.
    Open {
        /// Path of the store.
        path: PathBuf,
        /// Reason why it cannot be opened.
        error: OpenStoreError,
    },
    /// The store belongs to a device with this number, not the requested one.
    OtherDevice(DeviceId),
    /// The store was not restored from the backup.
    Restore {
        /// Path of the backup.
        backup: PathBuf,
        /// Reason why it was not restored.
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

/// Reason why texts were not encrypted. None of them was.
#[derive(Debug)]
#[non_exhaustive]
pub enum TextError {
    /// The input cannot be read.
    Input(io::Error),
    /// The text with this number, counted from 1, is longer than a message may be.
    TooLong(u64),
    /// The session or the store failed.
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
