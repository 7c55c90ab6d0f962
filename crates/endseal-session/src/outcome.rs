//! Results of the messages of a batch (docs/spec/session.md, "What a receiver answers").

use alloc::vec::Vec;
use core::fmt;

/// The result of one message. Every message gets one, and a bad one costs no other its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// Opened now; it lies in the inbox under this number.
    Delivered(u64),
    /// Delivered before, under this number; its inbox row may have been consumed since.
    AlreadyDelivered(u64),
    /// Parked until a later epoch of its group has begun.
    Buffered(u64),
    /// Not opened yet, for a reason that may pass; parked until its conversation moves.
    Parked(Failure),
    /// Not opened; nothing changed.
    Failed(Failure),
}

impl Outcome {
    /// True if the message is in the store, or was: it need not be delivered again.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        !matches!(self, Self::Failed(_))
    }
}

/// Reason why a message was not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// The bytes are no message, or the id is empty or too long.
    Malformed,
    /// Something is forged or damaged: MAC, signature, certificate or credential.
    Authentication,
    /// There is no session with this tag.
    NoSession,
    /// The prekey was used up or never ours.
    NoPrekey,
    /// The key was used or dropped: the same ciphertext under another id, or one that came too
    /// late.
    KeyGone,
    /// More messages are missing before this one than the ratchet skips at once.
    TooFarAhead,
    /// This device is not in the group.
    NoGroup,
    /// An epoch of the group whose keys are gone.
    OldEpoch,
    /// A group message of this device.
    Own,
    /// The id was delivered before, with another ciphertext.
    IdReused,
    /// The identity is not known, and strangers are refused.
    Stranger,
    /// Too many messages are parked, of this conversation or in all.
    BufferFull,
    /// A row of the conversation cannot be read.
    Damaged,
    /// A change that makes a group larger than groups may be.
    GroupTooLarge,
}

impl Failure {
    /// True if the same bytes may open later. Such a message is parked, except where parking it is
    /// what failed ([`Self::BufferFull`]), or where it is more than 32 epochs ahead of its group.
    #[must_use]
    pub fn is_retriable(self) -> bool {
        matches!(
            self,
            Self::NoGroup | Self::Stranger | Self::TooFarAhead | Self::Damaged | Self::BufferFull
        )
    }

    /// The class of docs/spec/session.md.
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
            Self::Stranger => "stranger",
            Self::BufferFull => "buffer-full",
            Self::Damaged => "damaged",
            Self::GroupTooLarge => "group-too-large",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "the bytes are no message",
            Self::Authentication => "the message is forged or damaged",
            Self::NoSession => "there is no session that the message belongs to",
            Self::NoPrekey => "the prekey of the message was used up or is not ours",
            Self::KeyGone => "the key of the message was used or dropped",
            Self::TooFarAhead => "too many messages are missing before this one",
            Self::NoGroup => "this device is not in the group",
            Self::OldEpoch => "the epoch of the message is too old",
            Self::Own => "the message is our own",
            Self::IdReused => "another message was delivered under this id",
            Self::Stranger => "the sender is a stranger",
            Self::BufferFull => "too many messages are parked",
            Self::Damaged => "a stored state of the conversation cannot be read",
            Self::GroupTooLarge => "the group would be too large",
        })
    }
}

/// Results of a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BatchReport {
    /// One result for each message, in the order of delivery.
    pub outcomes: Vec<Outcome>,
    /// Parked messages that were opened, or failed for good, in order.
    pub released: Vec<Released>,
    /// Transactions that were committed.
    pub commits: u32,
}

/// A message that was parked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Released {
    /// The id under which it was delivered.
    pub id: Vec<u8>,
    /// Its result now: [`Outcome::Delivered`] or [`Outcome::Failed`].
    pub outcome: Outcome,
}
