//! Header and slots of an envelope that comes in pieces: the reader's slot is found in them.

use alloc::vec::Vec;
use core::borrow::Borrow;

use endseal_crypto::identity::Identity;
use endseal_crypto::segment::RawKeys;
use endseal_crypto::x25519;

use crate::blocks::Blocks;
use crate::error::{Malformed, OpenError};
use crate::header::{HEADER_LEN, Header};
use crate::open::Opener;
use crate::policy::Policy;
use crate::slot::{TagRuns, Unwrapper};
use crate::suite::TAG_LEN;

/// Tags that are taken at once, in bytes.
const TAGS_LEN: usize = 16 << 10;

/// Takes header and slots. Holds the bodies of at most 16 slots, however many there are.
pub(crate) struct Start<'p, I> {
    identity: I,
    context: Vec<u8>,
    policy: Policy<'p>,
    /// The header and what follows from it, once it was read.
    slots: Option<Slots>,
    part: Part,
    /// Bytes of the current part, which is complete when it has `buffer_len`.
    buffer: Vec<u8>,
    buffer_len: usize,
    /// Bytes that come first and are not kept.
    skipped: usize,
}

#[derive(Clone, Copy)]
enum Part {
    Header,
    Tags,
    /// The bodies that may be the reader's.
    OwnBodies,
    OtherBodies,
}

/// The slots of one envelope, as far as they were read.
struct Slots {
    header: Header,
    /// The outcome of the agreement: none if it is zero.
    shared: Option<x25519::SharedSecret>,
    own_tag: [u8; TAG_LEN],
    runs: TagRuns,
    tags_left: usize,
    /// Slots whose tag is less than the reader's.
    first: usize,
    /// Slots with the reader's tag.
    own: usize,
}

impl Slots {
    /// Takes some tags; false if they are out of order.
    fn push(&mut self, tags: &[[u8; TAG_LEN]]) -> bool {
        self.tags_left -= tags.len();
        tags.iter().all(|tag| {
            self.first += usize::from(*tag < self.own_tag);
            self.own += usize::from(*tag == self.own_tag);
            self.runs.push(*tag)
        })
    }

    /// Bodies that are kept, to be tried.
    fn kept(&self) -> usize {
        self.own.min(self.runs.tries())
    }

    fn shared(&self) -> &[u8; 32] {
        self.shared.as_ref().map_or(&[0; 32], |shared| shared.expose_secret())
    }
}

impl<'p, I: Borrow<Identity>> Start<'p, I> {
    pub(crate) fn new(identity: I, context: &[u8], policy: Policy<'p>) -> Result<Self, OpenError> {
        Opener::new(identity.borrow(), context).check_context()?;
        Ok(Self {
            identity,
            context: context.to_vec(),
            policy,
            slots: None,
            part: Part::Header,
            buffer: Vec::new(),
            buffer_len: HEADER_LEN,
            skipped: 0,
        })
    }

    /// Bytes that complete what is read at present; never more than belong to header and slots.
    pub(crate) fn needed(&self) -> usize {
        if self.skipped > 0 { self.skipped } else { self.buffer_len - self.buffer.len() }
    }

    /// Takes bytes from the beginning of `data`. Returns true when all slots were read, with the
    /// bytes behind them left in `data`.
    pub(crate) fn feed(&mut self, data: &mut &[u8]) -> Result<bool, OpenError> {
        loop {
            let (head, rest) = data.split_at(data.len().min(self.needed()));
            *data = rest;
            if self.skipped > 0 {
                self.skipped -= head.len();
            } else {
                self.buffer.extend_from_slice(head);
            }
            if self.needed() == 0 {
                if self.end_part()? {
                    return Ok(true);
                }
            } else if data.is_empty() {
                return Ok(false);
            }
        }
    }

    /// Takes a complete part, and says of the next one how long it is. Returns true at the end.
    fn end_part(&mut self) -> Result<bool, OpenError> {
        match (self.part, &mut self.slots) {
            (Part::Tags, Some(slots)) => {
                if !slots.push(self.buffer.as_chunks().0) {
                    return Err(Malformed::TagOrder.into());
                }
                self.buffer.clear();
                self.buffer_len = TAGS_LEN.min(slots.tags_left * TAG_LEN);
                if slots.tags_left == 0 {
                    let body_len = slots.header.suite.body_len();
                    self.skipped = slots.first * body_len;
                    self.buffer_len = slots.kept() * body_len;
                    self.part = Part::OwnBodies;
                }
            }
            (Part::OwnBodies, Some(slots)) => {
                // All are read before one is tried: the source does not see where the reader
                // pauses.
                let others = slots.header.slots as usize - slots.first - slots.kept();
                self.skipped = others * slots.header.suite.body_len();
                self.part = Part::OtherBodies;
            }
            (Part::OtherBodies, Some(_)) => return Ok(true),
            (_, None) | (Part::Header, _) => {
                let slots = self.read_header()?;
                self.buffer.clear();
                self.buffer_len = TAGS_LEN.min(slots.tags_left * TAG_LEN);
                self.slots = Some(slots);
                self.part = Part::Tags;
            }
        }
        Ok(false)
    }

    fn read_header(&self) -> Result<Slots, OpenError> {
        let fixed = self.buffer.first_chunk().ok_or_else(|| Header::too_short(&self.buffer))?;
        let header = Header::parse(fixed)?;
        self.policy.judge_suite(header.suite)?;
        // The clear part is judged before the agreement: a malformed one has its own error.
        let mut slots = Slots {
            header,
            shared: self.identity.borrow().agreement().agree(&header.ephemeral).ok(),
            own_tag: [0; TAG_LEN],
            runs: TagRuns::default(),
            tags_left: header.slots as usize,
            first: 0,
            own: 0,
        };
        slots.own_tag = self.opener().unwrapper(&header, slots.shared()).tag();
        Ok(slots)
    }

    fn opener(&self) -> Opener<'_> {
        Opener::new(self.identity.borrow(), &self.context)
    }

    /// The error if no more bytes come.
    pub(crate) fn truncated(&self) -> OpenError {
        match self.slots {
            None => Header::too_short(&self.buffer),
            Some(_) => Malformed::Truncated.into(),
        }
    }

    /// Finds the slot of the reader, once all slots were read. Returns the keys of the chunks, too.
    pub(crate) fn into_blocks(self) -> Result<(RawKeys, Blocks<'p>), OpenError> {
        let slots = self.slots.as_ref().ok_or(OpenError::Authentication)?;
        let opener = self.opener();
        let unwrapper = opener.unwrapper(&slots.header, slots.shared());
        let keys = self.find(&unwrapper).filter(|_| slots.shared.is_some());
        let keys = keys.ok_or(OpenError::Authentication)?;
        let (header, digest) = (slots.header, *unwrapper.header_digest());
        drop(unwrapper);
        Ok((keys, Blocks::new(&header, digest, self.policy)))
    }

    fn find(&self, unwrapper: &Unwrapper<'_>) -> Option<RawKeys> {
        let slots = self.slots.as_ref()?;
        let bodies = self.buffer.chunks_exact(slots.header.suite.body_len());
        unwrapper.find(bodies, slots.runs.tries())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open::tests::{
        CONTEXT, SUITES, expected, identity, sealed, with_added_slots, with_changed_body,
    };
    use crate::slot::Work;

    /// Work of two readers of the slots: that of identity 2 and of identity 3.
    fn works(envelope: &[u8]) -> [Work; 2] {
        [identity(2), identity(3)].map(|reader| {
            let mut start = Start::new(&reader, CONTEXT, Policy::new()).expect("a short context");
            assert_eq!(start.feed(&mut &envelope[..]), Ok(true));
            let slots = start.slots.as_ref().expect("a header");
            let opener = start.opener();
            let unwrapper = opener.unwrapper(&slots.header, slots.shared());
            drop(start.find(&unwrapper));
            unwrapper.work.get()
        })
    }

    #[test]
    fn a_reader_without_a_slot_works_as_one_whose_slot_was_changed() {
        for suite in SUITES {
            let envelope = with_changed_body(suite, &identity(2));
            assert_eq!(works(&envelope), [expected(suite, 1); 2], "{suite:?}");
        }
    }

    #[test]
    fn slots_added_by_a_relay_cost_every_reader_the_same() {
        for suite in SUITES {
            let envelope = sealed(suite, &identity(2));
            for (total, own) in [(1, 0), (2, 0), (2, 1), (16, 0), (16, 15), (17, 16), (40, 3)] {
                let added = with_added_slots(&envelope, suite, total, own);
                let tries = expected(suite, total.min(16));
                assert_eq!(works(&added), [tries; 2], "{suite:?} {own} of {total}");
            }
        }
    }
}
