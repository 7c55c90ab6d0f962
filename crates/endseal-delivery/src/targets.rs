//! Mailboxes of a frame.

use alloc::vec::Vec;
use core::fmt;

use endseal_crypto::peer_id::PeerId;

use crate::limit::MAX_TARGETS;

/// Mailboxes of a frame, each once.
#[derive(Clone, Copy, Debug)]
pub struct Targets<'a> {
    ids: &'a [[u8; PeerId::LEN]],
}

impl<'a> Targets<'a> {
    /// Reads the field `targets` of a `put`.
    ///
    /// # Errors
    /// [`TargetsError`].
    pub fn read(targets: &'a [u8]) -> Result<Self, TargetsError> {
        let (ids, []) = targets.as_chunks::<{ PeerId::LEN }>() else {
            return Err(TargetsError::Length);
        };
        if ids.is_empty() || ids.len() > MAX_TARGETS {
            return Err(TargetsError::Count);
        }
        let mut sorted: Vec<&[u8; PeerId::LEN]> = ids.iter().collect();
        sorted.sort_unstable();
        if sorted.is_sorted_by(|a, b| a < b) { Ok(Self { ids }) } else { Err(TargetsError::Twice) }
    }

    /// Number of mailboxes, from 1.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.ids.len()
    }

    /// Returns the mailboxes in the order of the request.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = PeerId> + use<'a> {
        self.ids.iter().map(PeerId::from_bytes)
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
}

impl fmt::Display for TargetsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Length => "the mailboxes are no list of peer ids",
            Self::Count => "a frame has no mailbox, or more than 1,024",
            Self::Twice => "a frame has one mailbox twice",
        })
    }
}

impl core::error::Error for TargetsError {}
