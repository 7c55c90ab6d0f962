//! Errors of the signer's library functions, one enum per operation.

use core::fmt;

use endseal_nostr::encrypted_key::SealError;
use endseal_store::{CreateStoreError, OpenStoreError, ReprotectError, StoreError};

/// Reason why bytes are not a valid record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The value or its name is too short, or has bytes behind its last field.
    #[error("the record has a wrong length")]
    Length,
    /// The record has another version, so newer software wrote it.
    #[error("the version of the record is not supported")]
    Version,
    /// A field has a number, key or text that no signer writes.
    #[error("the record has a value that no signer writes")]
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

/// Reason why the state could not be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The store could not be read.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// A record of this kind number is malformed.
    #[error("a record of kind {0}: {1}")]
    Record(u32, RecordError),
    /// Records contradict each other; the text says how.
    #[error("the signer's records are damaged: {0}")]
    Inconsistent(&'static str),
}

/// Reason why the store of a signer was not created. If the directory is not empty afterwards,
/// opening the signer continues the creation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CreateSignerError {
    /// The store could not be created.
    #[error("{0}")]
    Create(#[from] CreateStoreError),
    /// The store was created, but its settings could not be written.
    #[error("{0}")]
    Load(#[from] LoadError),
}

/// Reason why the store of a signer was not opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenSignerError {
    /// The store does not open. A wrong passphrase is [`OpenStoreError::Authentication`].
    #[error("{0}")]
    Open(#[from] OpenStoreError),
    /// The store opens, but it is damaged or not the store of a signer.
    #[error("{0}")]
    Load(#[from] LoadError),
}

/// Reason why a change was refused. A refused change has no effect. After [`StateError::Store`] the
/// transaction can only be dropped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// The store could not be written or read.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// A limit on the number of records is reached.
    #[error("{0}")]
    Limit(StateLimit),
    /// No app has this transport key.
    #[error("there is no such app")]
    UnknownApp,
    /// No user has this public key.
    #[error("there is no such user key")]
    UnknownUser,
    /// The app does not have the next free number, or its transport key is already in use.
    #[error("the app's number is not the next one, or its transport key is in use")]
    AppNumber,
    /// The signer already has a user with this key.
    #[error("the signer already has this user key")]
    UserExists,
    /// The event is not newer than the floor, so it may repeat an event that was forgotten.
    #[error("the event is older than those that were forgotten")]
    Floor,
    /// An earlier transaction changed the state and was not committed. Call
    /// [`recover`](crate::SignerStore::recover).
    #[error("the last change was not written; load the state again")]
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
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UnlockError {
    /// The passphrase is wrong.
    #[error("the passphrase is wrong")]
    Passphrase,
    /// There is not enough free memory to derive the key.
    #[error("there is not enough free memory to derive the key")]
    Memory,
    /// The passphrase is right, but a user's key does not decrypt with it or is another key.
    #[error("a user key cannot be decrypted with the signer's passphrase")]
    Key,
    /// The log line could not be written, so the keys stay encrypted.
    #[error("the audit log cannot be written")]
    Unwritten,
    /// The key file of the store cannot be read.
    #[error("{0}")]
    Store(#[source] OpenStoreError),
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

/// Reason why a user key was not imported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The passphrase is not the signer's, or could not be checked.
    #[error("{0}")]
    Unlock(#[from] UnlockError),
    /// The key could not be encrypted.
    #[error("{0}")]
    Seal(#[from] SealError),
    /// The key could not be recorded.
    #[error("{0}")]
    State(#[from] StateError),
}

/// Reason why the passphrase of a signer was not changed, or not everywhere.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChangePassphraseError {
    /// The present passphrase is wrong, or a user's key does not open with it. Nothing was changed.
    #[error("{0}")]
    Unlock(#[from] UnlockError),
    /// A key could not be encrypted under the new passphrase. The present one stays.
    #[error("{0}")]
    Seal(#[from] SealError),
    /// The records could not be written. The key file says which passphrase is in force.
    #[error("{0}")]
    State(#[from] StateError),
    /// The key file could not be replaced. The present passphrase stays, or after
    /// [`ReprotectError::Uncertain`] either is in force.
    #[error("{0}")]
    Reprotect(#[from] ReprotectError),
}
