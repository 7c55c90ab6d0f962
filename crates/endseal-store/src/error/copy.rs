//! Errors of copying a store, of restoring one from a copy, and of changing its protection.

use core::fmt;
use std::io;

use endseal_crypto::random::RandomError;

use super::{CreateStoreError, FULL, Finding, NO_MEMORY, OpenStoreError, StoreError};

/// Reason why no backup was made. Nothing is left at its place.
#[derive(Debug)]
#[non_exhaustive]
pub enum BackupError {
    /// The source of the copy is damaged.
    Damaged(Finding),
    /// There is something at the backup's place already.
    Exists,
    /// The medium of the backup is full.
    Full,
    /// A medium or the system failed.
    Io(io::Error),
    /// The medium failed, and it is not known if the change was made, as with
    /// [`StoreError::Uncertain`].
    Uncertain,
}

/// Reason why no store was made from a backup. Nothing is left at its place.
#[derive(Debug)]
#[non_exhaustive]
pub enum RestoreError {
    /// The backup does not open.
    Backup(OpenStoreError),
    /// The write-ahead log beside the backup has a commit that does not read: it is damaged, or of
    /// another copy of the database.
    Log,
    /// The store cannot be made at its place.
    Place(CreateStoreError),
}

/// Reason why the protection of a store was not changed. The old protection remains, except after
/// [`Self::Uncertain`].
#[derive(Debug)]
#[non_exhaustive]
pub enum ReprotectError {
    /// The medium of the key file is full.
    Full,
    /// The medium or the system failed.
    Io(io::Error),
    /// The memory that the parameters ask for could not be had.
    NoMemory,
    /// The source of randomness failed.
    Random,
    /// The new key file is in place, but the fsync of its directory failed: after a loss of power
    /// the old one may be back. Keep both secrets until the protection was changed again without an
    /// error.
    Uncertain(io::Error),
}

impl BackupError {
    /// A stable name of the class.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Damaged(_) => "damaged",
            Self::Exists => "exists",
            Self::Full => "full",
            Self::Io(_) => "io",
            Self::Uncertain => "uncertain",
        }
    }
}

impl RestoreError {
    /// A stable name of the class.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Backup(error) => error.code(),
            Self::Log => "log",
            Self::Place(error) => error.code(),
        }
    }
}

impl ReprotectError {
    /// A stable name of the class.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Io(_) => "io",
            Self::NoMemory => "memory",
            Self::Random => "random",
            Self::Uncertain(_) => "uncertain",
        }
    }
}

impl fmt::Display for BackupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged(finding) => write!(f, "the store is damaged: {finding}"),
            Self::Exists => f.write_str("there is something at the backup's place already"),
            Self::Full => f.write_str(FULL),
            Self::Io(error) => write!(f, "the backup cannot be made: {error}"),
            Self::Uncertain => StoreError::Uncertain.fmt(f),
        }
    }
}

impl fmt::Display for RestoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Backup(error) => write!(f, "the backup does not open: {error}"),
            Self::Log => f.write_str("the log beside the backup has a commit that does not read"),
            Self::Place(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for ReprotectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str(FULL),
            Self::Io(error) => write!(f, "the key file cannot be written: {error}"),
            Self::NoMemory => f.write_str(NO_MEMORY),
            Self::Random => RandomError::default().fmt(f),
            Self::Uncertain(error) => {
                write!(
                    f,
                    "the new protection may be lost in a power cut; keep both secrets: {error}"
                )
            }
        }
    }
}

impl core::error::Error for BackupError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl core::error::Error for RestoreError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Backup(error) => Some(error),
            Self::Log => None,
            Self::Place(error) => Some(error),
        }
    }
}

impl core::error::Error for ReprotectError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Io(error) | Self::Uncertain(error) => Some(error),
            _ => None,
        }
    }
}

impl From<CreateStoreError> for BackupError {
    fn from(error: CreateStoreError) -> Self {
        match error {
            CreateStoreError::Exists => Self::Exists,
            CreateStoreError::Full => Self::Full,
            CreateStoreError::Io(error) => Self::Io(error),
            // Making a directory asks for neither.
            other => Self::Io(io::Error::other(other)),
        }
    }
}

impl From<rusqlite::Error> for BackupError {
    fn from(error: rusqlite::Error) -> Self {
        match OpenStoreError::from(error) {
            OpenStoreError::Damaged(finding) => Self::Damaged(finding),
            OpenStoreError::Full => Self::Full,
            OpenStoreError::Io(error) => Self::Io(error),
            other => Self::Io(io::Error::other(other)),
        }
    }
}

impl From<StoreError> for BackupError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Damaged(finding) => Self::Damaged(finding),
            StoreError::Full => Self::Full,
            StoreError::Io(error) => Self::Io(error),
            other => Self::Io(io::Error::other(other)),
        }
    }
}

impl From<io::Error> for BackupError {
    fn from(error: io::Error) -> Self {
        CreateStoreError::from(error).into()
    }
}

impl From<CreateStoreError> for RestoreError {
    fn from(error: CreateStoreError) -> Self {
        Self::Place(error)
    }
}

impl From<CreateStoreError> for ReprotectError {
    fn from(error: CreateStoreError) -> Self {
        match error {
            CreateStoreError::Full => Self::Full,
            CreateStoreError::NoMemory => Self::NoMemory,
            CreateStoreError::Random => Self::Random,
            CreateStoreError::Io(error) => Self::Io(error),
            // No directory is made.
            CreateStoreError::Exists => Self::Io(io::ErrorKind::AlreadyExists.into()),
        }
    }
}

impl From<io::Error> for ReprotectError {
    fn from(error: io::Error) -> Self {
        CreateStoreError::from(error).into()
    }
}
