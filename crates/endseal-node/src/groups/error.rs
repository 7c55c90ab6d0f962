//! Errors of groups and of imported rosters.

use core::{error, fmt};
use std::path::PathBuf;

use endseal_crypto::ed25519;
use endseal_envelope::{OpenError, RecipientsError, SealError};
use endseal_keyring::Name;
use endseal_keyring::roster::{
    ChangeRosterError, InvalidMembers, ParseRosterError, RosterChainError, SignRosterError,
};

use crate::error::FileError;

/// Reason why a group was not read, created or changed.
#[derive(Debug)]
#[non_exhaustive]
pub enum GroupError {
    /// The requested change is not possible in this group.
    Change(ChangeRosterError),
    /// The epoch key cannot be opened. This identity is not a member, or the roster is forged.
    EpochKey(OpenError),
    /// The content that was sealed as the epoch key has the wrong length.
    EpochKeyLength,
    /// A group with this local name exists already.
    Exists(Name),
    /// A file cannot be read or written.
    File(FileError),
    /// The members cannot form a roster.
    Members(InvalidMembers),
    /// This identity is neither the owner of the group nor one of its admins.
    NotPermitted(Name),
    /// The stored file is not a valid roster.
    Parse {
        /// Path of the damaged file.
        path: PathBuf,
        /// Fault in the roster.
        error: ParseRosterError,
    },
    /// The source of randomness failed.
    Random,
    /// No envelope can be sealed to the members' keys.
    Recipients(RecipientsError),
    /// The name is that of the notes to oneself.
    Reserved(Name),
    /// The epoch key could not be sealed.
    Seal(SealError),
    /// The roster could not be signed.
    Sign(SignRosterError),
    /// No roster of a group with this local name is known.
    Unknown(Name),
}

/// Reason why a roster of another owner was not imported.
#[derive(Debug)]
#[non_exhaustive]
pub enum ImportError {
    /// The roster does not supersede the newest known roster of its group.
    Chain(RosterChainError),
    /// The known groups cannot be read, or the roster cannot be written.
    Group(GroupError),
    /// The group is already known under this local name, and another name was requested.
    OtherName(Name),
    /// The content is not a valid roster.
    Parse(ParseRosterError),
    /// The group is unknown and its owner is not trusted.
    UnknownOwner(ed25519::PublicKey),
}

impl From<FileError> for GroupError {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

impl fmt::Display for GroupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Change(_) => f.write_str("the group cannot be changed in this way"),
            Self::EpochKey(_) => f.write_str("cannot open the group's key"),
            Self::EpochKeyLength => f.write_str("the group's key has the wrong length"),
            Self::Exists(name) => write!(f, "there is a group '{name}' already"),
            Self::File(error) => error.fmt(f),
            Self::Members(_) => f.write_str("the group cannot have these members"),
            Self::NotPermitted(name) => {
                write!(f, "only the owner and the admins of the group '{name}' change it")
            }
            Self::Parse { path, .. } => write!(f, "cannot use '{}'", path.display()),
            Self::Random => f.write_str("the source of randomness failed"),
            Self::Recipients(_) => f.write_str("cannot seal to the members' keys"),
            Self::Reserved(name) => write!(f, "'{name}' is the name of your notes to yourself"),
            Self::Seal(_) => f.write_str("cannot seal the group's key"),
            Self::Sign(_) => f.write_str("cannot sign the roster"),
            Self::Unknown(name) => write!(f, "there is no group '{name}'"),
        }
    }
}

impl error::Error for GroupError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Change(error) => Some(error),
            Self::EpochKey(error) => Some(error),
            Self::File(error) => error.source(),
            Self::Members(error) => Some(error),
            Self::Parse { error, .. } => Some(error),
            Self::Recipients(error) => Some(error),
            Self::Seal(error) => Some(error),
            Self::Sign(error) => Some(error),
            Self::EpochKeyLength
            | Self::Exists(_)
            | Self::Reserved(_)
            | Self::NotPermitted(_)
            | Self::Random
            | Self::Unknown(_) => None,
        }
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chain(_) => f.write_str("the roster does not follow the newest known one"),
            Self::Group(error) => error.fmt(f),
            Self::OtherName(name) => write!(f, "the group is known as '{name}' here"),
            Self::Parse(_) => f.write_str("the file is not a valid roster"),
            Self::UnknownOwner(_) => f.write_str("the owner of the group is not a contact"),
        }
    }
}

impl error::Error for ImportError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Chain(error) => Some(error),
            Self::Group(error) => error.source(),
            Self::Parse(error) => Some(error),
            Self::OtherName(_) | Self::UnknownOwner(_) => None,
        }
    }
}
