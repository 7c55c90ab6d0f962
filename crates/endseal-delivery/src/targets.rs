//! Mailboxes of a frame, and the slots for them.

use alloc::vec::Vec;
use core::fmt;

use endseal_crypto::peer_id::PeerId;

use crate::limit::MAX_TARGETS;

/// Length of a slot of a detached envelope (docs/spec/envelope.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SlotLen {
    /// A slot of 36 bytes, of the suite `x25519`.
    Classical,
    /// A slot of 1,124 bytes, of the suite `x25519-mlkem768`.
    Hybrid,
}

impl SlotLen {
    /// The length of such a slot in bytes.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::Classical => 36,
            Self::Hybrid => 1_124,
        }
    }
}

/// Mailboxes of a frame, each once, and a slot for each of them or for none.
#[derive(Clone, Copy, Debug)]
pub struct Targets<'a> {
    ids: &'a [[u8; PeerId::LEN]],
    slots: &'a [u8],
    slot_len: usize,
}

impl<'a> Targets<'a> {
    /// Reads the fields `targets` and `slots` of a `put`.
    ///
    /// # Errors
    /// [`TargetsError`].
    pub fn read(targets: &'a [u8], slots: &'a [u8]) -> Result<Self, TargetsError> {
        let (ids, []) = targets.as_chunks::<{ PeerId::LEN }>() else {
            return Err(TargetsError::Length);
        };
        if ids.is_empty() || ids.len() > MAX_TARGETS {
            return Err(TargetsError::Count);
        }
        let slot_len = slots.len() / ids.len();
        let is_known = |known: SlotLen| known.bytes() == slot_len;
        if !slots.len().is_multiple_of(ids.len())
            || !(slots.is_empty() || is_known(SlotLen::Classical) || is_known(SlotLen::Hybrid))
        {
            return Err(TargetsError::Slots);
        }
        let mut sorted: Vec<&[u8; PeerId::LEN]> = ids.iter().collect();
        sorted.sort_unstable();
        if sorted.is_sorted_by(|a, b| a < b) {
            Ok(Self { ids, slots, slot_len })
        } else {
            Err(TargetsError::Twice)
        }
    }

    /// Number of mailboxes, from 1.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.ids.len()
    }

    /// Bytes of a slot, 0 if there are none.
    #[must_use]
    pub const fn slot_len(&self) -> usize {
        self.slot_len
    }

    /// Mailboxes with their slots, which are empty if there are none.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (PeerId, &'a [u8])> {
        let Self { ids, slots, slot_len } = *self;
        ids.iter().enumerate().map(move |(at, id)| {
            let slot = slots.get(at * slot_len..(at + 1) * slot_len).unwrap_or_default();
            (PeerId::from_bytes(id), slot)
        })
    }
}

/// Reason why the mailboxes of a frame are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TargetsError {
    /// The bytes are no peer ids.
    Length,
    /// There is none, or more than 1,024.
    Count,
    /// A mailbox is in the list twice.
    Twice,
    /// There is not one slot of a known length for each.
    Slots,
}

impl fmt::Display for TargetsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Length => "the mailboxes are no list of peer ids",
            Self::Count => "a frame has no mailbox, or more than 1,024",
            Self::Twice => "a frame has one mailbox twice",
            Self::Slots => "a frame has not one slot for each mailbox",
        })
    }
}

impl core::error::Error for TargetsError {}
