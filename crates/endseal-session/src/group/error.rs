//! Errors of groups.

use core::fmt;

use mls_rs::error::MlsError;

use super::rules::Refused;

/// Most messages of one sender that may be missing before the next one.
pub(super) const GAP: u32 = 1024;

/// Why a message was not opened. The group is as before, and the message can be given again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenError {
    /// The bytes are no message of a group, or ask for what groups here do not do; or a proposal is
    /// beyond the 1 MiB of them that may wait for a commit.
    Malformed,
    /// The message is of another group.
    OtherGroup,
    /// This device was removed.
    NotMember,
    /// Forged or damaged: sender data, ciphertext, signature, credential or confirmation.
    Authentication,
    /// Of an epoch that this device has not reached; it opens after the commits before it.
    LaterEpoch(u64),
    /// Of an epoch whose keys are gone; or a change of one that has ended; or of a sender who has
    /// left since.
    OldEpoch,
    /// The key was used or dropped.
    KeyGone,
    /// More messages are missing than are skipped: before this one of the sender, or in the group.
    TooFarAhead {
        /// Number of messages that may be skipped at most.
        limit: u32,
    },
    /// Sent by this device.
    Own,
    /// The change makes the group larger than groups may be.
    TooLarge,
    /// The library went another way with the same messages. The group in memory is not to be used.
    Internal,
}

impl OpenError {
    pub(super) fn from_mls(error: &MlsError) -> Self {
        match error {
            MlsError::KeyMissing(_) => Self::KeyGone,
            MlsError::InvalidFutureGeneration(_) => Self::TooFarAhead { limit: GAP },
            MlsError::CantProcessMessageFromSelf => Self::Own,
            // The library knows the latter from a key that has left the tree since.
            MlsError::EpochNotFound | MlsError::MemberNotFound => Self::OldEpoch,
            MlsError::MlsRulesError(_) => match Refused::of(error) {
                Some(Refused::TooLarge) => Self::TooLarge,
                _ => Self::Malformed,
            },
            _ => Self::Authentication,
        }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed => f.write_str("not a message of a group"),
            Self::OtherGroup => f.write_str("a message of another group"),
            Self::NotMember => f.write_str("this device was removed from the group"),
            Self::Authentication => f.write_str("the message is forged or damaged"),
            Self::LaterEpoch(epoch) => write!(f, "of epoch {epoch}, which has not begun here"),
            Self::OldEpoch => f.write_str("of an epoch that is gone"),
            Self::KeyGone => f.write_str("the key of the message was used or dropped"),
            Self::TooFarAhead { limit } => write!(f, "more than {limit} messages are missing"),
            Self::Own => f.write_str("sent by this device"),
            Self::TooLarge => f.write_str("the group would be too large"),
            Self::Internal => f.write_str("the MLS library failed"),
        }
    }
}

impl core::error::Error for OpenError {}

/// Why a group was not made, joined, changed or sent to. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GroupError {
    /// A group's id has 1 to 63 bytes.
    InvalidId,
    /// The suite is not one of the device's.
    UnknownSuite,
    /// Not a key package, or one whose certificate, signature, suite or lifetime is not valid, or
    /// of somebody who is a member already.
    InvalidKeyPackage,
    /// Not a welcome, or one that is forged or damaged, or into a group with an invalid member.
    InvalidWelcome,
    /// The welcome is for no key package whose secret is known.
    NoKeyPackage,
    /// Nobody of that address is in the group.
    NoSuchMember,
    /// A device cannot remove itself by a commit. It proposes its removal.
    RemovesItself,
    /// A commit is pending already: accept or discard it first.
    CommitPending,
    /// No commit is pending.
    NothingPending,
    /// Proposals have arrived: send a commit before a text.
    CommitRequired,
    /// This device was removed.
    NotMember,
    /// The group would be larger than groups may be.
    TooLarge,
    /// The text makes the message longer than 1 MiB.
    TooLong,
    /// The source of randomness failed, or the library.
    Internal,
}

impl fmt::Display for GroupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InvalidId => "a group's id has 1 to 63 bytes",
            Self::UnknownSuite => "the cipher suite is not one of the device's",
            Self::InvalidKeyPackage => "the key package is not valid",
            Self::InvalidWelcome => "the welcome is not valid",
            Self::NoKeyPackage => "the welcome is for no key package of this device",
            Self::NoSuchMember => "no such member",
            Self::RemovesItself => "a device cannot remove itself",
            Self::CommitPending => "a commit is pending",
            Self::NothingPending => "no commit is pending",
            Self::CommitRequired => "proposals wait for a commit",
            Self::NotMember => "this device was removed from the group",
            Self::TooLarge => "the group would be too large",
            Self::TooLong => "the message is longer than 1 MiB",
            Self::Internal => "the MLS library failed",
        })
    }
}

impl core::error::Error for GroupError {}

/// The bytes are not what [`Group::save`](super::Group::save) or
/// [`GroupDevice::to_bytes`](super::GroupDevice::to_bytes) gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StateError;

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the saved state is damaged")
    }
}

impl core::error::Error for StateError {}
