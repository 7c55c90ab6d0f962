//! Errors of groups.

use core::{error, fmt};
use std::path::PathBuf;

use endseal_crypto::ed25519;
use endseal_envelope::{OpenError, RecipientsError, SealError};
use endseal_keyring::Name;
use endseal_keyring::roster::{
    ChangeRosterError, InvalidMembers, ParseRosterError, RosterChainError, SignRosterError,
};

use crate::error::FileError;

/// Why a group was not read or changed.
#[derive(Debug)]
#[non_exhaustive]
pub enum GroupError {
    /// The change is not possible.
    Change(ChangeRosterError),
    /// The epoch key does not open: this identity is no member, or the roster was made to deceive.
    EpochKey(OpenError),
    /// The content that was sealed as epoch key has another length.
    EpochKeyLength,
    /// There is such a group already.
    Exists(Name),
    /// A file cannot be read or written.
    File(FileError),
    /// The members are not valid.
    Members(InvalidMembers),
    /// Somebody else owns the group.
    NotOwner(Name),
    /// A roster is damaged.
    Parse {
        /// Which file.
        path: PathBuf,
        /// Fault of the roster.
        error: ParseRosterError,
    },
    /// The source of randomness failed.
    Random,
    /// The members cannot be sealed to.
    Recipients(RecipientsError),
    /// The epoch key could not be sealed.
    Seal(SealError),
    /// The roster could not be signed.
    Sign(SignRosterError),
    /// There is no such group.
    Unknown(Name),
}

/// Why a roster of somebody else was not taken.
#[derive(Debug)]
#[non_exhaustive]
pub enum ImportError {
    /// It does not come after the newest one that is known.
    Chain(RosterChainError),
    /// The groups that are known cannot be read or written.
    Group(GroupError),
    /// The group has this name here, and was to get another one.
    OtherName(Name),
    /// It is not a roster.
    Parse(ParseRosterError),
    /// Nobody who is known owns the group.
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
            Self::Change(_) | Self::Members(_) => f.write_str("the group cannot be like that"),
            Self::EpochKey(_) => f.write_str("the group's key does not open"),
            Self::EpochKeyLength => f.write_str("the group's key has the wrong length"),
            Self::Exists(name) => write!(f, "there is a group '{name}' already"),
            Self::File(error) => error.fmt(f),
            Self::NotOwner(name) => write!(f, "somebody else owns the group '{name}'"),
            Self::Parse { path, .. } => write!(f, "cannot use '{}'", path.display()),
            Self::Random => f.write_str("the source of randomness failed"),
            Self::Recipients(_) => f.write_str("the members cannot be sealed to"),
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
            | Self::NotOwner(_)
            | Self::Random
            | Self::Unknown(_) => None,
        }
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chain(_) => f.write_str("the roster does not come after the one that is known"),
            Self::Group(error) => error.fmt(f),
            Self::OtherName(name) => write!(f, "the group is known as '{name}' here"),
            Self::Parse(_) => f.write_str("not a roster that can be used"),
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
