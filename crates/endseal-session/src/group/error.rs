//! Errors of group operations.

use core::fmt;

use mls_rs::error::MlsError;

use super::refused::Refused;

/// Largest number of messages of one sender that may be missing before the next one.
pub(super) const GAP: u32 = 1024;

/// Error of opening a group message. The group is unchanged, and the message can be delivered
/// again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenError {
    /// The bytes are not a valid group message, or the message uses a feature that this crate does
    /// not support. For a proposal: waiting proposals would exceed 1 MiB.
    Malformed,
    /// The message belongs to another group.
    OtherGroup,
    /// This device was removed from the group.
    NotMember,
    /// Sender data, ciphertext, signature, credential or confirmation are forged or damaged.
    Authentication,
    /// The message is of a later epoch, with this number. It can be opened after the commits before
    /// it.
    LaterEpoch(u64),
    /// The keys of the message's epoch were deleted, or it is a proposal or commit of a past epoch,
    /// or its sender was removed since.
    OldEpoch,
    /// The key of the message was used or deleted.
    KeyGone,
    /// Too many messages are missing before this one of the same sender, or in the whole group.
    TooFarAhead {
        /// Largest number of messages that may be missing.
        limit: u32,
    },
    /// The message was sent by this device.
    Own,
    /// The commit would make the group exceed a size limit.
    TooLarge,
    /// The commit breaks the membership rule of the conversation.
    Membership,
    /// The library failed, or the group could not be restored after a failed message. The group in
    /// memory must not be used any more.
    Internal,
}

impl OpenError {
    pub(super) fn from_mls(error: &MlsError) -> Self {
        match error {
            MlsError::KeyMissing(_) => Self::KeyGone,
            MlsError::InvalidFutureGeneration(_) => Self::TooFarAhead { limit: GAP },
            MlsError::CantProcessMessageFromSelf => Self::Own,
            // The library returns MemberNotFound for a key that was removed from the tree since.
            MlsError::EpochNotFound | MlsError::MemberNotFound => Self::OldEpoch,
            MlsError::MlsRulesError(_) => match Refused::of(error) {
                Some(Refused::TooLarge) => Self::TooLarge,
                Some(Refused::Membership) => Self::Membership,
                _ => Self::Malformed,
            },
            _ => Self::Authentication,
        }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed => f.write_str("the bytes are not a valid group message"),
            Self::OtherGroup => f.write_str("the message belongs to another group"),
            Self::NotMember => f.write_str("this device was removed from the group"),
            Self::Authentication => f.write_str("the message is forged or damaged"),
            Self::LaterEpoch(epoch) => write!(f, "the message is of the later epoch {epoch}"),
            Self::OldEpoch => f.write_str("the epoch of the message is too old"),
            Self::KeyGone => f.write_str("the key of the message was used or dropped"),
            Self::TooFarAhead { limit } => {
                write!(f, "more than {limit} messages are missing before this one")
            }
            Self::Own => f.write_str("the message was sent by this device"),
            Self::TooLarge => f.write_str("the group would be too large"),
            Self::Membership => {
                f.write_str("the commit breaks the membership rule of the conversation")
            }
            Self::Internal => f.write_str("the MLS library failed"),
        }
    }
}

impl core::error::Error for OpenError {}

/// Error of making, joining, changing or sending to a group. The group is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GroupError {
    /// The group id is not 1 to 63 bytes long.
    InvalidId,
    /// The cipher suite is not supported by this device.
    UnknownSuite,
    /// The bytes are not a key package, or its certificate, signature, suite or lifetime is
    /// invalid, or its device is a member already.
    InvalidKeyPackage,
    /// The bytes are not a welcome, or it is forged or damaged, or the group has an invalid member.
    InvalidWelcome,
    /// The welcome is for no key package whose secrets this device has.
    NoKeyPackage,
    /// No member of the group has that address.
    NoSuchMember,
    /// A device cannot remove itself by a commit. It must propose its removal.
    RemovesItself,
    /// A commit is pending already: accept or discard it first.
    CommitPending,
    /// No commit is pending.
    NothingPending,
    /// Proposals have arrived: send a commit before a text.
    CommitRequired,
    /// This device was removed from the group.
    NotMember,
    /// The group has no conversation.
    NoConversation,
    /// The members, the evidence or the suite do not fit the conversation.
    Membership,
    /// The group would exceed a size limit.
    TooLarge,
    /// The text would make the message longer than 1 MiB.
    TooLong,
    /// The random source or the MLS library failed.
    Internal,
}

impl fmt::Display for GroupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InvalidId => "the group id is not 1 to 63 bytes long",
            Self::UnknownSuite => "the cipher suite is not supported by this device",
            Self::InvalidKeyPackage => "the key package is not valid",
            Self::InvalidWelcome => "the welcome is not valid",
            Self::NoKeyPackage => "the welcome is for no key package of this device",
            Self::NoSuchMember => "the address is not a member of the group",
            Self::RemovesItself => "a device cannot remove itself",
            Self::CommitPending => "a commit is pending",
            Self::NothingPending => "no commit is pending",
            Self::CommitRequired => "proposals wait for a commit",
            Self::NotMember => "this device was removed from the group",
            Self::NoConversation => "the group has no conversation",
            Self::Membership => "the members do not fit the conversation",
            Self::TooLarge => "the group would be too large",
            Self::TooLong => "the message is longer than 1 MiB",
            Self::Internal => "the MLS library failed",
        })
    }
}

impl core::error::Error for GroupError {}

/// Error for bytes that are not a valid result of [`Group::save`](super::Group::save) or
/// [`GroupDevice::to_bytes`](super::GroupDevice::to_bytes).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StateError;

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the saved state is damaged")
    }
}

impl core::error::Error for StateError {}
