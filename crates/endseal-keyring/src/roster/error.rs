//! Errors of reading, changing, signing and comparing rosters.

use core::fmt;

use super::{MAX_LEN, MAX_MEMBERS, MAX_TRANSFERS};
use crate::identity_text::ParseIdentityError;
use crate::lines::{Malformed, OpenLinesError};
use crate::name::Name;

/// Reason why bytes are not a roster.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseRosterError {
    /// The owner is listed as an admin under this name.
    AdminIsOwner(Name),
    /// The admin of this name is not a member.
    AdminNotMember(Name),
    /// The appointment of the admin of this name is not signed by the owner.
    AppointmentSignature(Name),
    /// The admin of this name is listed twice.
    DuplicateAdmin(Name),
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
    /// The name of a member or admin is before that in the line above.
    Order {
        /// Number of the line, from 1.
        line: usize,
    },
    /// The group was handed on to an owner who is not a member.
    OwnerNotMember,
    /// The signature is not that of the owner or admin who signs this roster, or something was
    /// changed.
    Signature,
    /// The signer of this name is not an admin.
    SignerNotAdmin(Name),
    /// The roster is longer than [`MAX_LEN`] bytes.
    TooLong,
    /// The group was handed on more than [`MAX_TRANSFERS`] times.
    TooManyTransfers,
    /// The transfer of this epoch is not signed by the owner before for the owner after.
    TransferSignature {
        /// First epoch of the next owner.
        epoch: u64,
    },
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
    /// The changes appoint an admin and hand the group on, which ends all appointments.
    AppointsForNextOwner,
    /// The changes appoint this name, which is an admin already.
    IsAdmin(Name),
    /// The changes appoint this name or hand the group on to it, and it is the owner already.
    IsOwner(Name),
    /// There have been 2^64 - 1 epochs.
    LastEpoch,
    /// The result is not a valid list of members.
    Members(InvalidMembers),
    /// The changes remove, appoint or hand the group on to this name, which is not a member.
    NotAMember(Name),
    /// The changes dismiss this name, which is not an admin.
    NotAnAdmin(Name),
    /// The group was handed on [`MAX_TRANSFERS`] times already.
    TooManyTransfers,
}

/// Kind of change that an owner can sign and an admin cannot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OwnerOnly {
    /// A member becomes an admin.
    Appoint,
    /// An admin's appointment ends while the admin stays a member.
    Dismiss,
    /// Another member becomes the owner.
    HandOn,
    /// The owner is removed from the members, or gets another name or identity among them.
    RemoveOwner,
}

/// Reason why a draft was not signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SignRosterError {
    /// The sealed epoch key is empty.
    NoEpochKey,
    /// The identity is neither the owner of the group nor one of its admins.
    NotPermitted,
    /// The identity is an admin, and only the owner can sign this change.
    OwnerOnly(OwnerOnly),
    /// The identity is an admin that the changes remove, or give another name or key.
    RemovesSigner,
    /// The roster would be longer than [`MAX_LEN`].
    TooLong,
}

/// Reason why one roster does not come after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RosterChainError {
    /// The roster was signed by an admin whom the one held does not name and the owner did not
    /// appoint after it, or it changes what only the owner can change.
    Admin,
    /// The group has two histories: this roster does not build on the one held. Two who can change
    /// the group did so at the same time, another person has the key of one of them, or one of them
    /// deceives some of the members.
    Fork,
    /// Epochs between the two are missing, or, in a roster signed by an admin, more than
    /// [`MAX_ADMIN_STEP`](super::MAX_ADMIN_STEP).
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
    /// The two rosters have different owners, and neither handed the group on to the other.
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
            Self::AdminIsOwner(name) => write!(f, "{name} is the owner and cannot be an admin"),
            Self::AdminNotMember(name) => write!(f, "the admin {name} is not a member"),
            Self::AppointmentSignature(name) => {
                write!(f, "the appointment of the admin {name} is not signed by the owner")
            }
            Self::DuplicateAdmin(name) => write!(f, "the admin {name} is listed twice"),
            Self::Identity { line, error } => write!(f, "line {line}: {error}"),
            Self::Malformed(malformed) => write!(f, "not a roster: {malformed}"),
            Self::Members(error) => error.fmt(f),
            Self::Order { line } => write!(f, "line {line}: the names are not sorted"),
            Self::OwnerNotMember => {
                f.write_str("the group was handed on to an owner who is not a member")
            }
            Self::Signature => {
                f.write_str("the roster's signature is not that of its owner or admin")
            }
            Self::SignerNotAdmin(name) => write!(f, "the signer {name} is not an admin"),
            Self::TooLong => write!(f, "the roster is longer than {MAX_LEN} bytes"),
            Self::TooManyTransfers => {
                write!(f, "the group was handed on more than {MAX_TRANSFERS} times")
            }
            Self::TransferSignature { epoch } => {
                write!(f, "the transfer of epoch {epoch} is not signed by the owner before it")
            }
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
            Self::AppointsForNextOwner => f.write_str(
                "handing the group on ends all appointments: the new owner must appoint the admins",
            ),
            Self::IsAdmin(name) => write!(f, "{name} is an admin already"),
            Self::IsOwner(name) => write!(f, "{name} is the owner already"),
            Self::LastEpoch => f.write_str("the group has no more epochs"),
            Self::Members(error) => error.fmt(f),
            Self::NotAMember(name) => write!(f, "{name} is not a member"),
            Self::NotAnAdmin(name) => write!(f, "{name} is not an admin"),
            Self::TooManyTransfers => write!(
                f,
                "the group was handed on {MAX_TRANSFERS} times already: create a new group instead"
            ),
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
            Self::NotPermitted => {
                f.write_str("only the owner and the admins of a group sign its rosters")
            }
            Self::OwnerOnly(change) => change.fmt(f),
            Self::RemovesSigner => f.write_str(
                "an admin cannot remove or rename itself: the owner or another admin must do it",
            ),
            Self::TooLong => write!(f, "the roster would be longer than {MAX_LEN} bytes"),
        }
    }
}

impl core::error::Error for SignRosterError {}

impl fmt::Display for OwnerOnly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Appoint => "an admin cannot appoint admins: ask the owner to do it",
            Self::Dismiss => "an admin cannot dismiss admins: ask the owner to do it",
            Self::HandOn => "an admin cannot hand the group on: ask the owner to do it",
            Self::RemoveOwner => {
                "an admin cannot remove, rename or replace the owner: ask the owner to do it"
            }
        })
    }
}

impl fmt::Display for RosterChainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Admin => f.write_str(
                "an admin signed the roster, and the known roster does not permit this change",
            ),
            Self::Fork => f.write_str("two different histories of the group were signed"),
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
