//! The public part of an envelope in memory.

use alloc::vec::Vec;

use endseal_crypto::segment;

use crate::error::{Malformed, OpenError};
use crate::header::{HEADER_LEN, Header};
use crate::policy::Policy;
use crate::prelude;
use crate::slot::TagRuns;
use crate::suite::{Suite, TAG_LEN};

/// The parts of an envelope; nothing in it is authenticated yet.
#[derive(Clone, Copy, Debug)]
pub struct Envelope<'a> {
    pub(crate) header: Header,
    fixed: &'a [u8; HEADER_LEN],
    pub(crate) tags: &'a [[u8; TAG_LEN]],
    /// Bodies that each reader tries.
    pub(crate) tries: usize,
    bodies: &'a [u8],
    pub(crate) chunks: &'a [u8],
}

impl<'a> Envelope<'a> {
    /// Takes an envelope apart, in one pass and without a key.
    ///
    /// # Errors
    /// [`OpenError::Malformed`], [`OpenError::TooManySlots`] and unknown versions and suites.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, OpenError> {
        Self::parse_accepted(bytes, &Policy::new())
    }

    /// [`parse`](Self::parse), with a suite that `policy` accepts. It is judged behind the fixed
    /// header, as in a stream.
    pub(crate) fn parse_accepted(bytes: &'a [u8], policy: &Policy<'_>) -> Result<Self, OpenError> {
        let (fixed, rest) = bytes.split_first_chunk().ok_or_else(|| Header::too_short(bytes))?;
        let header = Header::parse(fixed)?;
        policy.judge_suite(header.suite)?;
        let slots = header.slots as usize;
        let (tags, rest) = rest.split_at_checked(slots * TAG_LEN).ok_or(Malformed::Truncated)?;
        let (tags, _) = tags.as_chunks();
        let tries = TagRuns::tries_of(tags).ok_or(Malformed::TagOrder)?;
        let (bodies, chunks) =
            rest.split_at_checked(slots * header.suite.body_len()).ok_or(Malformed::Truncated)?;
        Ok(Self { header, fixed, tags, tries, bodies, chunks })
    }

    /// The suite of algorithms that the envelope names in its header.
    #[must_use]
    pub fn suite(&self) -> Suite {
        self.header.suite
    }

    /// Number of slots: recipients and decoys.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.tags.len()
    }

    /// Length of the content, if nothing was cut off. `None` if an envelope of any content has
    /// another length.
    #[must_use]
    pub fn content_len(&self) -> Option<u64> {
        segment::plaintext_len(self.chunks.len() as u64).and_then(prelude::content_len)
    }

    /// The body of slot `index`.
    pub(crate) fn body(&self, index: usize) -> &'a [u8] {
        let len = self.header.suite.body_len();
        &self.bodies[index * len..][..len]
    }

    /// The *view* of slot `index`: an envelope with that slot alone, which its owner opens like any
    /// other. `None` if there is no such slot.
    #[must_use]
    pub fn view(&self, index: usize) -> Option<Vec<u8>> {
        let tag = self.tags.get(index)?;
        let one = 1_u32.to_le_bytes();
        let before = &self.fixed[..HEADER_LEN - one.len()];
        Some([before, &one, tag, self.body(index), self.chunks].concat())
    }
}
