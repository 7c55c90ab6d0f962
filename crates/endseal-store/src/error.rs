//! Errors, one enum for each operation. Each has stable codes.

use core::fmt;
use std::io;

use endseal_crypto::argon2id::NoMemory;
use endseal_crypto::random::RandomError;

use crate::format::VERSION;

pub(crate) mod convert;
mod copy;
pub(crate) mod finding;

pub use copy::{BackupError, ReprotectError, RestoreError};
pub use finding::Finding;

/// Reason why no store was made. Nothing is left at its place.
#[derive(Debug)]
#[non_exhaustive]
pub enum CreateStoreError {
    /// There is something at that place already.
    Exists,
    /// The medium is full. Free space on it, then try again.
    Full,
    /// The medium or the system failed.
    Io(io::Error),
    /// The memory that the parameters ask for could not be had.
    NoMemory,
    /// The source of randomness failed.
    Random,
}

/// Reason why a store does not open. Nothing in it was changed.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenStoreError {
    /// The secret is wrong or of another kind than the store's protection, or the key file is
    /// damaged. These cases cannot be distinguished.
    Authentication,
    /// The database is damaged, or not a store's. Restore a backup.
    Damaged(Finding),
    /// The medium is full: opening has to write a few pages.
    Full,
    /// The medium or the system failed.
    Io(io::Error),
    /// Another process, or another part of this one, has it open.
    Locked,
    /// There is no store at that place, or no key file at its.
    Missing,
    /// The memory that the key file asks for could not be had.
    NoMemory,
    /// The store has this version of the format, which this program does not read.
    OtherVersion(u32),
}

/// Reason why an operation on an open store failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// Stored bytes are damaged. Run a check, restore a backup. If it was a page, the store is to
    /// be [reopened](crate::Store::reopen), which looks for damage; an error of reading may pass.
    Damaged(Finding),
    /// The row is there already: the message was delivered before.
    Duplicate,
    /// The transaction failed before with [`Self::Full`] or [`Self::Io`], and can only be dropped.
    Ended,
    /// The medium is full. Nothing of the transaction was written; the store works again when space
    /// has been freed.
    Full,
    /// The medium failed. Nothing of the transaction was written. If it failed in reading, the
    /// store is to be [reopened](crate::Store::reopen)
    /// ([`Store::is_uncertain`](crate::Store::is_uncertain)).
    Io(io::Error),
    /// Larger than the store takes. Nothing was written.
    Limit(Limit),
    /// A row that this one refers to is not there: a reference of another store.
    Reference,
    /// A commit failed and may have happened all the same, or the medium failed before. Drop all
    /// data that came from this store, and [reopen](crate::Store::reopen) it.
    Uncertain,
}

/// Kind of the value that exceeded a limit of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// A plaintext, a ciphertext or the position in a queue.
    Body,
    /// A name or an id, which has at least one byte, too.
    Name,
    /// A number beyond 2^63 - 1.
    Number,
    /// A state, a record or a certificate.
    State,
}

impl CreateStoreError {
    /// A stable name of the class.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Exists => "exists",
            Self::Full => "full",
            Self::Io(_) => "io",
            Self::NoMemory => "memory",
            Self::Random => "random",
        }
    }
}

impl OpenStoreError {
    /// Converts an error of opening a file, whose absence means that there is no store.
    pub(crate) fn missing(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::Missing,
            _ => Self::Io(error),
        }
    }

    /// A stable name of the class.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Authentication => "authentication",
            Self::Damaged(_) => "damaged",
            Self::Full => "full",
            Self::Io(_) => "io",
            Self::Locked => "locked",
            Self::Missing => "missing",
            Self::NoMemory => "memory",
            Self::OtherVersion(_) => "other-version",
        }
    }
}

impl StoreError {
    /// A stable name of the class.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Damaged(_) => "damaged",
            Self::Duplicate => "duplicate",
            Self::Ended => "ended",
            Self::Full => "full",
            Self::Io(_) => "io",
            Self::Limit(_) => "limit",
            Self::Reference => "reference",
            Self::Uncertain => "uncertain",
        }
    }
}

impl fmt::Display for CreateStoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exists => f.write_str("there is something at the store's place already"),
            Self::Full => f.write_str(FULL),
            Self::Io(error) => write!(f, "the store cannot be made: {error}"),
            Self::NoMemory => f.write_str(NO_MEMORY),
            Self::Random => f.write_str("the source of randomness failed"),
        }
    }
}

impl fmt::Display for OpenStoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Authentication => f.write_str("the secret is wrong or the key file was changed"),
            Self::Damaged(finding) => write!(f, "the store is damaged: {finding}"),
            Self::Full => f.write_str(FULL),
            Self::Io(error) => write!(f, "the store cannot be read: {error}"),
            Self::Locked => f.write_str("this or another process has the store open"),
            Self::Missing => f.write_str("there is no store, or its key file is missing"),
            Self::NoMemory => f.write_str(NO_MEMORY),
            Self::OtherVersion(version) => {
                write!(f, "the store has version {version}; this program reads {}", VERSION)
            }
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged(finding) => write!(f, "the store is damaged: {finding}"),
            Self::Duplicate => f.write_str("it is in the store already"),
            Self::Ended => f.write_str("the transaction has failed before"),
            Self::Full => f.write_str(FULL),
            Self::Io(error) => write!(f, "the store cannot be used: {error}"),
            Self::Limit(limit) => write!(f, "too large for the store: {limit}"),
            Self::Reference => f.write_str("it refers to something that is not in the store"),
            Self::Uncertain => f.write_str("the last commit failed; open the store again"),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Body => "a message of more than 1 MiB",
            Self::Name => "a name or id of other than 1 to 64 bytes",
            Self::Number => "a number beyond 2^63 - 1",
            Self::State => "a state or record of more than 16 MiB",
        })
    }
}

impl core::error::Error for CreateStoreError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl core::error::Error for OpenStoreError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl core::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<NoMemory> for CreateStoreError {
    fn from(_: NoMemory) -> Self {
        Self::NoMemory
    }
}

impl From<RandomError> for CreateStoreError {
    fn from(_: RandomError) -> Self {
        Self::Random
    }
}

impl From<NoMemory> for OpenStoreError {
    fn from(_: NoMemory) -> Self {
        Self::NoMemory
    }
}

const FULL: &str = "the medium is full";
const NO_MEMORY: &str = "not enough memory for Argon2id with these parameters";
