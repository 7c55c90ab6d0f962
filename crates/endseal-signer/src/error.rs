//! Errors, one enum for each operation.

use core::fmt;

use endseal_nostr::encrypted_key::SealError;
use endseal_store::{CreateStoreError, OpenStoreError, StoreError};

/// Cause why bytes are no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordError {
    /// The value or its name ends within a field, or behind the last one.
    Length,
    /// Another version: made by newer software.
    Version,
    /// A number, key or text that no writer writes.
    Value,
}

impl RecordError {
    /// A stable name of the class.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Version => "version",
            Self::Value => "value",
        }
    }
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Length => "the record has a wrong length",
            Self::Version => "the version of the record is not supported",
            Self::Value => "the record has a value that no signer writes",
        })
    }
}

impl core::error::Error for RecordError {}

/// The state was not loaded.
#[derive(Debug)]
#[non_exhaustive]
pub enum LoadError {
    /// The store failed.
    Store(StoreError),
    /// A record of this kind is malformed.
    Record(u32, RecordError),
    /// Records contradict each other, as described.
    Inconsistent(&'static str),
}

impl From<StoreError> for LoadError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(error) => error.fmt(f),
            Self::Record(kind, error) => write!(f, "a record of kind {kind}: {error}"),
            Self::Inconsistent(what) => write!(f, "the signer's records are damaged: {what}"),
        }
    }
}

impl core::error::Error for LoadError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Store(error) => Some(error),
            _ => None,
        }
    }
}

/// The store of a signer was not made. If the place is not empty now, opening continues there.
#[derive(Debug)]
#[non_exhaustive]
pub enum CreateSignerError {
    /// The store was not made.
    Create(CreateStoreError),
    /// The store was made, and its settings were not written.
    Load(LoadError),
}

impl From<CreateStoreError> for CreateSignerError {
    fn from(error: CreateStoreError) -> Self {
        Self::Create(error)
    }
}

impl From<LoadError> for CreateSignerError {
    fn from(error: LoadError) -> Self {
        Self::Load(error)
    }
}

impl fmt::Display for CreateSignerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Create(error) => error.fmt(f),
            Self::Load(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for CreateSignerError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Create(error) => Some(error),
            Self::Load(error) => Some(error),
        }
    }
}

/// The store of a signer was not opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenSignerError {
    /// The store does not open; [`OpenStoreError::Authentication`] for a wrong passphrase.
    Open(OpenStoreError),
    /// It opens, and is not a signer's, or damaged.
    Load(LoadError),
}

impl From<OpenStoreError> for OpenSignerError {
    fn from(error: OpenStoreError) -> Self {
        Self::Open(error)
    }
}

impl From<LoadError> for OpenSignerError {
    fn from(error: LoadError) -> Self {
        Self::Load(error)
    }
}

impl fmt::Display for OpenSignerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(error) => error.fmt(f),
            Self::Load(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for OpenSignerError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Open(error) => Some(error),
            Self::Load(error) => Some(error),
        }
    }
}

/// A change was refused, and nothing of it was done; or the store failed, and the transaction can
/// only be dropped.
#[derive(Debug)]
#[non_exhaustive]
pub enum StateError {
    /// The store failed.
    Store(StoreError),
    /// As many as the signer keeps are there already.
    Limit(StateLimit),
    /// There is no app with this transport key.
    UnknownApp,
    /// There is no user with this key.
    UnknownUser,
    /// The app does not have the next number, or its transport key is in use.
    AppNumber,
    /// The user has this key already.
    UserExists,
    /// The event is at or below the floor: it may be a repetition of one that was forgotten.
    Floor,
    /// A transaction before changed something and was not committed:
    /// [`recover`](crate::SignerStore::recover).
    Stale,
}

/// Records of which there were too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StateLimit {
    /// Users.
    Users,
    /// Apps.
    Apps,
    /// Rules of one app.
    Rules,
    /// Events that were seen.
    Events,
    /// Relays of the signer or of one app.
    Relays,
}

impl From<StoreError> for StateError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Store(error) => return error.fmt(f),
            Self::Limit(limit) => return limit.fmt(f),
            Self::UnknownApp => "there is no such app",
            Self::UnknownUser => "there is no such user key",
            Self::AppNumber => "the app has not the next number, or a transport key in use",
            Self::UserExists => "the user key is there already",
            Self::Floor => "the event is older than those that were forgotten",
            Self::Stale => "the last change was not written; load the state again",
        })
    }
}

impl core::error::Error for StateError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Store(error) => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for StateLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Users => "the signer has as many user keys as it can keep",
            Self::Apps => "the signer has as many apps as it can keep",
            Self::Rules => "the app has as many rules as it can have",
            Self::Events => "more events in ten minutes than the signer can remember",
            Self::Relays => "more relays than one app or the signer can have",
        })
    }
}

/// The keys of users were not decrypted.
#[derive(Debug)]
#[non_exhaustive]
pub enum UnlockError {
    /// The passphrase is wrong.
    Passphrase,
    /// There is not as much memory as the derivation of a key needs.
    Memory,
    /// The passphrase is right, and a user's key does not open under it or is another key.
    Key,
    /// The log cannot be written, so that the keys stay encrypted.
    Unwritten,
    /// The key file of the store cannot be read.
    Store(OpenStoreError),
}

impl From<OpenStoreError> for UnlockError {
    fn from(error: OpenStoreError) -> Self {
        match error {
            OpenStoreError::Authentication => Self::Passphrase,
            OpenStoreError::NoMemory => Self::Memory,
            error => Self::Store(error),
        }
    }
}

impl fmt::Display for UnlockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Passphrase => "the passphrase is wrong",
            Self::Memory => "there is not as much memory as the derivation of a key needs",
            Self::Unwritten => "the audit log cannot be written",
            Self::Key => "an encrypted user key does not open under the signer's passphrase",
            Self::Store(error) => return error.fmt(f),
        })
    }
}

impl core::error::Error for UnlockError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Store(error) => Some(error),
            _ => None,
        }
    }
}

/// A user key was not imported.
#[derive(Debug)]
#[non_exhaustive]
pub enum ImportError {
    /// The passphrase is not the signer's.
    Unlock(UnlockError),
    /// The key was not encrypted.
    Seal(SealError),
    /// The key was not recorded.
    State(StateError),
}

impl From<UnlockError> for ImportError {
    fn from(error: UnlockError) -> Self {
        Self::Unlock(error)
    }
}

impl From<SealError> for ImportError {
    fn from(error: SealError) -> Self {
        Self::Seal(error)
    }
}

impl From<StateError> for ImportError {
    fn from(error: StateError) -> Self {
        Self::State(error)
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unlock(error) => error.fmt(f),
            Self::Seal(error) => error.fmt(f),
            Self::State(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ImportError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Unlock(error) => Some(error),
            Self::Seal(error) => Some(error),
            Self::State(error) => Some(error),
        }
    }
}
