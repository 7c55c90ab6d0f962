//! Errors of the store in the state directory.

use core::{error, fmt};
use std::path::PathBuf;

use endseal_keyring::device::DeviceId;
use endseal_session::EngineError;
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
