//! Errors of the service.

use core::{error, fmt};

use endseal_transport::BindError;

use crate::store::StorageError;

/// Why a hub does not serve.
#[derive(Debug)]
#[non_exhaustive]
pub enum ServeError {
    /// The database.
    Storage(StorageError),
    /// The socket.
    Bind(BindError),
    /// A thread cannot be started.
    Thread(std::io::Error),
}

impl From<StorageError> for ServeError {
    fn from(error: StorageError) -> Self {
        Self::Storage(error)
    }
}

impl From<BindError> for ServeError {
    fn from(error: BindError) -> Self {
        Self::Bind(error)
    }
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Storage(error) => error.fmt(f),
            Self::Bind(error) => error.fmt(f),
            Self::Thread(_) => f.write_str("a thread cannot be started"),
        }
    }
}

impl error::Error for ServeError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Storage(error) => error.source(),
            Self::Bind(error) => error.source(),
            Self::Thread(error) => Some(error),
        }
    }
}
