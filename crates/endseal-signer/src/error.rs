//! Errors of the signer's library functions, one enum per operation.

use core::fmt;

use endseal_nostr::encrypted_key::SealError;
use endseal_store::{CreateStoreError, OpenStoreError, StoreError};

/// Reason why bytes are not a valid record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordError {
    /// The value or its name is too short, or has bytes behind its last field.
    Length,
    /// The record has another version, so newer software wrote it.
    Version,
    /// A field has a number, key or text that no signer writes.
    Value,
}

impl RecordError {
    /// Returns the stable name of the class, as in the test vectors.
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

/// Reason why the state could not be loaded.
#[derive(Debug)]
#[non_exhaustive]
pub enum LoadError {
    /// The store could not be read.
    Store(StoreError),
    /// A record of this kind number is malformed.
    Record(u32, RecordError),
    /// Records contradict each other; the text says how.
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

/// Reason why the store of a signer was not created. If the directory is not empty afterwards,
/// opening the signer continues the creation.
#[derive(Debug)]
#[non_exhaustive]
pub enum CreateSignerError {
    /// The store could not be created.
    Create(CreateStoreError),
    /// The store was created, but its settings could not be written.
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

/// Reason why the store of a signer was not opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenSignerError {
    /// The store does not open. A wrong passphrase is [`OpenStoreError::Authentication`].
    Open(OpenStoreError),
    /// The store opens, but it is damaged or not the store of a signer.
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

/// Reason why a change was refused. A refused change has no effect. After [`StateError::Store`] the
/// transaction can only be dropped.
#[derive(Debug)]
#[non_exhaustive]
pub enum StateError {
    /// The store could not be written or read.
    Store(StoreError),
    /// A limit on the number of records is reached.
    Limit(StateLimit),
    /// No app has this transport key.
    UnknownApp,
    /// No user has this public key.
    UnknownUser,
    /// The app does not have the next free number, or its transport key is already in use.
    AppNumber,
    /// The signer already has a user with this key.
    UserExists,
    /// The event is not newer than the floor, so it may repeat an event that was forgotten.
    Floor,
    /// An earlier transaction changed the state and was not committed. Call
    /// [`recover`](crate::SignerStore::recover).
    Stale,
}

/// Sort of record whose limit is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StateLimit {
    /// Users of the signer.
    Users,
    /// Apps of the signer.
    Apps,
    /// Rules of one app.
    Rules,
    /// Remembered events.
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
            Self::AppNumber => {
                "the app's number is not the next one, or its transport key is in use"
            }
            Self::UserExists => "the signer already has this user key",
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

/// Reason why the users' keys could not be decrypted.
#[derive(Debug)]
#[non_exhaustive]
pub enum UnlockError {
    /// The passphrase is wrong.
    Passphrase,
    /// There is not enough free memory to derive the key.
    Memory,
    /// The passphrase is right, but a user's key does not decrypt with it or is another key.
    Key,
    /// The log line could not be written, so the keys stay encrypted.
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
            Self::Memory => "there is not enough free memory to derive the key",
            Self::Unwritten => "the audit log cannot be written",
            Self::Key => "a user key cannot be decrypted with the signer's passphrase",
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

/// Reason why a user key was not imported.
#[derive(Debug)]
#[non_exhaustive]
pub enum ImportError {
    /// The passphrase is not the signer's, or could not be checked.
    Unlock(UnlockError),
    /// The key could not be encrypted.
    Seal(SealError),
    /// The key could not be recorded.
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
