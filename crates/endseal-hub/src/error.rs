//! The errors of the service.

use core::{error, fmt};

use endseal_transport::BindError;

use crate::store::StorageError;

/// The reason why a hub could not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum ServeError {
    /// The database could not be opened or read.
    Storage(StorageError),
    /// The socket could not be opened.
    Bind(BindError),
    /// A thread could not be started.
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
