//! Errors of linking a device.

use core::{error, fmt};
use std::io;

use endseal_session::EngineError;

use super::error::{HubError, SyncError};

/// Reason why a device was not linked.
#[derive(Debug)]
#[non_exhaustive]
pub enum LinkError {
    /// The archive cannot be read or written.
    Archive(io::Error),
    /// The hub does not take the whole archive: the mailbox of the new device is full, or the
    /// archive has more parts than a number of 32 bits.
    Full,
    /// The hub failed or refused.
    Hub(HubError),
    /// The store failed.
    Engine(EngineError),
}

impl LinkError {
    /// Returns true if no other device has registered this one yet.
    #[must_use]
    pub fn is_unregistered(&self) -> bool {
        use endseal_codec::hub::Code;
        matches!(self, Self::Hub(HubError::Refused(Code::REGISTERED)))
    }
}

impl From<HubError> for LinkError {
    fn from(error: HubError) -> Self {
        Self::Hub(error)
    }
}

impl From<EngineError> for LinkError {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

impl From<SyncError> for LinkError {
    fn from(error: SyncError) -> Self {
        match error {
            SyncError::Engine(error) => Self::Engine(error),
            SyncError::Hub(error) => Self::Hub(error),
            // Putting frames checks neither.
            SyncError::NotJoined | SyncError::Restored => Self::Full,
        }
    }
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Archive(_) => f.write_str("cannot read or write the archive of the link"),
            Self::Full => f.write_str("the hub does not take the whole history of this device"),
            Self::Hub(error) => error.fmt(f),
            Self::Engine(error) => error.fmt(f),
        }
    }
}

impl error::Error for LinkError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Archive(error) => Some(error),
            Self::Full => None,
            Self::Hub(error) => error.source(),
            Self::Engine(error) => error.source(),
        }
    }
}
