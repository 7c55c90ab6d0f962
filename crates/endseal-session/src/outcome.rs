//! Results of the messages of a batch (docs/spec/session.md, "What a receiver answers").

use alloc::vec::Vec;
use core::fmt;

/// Result of one message. Every message of a batch gets its own; a bad one does not affect others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// Opened now. It is in the inbox under this number.
    Delivered(u64),
    /// Delivered before, under this number. It may have been consumed since.
    AlreadyDelivered(u64),
    /// Parked until this later epoch of its group has started.
    Buffered(u64),
    /// Parked for a reason that may pass. It is tried again when its conversation advances.
    Parked(Failure),
    /// Not opened. Nothing was stored.
    Failed(Failure),
}

impl Outcome {
    /// Returns true if the message is or was in the store, so that it need not be delivered again.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        !matches!(self, Self::Failed(_))
    }
}

/// Reason for which a message was not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Failure {
    /// The bytes are not a valid message, or the id is empty or too long.
    Malformed,
    /// A MAC, signature, certificate or credential is forged or damaged.
    Authentication,
    /// There is no session with this tag: it was lost, reset or never existed.
    NoSession,
    /// The prekey was used up, or never belonged to this device.
    NoPrekey,
    /// The key was used or deleted: the same ciphertext came under another id, or the message is
    /// too late.
    KeyGone,
    /// More messages are missing before this one than the ratchet skips at once.
    TooFarAhead,
    /// This device is not in the group.
    NoGroup,
    /// The keys of the message's epoch were deleted.
    OldEpoch,
    /// The group message was sent by this device.
    Own,
    /// The id was delivered before, or is parked, with another ciphertext.
    IdReused,
    /// The sender is unknown, and new sessions of unknown senders are refused.
    UnknownSender,
    /// The limit of parked messages is reached, for this conversation or in total.
    BufferFull,
    /// A row of the conversation cannot be decoded.
    Damaged,
    /// The commit would make the group exceed a size limit.
    GroupTooLarge,
    /// The commit breaks the membership rule of a conversation. The group stays in its epoch.
    Membership,
}

impl Failure {
    /// Returns true if the same bytes may open later. Such a message is parked, unless parking
    /// itself failed ([`Self::BufferFull`]) or it is more than 32 epochs ahead of its group.
    #[must_use]
    pub fn is_retriable(self) -> bool {
        matches!(
            self,
            Self::NoGroup
                | Self::UnknownSender
                | Self::TooFarAhead
                | Self::Damaged
                | Self::BufferFull
        )
    }

    /// Returns the failure's name in docs/spec/session.md.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Authentication => "authentication",
            Self::NoSession => "no-session",
            Self::NoPrekey => "no-prekey",
            Self::KeyGone => "key-gone",
            Self::TooFarAhead => "too-far-ahead",
            Self::NoGroup => "no-group",
            Self::OldEpoch => "old-epoch",
            Self::Own => "own",
            Self::IdReused => "id-reused",
            Self::UnknownSender => "unknown-sender",
            Self::BufferFull => "buffer-full",
            Self::Damaged => "damaged",
            Self::GroupTooLarge => "group-too-large",
            Self::Membership => "membership",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "the bytes are not a valid message",
            Self::Authentication => "the message is forged or damaged",
            Self::NoSession => "there is no session for the message",
            Self::NoPrekey => {
                "the prekey of the message was used up or does not belong to this device"
            }
            Self::KeyGone => "the key of the message was used or dropped",
            Self::TooFarAhead => "too many messages are missing before this one",
            Self::NoGroup => "this device is not in the group",
            Self::OldEpoch => "the epoch of the message is too old",
            Self::Own => "the message was sent by this device",
            Self::IdReused => "another message was delivered under this id",
            Self::UnknownSender => "the sender is unknown, and unknown senders are refused",
            Self::BufferFull => "too many messages are parked",
            Self::Damaged => "a stored state of the conversation cannot be read",
            Self::GroupTooLarge => "the group would be too large",
            Self::Membership => "the commit breaks the membership rule of the conversation",
        })
    }
}

/// Results of a batch of messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BatchReport {
    /// Results of the messages, in the order of delivery.
    pub outcomes: Vec<Outcome>,
    /// Parked messages that were opened or failed for good, in order.
    pub released: Vec<Released>,
    /// Number of committed transactions.
    pub commits: u32,
}

/// Message that was parked before, with its final result.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Released {
    /// Message id under which it was delivered.
    pub id: Vec<u8>,
    /// Final result: [`Outcome::Delivered`] or [`Outcome::Failed`].
    pub outcome: Outcome,
}
