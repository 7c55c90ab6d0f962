//! Errors of reading, changing, signing and comparing rosters.

use core::fmt;

use super::{MAX_LEN, MAX_MEMBERS};
use crate::identity_text::ParseIdentityError;
use crate::lines::{Malformed, OpenLinesError};
use crate::name::Name;

/// Reason why bytes are not a roster.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseRosterError {
    /// The owner's or a member's identity is not one.
    Identity {
        /// Number of the line, from 1.
        line: usize,
        /// Reason why the identity was refused.
        error: ParseIdentityError,
    },
    /// The file is damaged, cut, extended, or no roster at all.
    Malformed(Malformed),
    /// The list of members is not valid.
    Members(InvalidMembers),
    /// A member's name is before that of the member above.
    Order {
        /// Number of the line, from 1.
        line: usize,
    },
    /// The signature is not the owner's, or something was changed.
    Signature,
    /// The roster is longer than [`MAX_LEN`] bytes.
    TooLong,
    /// The roster was written by a newer version of the program.
    Version,
}

/// Reason why identities are not a list of members.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidMembers {
    /// Two members have the same key, or keys that differ in the sign alone. Each of them could
    /// open what is sealed to the other.
    DuplicateKey {
        /// Name of one of the two members.
        first: Name,
        /// Name of the other member.
        second: Name,
    },
    /// Two members have this name.
    DuplicateName(Name),
    /// A group has at least one member.
    Empty,
    /// The list has more than [`MAX_MEMBERS`] members.
    TooMany,
}

/// Reason why there is no next epoch with these changes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangeRosterError {
    /// There have been 2^64 - 1 epochs.
    LastEpoch,
    /// The result is not a valid list of members.
    Members(InvalidMembers),
    /// The changes remove this name, which is not a member.
    NotAMember(Name),
}

/// Reason why a draft was not signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SignRosterError {
    /// The sealed epoch key is empty.
    NoEpochKey,
    /// The identity is not the owner of the group.
    NotOwner,
    /// The roster would be longer than [`MAX_LEN`].
    TooLong,
}

/// Reason why one roster does not come after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RosterChainError {
    /// The owner signed two histories of the group: this roster does not build on the one held.
    /// Either another person has the owner's key, or the owner deceives some of the members.
    Fork,
    /// Epochs between the two are missing.
    Gap {
        /// Epoch of the roster that is held.
        held: u64,
        /// Epoch of the roster that was offered.
        offered: u64,
    },
    /// The number of a device was given to another key.
    OtherDevice,
    /// The two rosters belong to different groups.
    OtherGroup,
    /// The two rosters were signed by different owners.
    OtherOwner,
    /// An earlier epoch than the one held: an old roster, sent by mistake or by an attacker.
    Rollback {
        /// Epoch of the roster that is held.
        held: u64,
        /// Epoch of the roster that was offered.
        offered: u64,
    },
    /// The roster that is held already.
    Same,
}

impl From<OpenLinesError> for ParseRosterError {
    fn from(error: OpenLinesError) -> Self {
        match error {
            OpenLinesError::Malformed(malformed) => Self::Malformed(malformed),
            OpenLinesError::Version => Self::Version,
        }
    }
}

impl From<Malformed> for ParseRosterError {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

impl From<InvalidMembers> for ChangeRosterError {
    fn from(error: InvalidMembers) -> Self {
        Self::Members(error)
    }
}

impl fmt::Display for ParseRosterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Identity { line, error } => write!(f, "line {line}: {error}"),
            Self::Malformed(malformed) => write!(f, "not a roster: {malformed}"),
            Self::Members(error) => error.fmt(f),
            Self::Order { line } => write!(f, "line {line}: members are not sorted by name"),
            Self::Signature => f.write_str("the roster's signature is not its owner's"),
            Self::TooLong => write!(f, "the roster is longer than {MAX_LEN} bytes"),
            Self::Version => f.write_str("the roster has an unknown version"),
        }
    }
}

impl core::error::Error for ParseRosterError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Identity { error, .. } => Some(error),
            Self::Malformed(malformed) => Some(malformed),
            Self::Members(error) => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for InvalidMembers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DuplicateKey { first, second } => {
                write!(f, "{first} and {second} have the same key")
            }
            Self::DuplicateName(name) => write!(f, "two members have the name {name}"),
            Self::Empty => f.write_str("a group has at least one member"),
            Self::TooMany => write!(f, "a group has at most {MAX_MEMBERS} members"),
        }
    }
}

impl core::error::Error for InvalidMembers {}

impl fmt::Display for ChangeRosterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LastEpoch => f.write_str("the group has no more epochs"),
            Self::Members(error) => error.fmt(f),
            Self::NotAMember(name) => write!(f, "{name} is not a member"),
        }
    }
}

impl core::error::Error for ChangeRosterError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        if let Self::Members(error) = self { Some(error) } else { None }
    }
}

impl fmt::Display for SignRosterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoEpochKey => f.write_str("the sealed epoch key is empty"),
            Self::NotOwner => f.write_str("only the owner of a group signs its rosters"),
            Self::TooLong => write!(f, "the roster would be longer than {MAX_LEN} bytes"),
        }
    }
}

impl core::error::Error for SignRosterError {}

impl fmt::Display for RosterChainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fork => f.write_str("the owner signed two different histories of the group"),
            Self::Gap { held, offered } => {
                write!(f, "epochs are missing between {held} and {offered}")
            }
            Self::OtherDevice => f.write_str("a device's number was given to another key"),
            Self::OtherGroup => f.write_str("the roster of another group"),
            Self::OtherOwner => f.write_str("another owner signed the roster"),
            Self::Rollback { held, offered } => {
                write!(f, "epoch {offered} is older than epoch {held}, which is known")
            }
            Self::Same => f.write_str("the roster is known already"),
        }
    }
}

impl core::error::Error for RosterChainError {}
