//! Conversion of errors of sessions and the store into failures.

use endseal_node::sessions::{ReceiveError, SessionsError, TextError, WriteOutboxError};
use endseal_session::group::GroupError;
use endseal_session::{EngineError, FileRecordError, GroupChangeError, SendError};
use endseal_store::{BackupError, CreateStoreError, OpenStoreError, RestoreError, StoreError};

use super::{Failure, Kind, io_hint};

const NEW_STORE: &str = "put a backup in its place: endseal store restore DIR; or make a new device: \
                         endseal init --paper --force";

impl From<SessionsError> for Failure {
    fn from(error: SessionsError) -> Self {
        let failure = Self::of(Kind::Configuration, &error);
        match error {
            SessionsError::Engine(error) => error.into(),
            SessionsError::Missing(_) => failure.hint(NEW_STORE),
            SessionsError::Open { error, .. } => failure.opening(&error),
            SessionsError::OtherDevice(_) => Self { kind: Kind::Usage, ..failure },
            SessionsError::Restore { error: RestoreError::Place(error), .. } => match error {
                CreateStoreError::Exists => Self { kind: Kind::Usage, ..failure }
                    .hint("a store is never replaced: move 'store' in the state directory away"),
                _ => failure.creating(&error),
            },
            SessionsError::Restore { error: RestoreError::Log, .. } => {
                Self { kind: Kind::Refused, ..failure }.hint(
                    "restore another copy; or put this one where the store was and open it there, \
                     which keeps the commits before the damage",
                )
            }
            SessionsError::Restore { error: RestoreError::Backup(error), .. } => match error {
                OpenStoreError::Missing => Self { kind: Kind::Usage, ..failure }
                    .hint("a backup is the folder that endseal store backup made"),
                _ => Self { kind: Kind::Refused, ..failure }.opening(&error),
            },
            SessionsError::Create { error, .. } => failure.creating(&error),
            _ => failure,
        }
    }
}

impl Failure {
    fn opening(self, error: &OpenStoreError) -> Self {
        match error {
            OpenStoreError::Locked => Self { kind: Kind::Environment, ..self }
                .hint("try again when it has ended, or wait for it with --wait TIME"),
            OpenStoreError::Authentication => self.hint(
                "it was made by another device (perhaps one that is kept as \
                 device.endseal.old-N), or its key file was changed; nothing was changed now",
            ),
            OpenStoreError::Damaged(_) => self.hint(
                "nothing was changed; move it away, and put a backup in its place with: endseal \
                 store restore DIR",
            ),
            OpenStoreError::OtherVersion(_) => self.hint("another version of endseal made it"),
            OpenStoreError::Full => self.full(),
            OpenStoreError::Io(_) | OpenStoreError::NoMemory => {
                Self { kind: Kind::Environment, ..self }
            }
            _ => self,
        }
    }

    fn creating(self, error: &CreateStoreError) -> Self {
        match error {
            CreateStoreError::Exists => Self { kind: Kind::Usage, ..self },
            CreateStoreError::Full => self.full(),
            _ => Self { kind: Kind::Environment, ..self },
        }
    }

    fn full(self) -> Self {
        Self { kind: Kind::Environment, ..self }.hint("make room; nothing was changed")
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::Damaged(_) => Self::of(Kind::Configuration, &error).hint(
                "endseal store check shows more; endseal store restore makes a store of a backup",
            ),
            StoreError::Full => Self::of(Kind::Environment, &error).full(),
            StoreError::Limit(_) => Self::of(Kind::Usage, &error),
            StoreError::Io(cause) => {
                let failure = Self::of(Kind::Environment, &error);
                io_hint(cause)
                    .map_or_else(|| Self::of(Kind::Environment, &error), |hint| failure.hint(hint))
            }
            _ => Self::of(Kind::Environment, &error),
        }
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Store(error) => error.into(),
            EngineError::Damaged(_) => Self::of(Kind::Configuration, &error)
                .hint("endseal store restore makes a store of a backup"),
            EngineError::NoDevice => Self::of(Kind::Configuration, &error).hint(NEW_STORE),
            EngineError::Reopen(error) => {
                Self::of(Kind::Environment, &EngineError::Ended).because(&error)
            }
            _ => Self::of(Kind::Environment, &error),
        }
    }
}

impl From<SendError> for Failure {
    fn from(error: SendError) -> Self {
        match error {
            SendError::Engine(error) => error.into(),
            SendError::Restored => GroupChangeError::Restored.into(),
            SendError::CommitRequired => {
                Self::of(Kind::Usage, &error).hint("endseal session group update makes it")
            }
            SendError::NoGroup | SendError::TooLong => Self::of(Kind::Usage, &error),
            _ => Self::of(Kind::Environment, &error),
        }
    }
}

impl From<GroupChangeError> for Failure {
    fn from(error: GroupChangeError) -> Self {
        let failure = Self::of(Kind::Usage, &error);
        match error {
            GroupChangeError::Engine(error) => error.into(),
            GroupChangeError::Group(error) => match error {
                GroupError::CommitPending => failure.hint(
                    "endseal session group accept makes it hold, endseal session group discard takes it \
                     back",
                ),
                GroupError::InvalidKeyPackage => Self { kind: Kind::Refused, ..failure }.hint(
                    "ask for a new one (endseal session group key-package); a device is in a group once",
                ),
                GroupError::RemovesItself => failure.hint("endseal session group leave"),
                GroupError::Internal => Self { kind: Kind::Environment, ..failure },
                _ => failure,
            },
            GroupChangeError::KeyPackageUsed => Self { kind: Kind::Refused, ..failure }
                .hint("ask for a new one; they make it with: endseal session group key-package"),
            GroupChangeError::Superseded(_) => Self { kind: Kind::Refused, ..failure }
                .hint("ask for a key package of the device that is used now"),
            GroupChangeError::Restored => Self { kind: Kind::Refused, ..failure }.hint(
                "give a member a new key package (endseal session group key-package), who removes this \
                 device and adds it again",
            ),
            _ => failure,
        }
    }
}

impl From<TextError> for Failure {
    fn from(error: TextError) -> Self {
        match error {
            TextError::Send(error) => error.into(),
            TextError::TooLong(_) => Self::of(Kind::Usage, &error)
                .hint("a text has at most 1,048,064 bytes; files of any length: endseal seal"),
            _ => Self::of(Kind::Environment, &error),
        }
    }
}

impl From<WriteOutboxError> for Failure {
    fn from(error: WriteOutboxError) -> Self {
        match error {
            WriteOutboxError::Engine(error) => error.into(),
            WriteOutboxError::File(error) => error.into(),
            _ => Self::of(Kind::Environment, &error),
        }
    }
}

impl From<ReceiveError> for Failure {
    fn from(error: ReceiveError) -> Self {
        match error {
            ReceiveError::Engine(error) => error.into(),
            ReceiveError::Format(FileRecordError::Version) => {
                Self::of(Kind::Refused, &error).hint("a newer endseal may know it")
            }
            ReceiveError::Format(_) => {
                Self::of(Kind::Refused, &error).hint("ask for another copy of it")
            }
            _ => Self::of(Kind::Environment, &error),
        }
    }
}

impl From<BackupError> for Failure {
    fn from(error: BackupError) -> Self {
        match error {
            BackupError::Damaged(_) => Self::of(Kind::Configuration, &error)
                .hint("endseal store check shows more; an earlier backup may be whole"),
            BackupError::Exists => {
                Self::of(Kind::Usage, &error).hint("name a folder that is not there yet")
            }
            BackupError::Full => Self::of(Kind::Environment, &error).full(),
            _ => Self::of(Kind::Environment, &error),
        }
    }
}
