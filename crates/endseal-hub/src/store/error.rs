//! The error of a storage operation.

use core::{error, fmt};

/// The error of a storage operation.
#[derive(Debug)]
#[non_exhaustive]
pub enum StorageError {
    /// The disk is full.
    Full,
    /// It is not the database of a hub, or has another version.
    Format(&'static str),
    /// The address of the database is malformed, for this reason.
    Address(String),
    /// A pooler gives each transaction another connection.
    Pooled,
    /// It was copied to another database (`endseal hub migrate`), from which the hub serves.
    Retired,
    /// It is the database of a hub with another key.
    OtherHub,
    /// A migration is not possible for this reason.
    Migration(&'static str),
    /// The transaction has met another one, and can be repeated.
    Conflict,
    /// The database failed for another reason.
    Database(Box<dyn error::Error + Send + Sync>),
}

impl From<rusqlite::Error> for StorageError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DiskFull) => Self::Full,
            _ => Self::Database(Box::new(error)),
        }
    }
}

impl fmt::Display for StorageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("the disk is full"),
            Self::Format(cause) => write!(f, "it is not the database of a hub: {cause}"),
            Self::Address(cause) => write!(f, "its address is malformed: {cause}"),
            Self::Pooled => f.write_str(
                "a pooler gives each transaction another connection: let it pool by session, or connect \
                 to PostgreSQL itself",
            ),
            Self::Retired => f.write_str("it was moved to another database"),
            Self::OtherHub => f.write_str("it belongs to a hub with another key"),
            Self::Migration(cause) => f.write_str(cause),
            Self::Conflict => f.write_str("other transactions were faster each time"),
            Self::Database(error) => {
                write!(f, "the database failed: {error}")?;
                let mut source = error.source();
                while let Some(cause) = source {
                    write!(f, ": {cause}")?;
                    source = cause.source();
                }
                Ok(())
            }
        }
    }
}

impl error::Error for StorageError {}
