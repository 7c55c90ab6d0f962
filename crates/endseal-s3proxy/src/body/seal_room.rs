//! Memory that content is read into, and in which it is sealed.
//!
//! ```text
//! gap || content        becomes        sealed chunks || shorter gap || content that fills no chunk
//! ```
//!
//! Sealed chunks are longer than their content by a tag, and before the first chunk of a part there is a salt: the gap
//! makes up for both. Where content comes in chunks of a client's, what is around them makes the gap longer.
//!
//! What was sealed leaves while the next content comes, behind the content that is left, as long
//! as there is room; then who reads waits until it is written. So an upload has one room, however slow the backend is.

use core::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use endseal_crypto::secret::{Zeroize as _, Zeroizing};
use endseal_crypto::segment::{CHUNK_LEN, SALT_LEN, SEALED_CHUNK_LEN, TAG_LEN};

use super::read_room::{self, ReadRoom};
use super::sealed::Sealer;
use crate::aws_chunked::Span;
use crate::checksum::Hasher;
use crate::error::S3Error;
use crate::object::SealError;

/// Reads that a room has room for. A third one was measured to make nothing faster.
const READS: usize = 2;

/// Content that is sealed before the sum of what it was sealed to is made, so that this is in the cache then.
const SLICE: usize = 8 * CHUNK_LEN;

/// Content, with room for more.
#[derive(Default)]
pub(super) struct SealRoom {
    room: ReadRoom,
    gap: usize,
    /// So far it may be filled.
    limit: usize,
    /// Chunks of content that all of it has room for.
    all: usize,
    /// Content on its way from one room to the next, less than a chunk.
    carried: Zeroizing<Vec<u8>>,
}

impl SealRoom {
    /// Makes room for some of the `left` bytes that are still to come, of which `read` are worth being read at once. How
    /// many may come; more than none, if any are left.
    ///
    /// Where what was sealed in the room is still somebody's, it waits.
    pub(super) fn poll_make(&mut self, cx: &Context<'_>, read: usize, left: u64) -> Poll<usize> {
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        // What is read into a little room is written in little pieces.
        if self.free() < left.min(self.all * CHUNK_LEN / 4).max(1) {
            ready!(self.poll_renew(cx, read, left));
        }
        Poll::Ready(self.free().min(left.max(1)))
    }

    /// Bytes that may come until all chunks are full.
    fn free(&self) -> usize {
        self.limit.min(self.room.capacity()).saturating_sub(self.room.len())
    }

    fn poll_renew(&mut self, cx: &Context<'_>, read: usize, left: usize) -> Poll<()> {
        if self.carried.is_empty() {
            self.carried.extend_from_slice(self.room.get(self.gap..).unwrap_or_default());
        }
        (self.gap, self.limit, self.all) = (0, 0, 0);
        self.room.clear();
        let most = self.carried.len().saturating_add(left);
        let chunks = read_room::chunks(READS, read).clamp(1, most / CHUNK_LEN + 1);
        let gap = SALT_LEN + chunks * TAG_LEN;
        ready!(self.room.poll_has(cx, gap + most.clamp(1, chunks * CHUNK_LEN)));
        self.room.resize(gap, 0);
        self.room.extend_from_slice(&self.carried);
        self.carried.zeroize();
        (self.gap, self.limit, self.all) = (gap, gap + chunks * CHUNK_LEN, chunks);
        Poll::Ready(())
    }

    /// [`Self::poll_make`] for content that lies elsewhere and is sealed from there.
    pub(super) fn poll_make_apart(
        &mut self,
        cx: &Context<'_>,
        read: usize,
        left: u64,
    ) -> Poll<usize> {
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        // One chunk more than the content fills by itself: the sealer may have the beginning of one.
        let fits = |len: usize| (len.saturating_sub(SALT_LEN) / SEALED_CHUNK_LEN).saturating_sub(1);
        let all = read_room::chunks(READS, read).clamp(1, left / CHUNK_LEN + 1);
        if fits(self.room.capacity()) < all.div_ceil(4) {
            ready!(self.room.poll_has(cx, SALT_LEN + (all + 1) * SEALED_CHUNK_LEN));
        }
        Poll::Ready(fits(self.room.capacity()) * CHUNK_LEN)
    }

    /// Seals what fills chunks of `content`, behind what was pushed before; the sealer keeps the rest. What was sealed
    /// is added to `sum`.
    ///
    /// # Errors
    /// Those of the sealer.
    pub(super) fn push(
        &mut self,
        content: &[u8],
        sealer: &mut Sealer,
        sum: &mut Option<Hasher>,
    ) -> Result<(), SealError> {
        for slice in content.chunks(SLICE) {
            let before = self.room.len();
            sealer.push(slice, &mut self.room)?;
            add(sum, &self.room[before..]);
        }
        Ok(())
    }

    /// What was pushed, sealed.
    pub(super) fn pushed(&mut self) -> Bytes {
        let len = self.room.len();
        self.room.give(len)
    }

    /// Content is read to the end of these.
    pub(super) fn bytes(&mut self) -> &mut BytesMut {
        &mut self.room
    }

    /// Content that came and is not sealed yet.
    pub(super) fn content(&self) -> &[u8] {
        self.room.get(self.gap..).unwrap_or_default()
    }

    /// Seals what fills chunks, and adds it to `sum`.
    ///
    /// # Errors
    /// Those of the sealer.
    pub(super) fn seal(
        &mut self,
        sealer: &mut Sealer,
        sum: &mut Option<Hasher>,
    ) -> Result<Bytes, SealError> {
        let mut all = 0;
        loop {
            let end = self.room.len().min(all + self.gap + SLICE);
            let sealed = self.seal_between(all, end, sealer, sum)?;
            if sealed == 0 {
                return Ok(self.give(all));
            }
            all += sealed;
        }
    }

    /// [`Self::seal`] where what came behind the first `before` bytes is content with other bytes around it: of those
    /// that are still to be looked at, `next` says how many are around content, and how many content follows.
    ///
    /// # Errors
    /// Those of the sealer and of `next`.
    pub(super) fn seal_chunks(
        &mut self,
        before: usize,
        sealer: &mut Sealer,
        sum: &mut Option<Hasher>,
        mut next: impl FnMut(&[u8]) -> Result<Span, S3Error>,
    ) -> Result<Bytes, S3Error> {
        let (mut all, mut seen) = (0, before);
        // Content that is not sealed yet is between the gap and here.
        let mut end = before;
        while seen < self.room.len() {
            let slice = &self.room[seen..self.room.len().min(seen + SLICE)];
            let Span { framing, content } = next(slice)?;
            let mut begin = seen + framing;
            seen = begin + content;
            if begin > end {
                // What fills the chunk that was begun moves to it: no byte more than once.
                let begun = end - all - self.gap;
                if begun > 0 {
                    let moved = content.min(CHUNK_LEN - begun);
                    self.room.copy_within(begin..begin + moved, end);
                    (begin, end) = (begin + moved, end + moved);
                    all += self.seal_between(all, end, sealer, sum)?;
                }
                if end == all + self.gap {
                    self.gap = begin - all;
                    end = begin;
                }
            }
            if begin < seen {
                end = seen;
                all += self.seal_between(all, end, sealer, sum)?;
            }
        }
        self.room.truncate(end);
        Ok(self.give(all))
    }

    /// Seals what fills chunks of the content that ends at `end`, to `all`, up to where it was sealed before. How many
    /// bytes.
    fn seal_between(
        &mut self,
        all: usize,
        end: usize,
        sealer: &mut Sealer,
        sum: &mut Option<Hasher>,
    ) -> Result<usize, SealError> {
        // Behind what is sealed already the gap begins.
        let sealed = sealer.seal_within(&mut self.room[all..end], self.gap)?;
        add(sum, &self.room[all..all + sealed]);
        self.gap = self.gap + sealed / SEALED_CHUNK_LEN * CHUNK_LEN - sealed;
        Ok(sealed)
    }

    fn give(&mut self, sealed: usize) -> Bytes {
        self.limit -= sealed;
        self.room.give(sealed)
    }
}

fn add(sum: &mut Option<Hasher>, sealed: &[u8]) {
    if let Some(sum) = sum {
        sum.update(sealed);
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::VecDeque;
    use core::task::Waker;

    use endseal_crypto::random::{Random, RandomError};

    use super::*;
    use crate::aws_chunked::{Decoder, Form, Limits};
    use crate::checksum::{ChecksumKind, ChecksumValue};
    use crate::object::{ContentKey, PartNumber, PartSealer};

    struct Same;

    impl Random for Same {
        fn fill(&mut self, buffer: &mut [u8]) -> Result<(), RandomError> {
            buffer.fill(7);
            Ok(())
        }
    }

    fn sealer(len: usize) -> PartSealer {
        let key = ContentKey::from_bytes(&[1; 32]);
        PartSealer::new(&key, PartNumber::MAX, len as u64, &mut Same).unwrap()
    }

    fn sum_of(sealed: &[u8]) -> ChecksumValue {
        let mut sum = Hasher::new(ChecksumKind::Crc32c);
        sum.update(sealed);
        sum.finish()
    }

    /// Content that comes `most` bytes at a time, sealed; `waits` keeps that many sealed pieces as a backend that is
    /// slow does.
    fn run(content: &[u8], read: usize, most: usize, waits: usize) -> Vec<u8> {
        let cx = Context::from_waker(Waker::noop());
        let (mut room, mut left) = (SealRoom::default(), content);
        let mut sealer = Sealer::Part(sealer(content.len()));
        let (mut sealed, mut waiting) = (Vec::new(), VecDeque::<Bytes>::new());
        let mut sum = Some(Hasher::new(ChecksumKind::Crc32c));
        while !left.is_empty() {
            let Poll::Ready(free) = room.poll_make(&cx, read, left.len() as u64) else {
                sealed.extend_from_slice(&waiting.pop_front().expect("it waits for something"));
                continue;
            };
            assert!(free > 0 && free <= room.bytes().capacity() - room.bytes().len());
            let (piece, rest) = left.split_at(free.min(most).min(left.len()));
            let memory = room.bytes().capacity();
            room.bytes().extend_from_slice(piece);
            assert_eq!(room.bytes().capacity(), memory, "there was room for it");
            waiting.push_back(room.seal(&mut sealer, &mut sum).unwrap());
            assert!(room.content().len() < CHUNK_LEN, "what fills chunks is sealed");
            if waiting.len() > waits {
                sealed.extend(waiting.pop_front().into_iter().flatten());
            }
            left = rest;
        }
        sealed.extend(waiting.into_iter().flatten());
        assert!(room.poll_make(&cx, read, 0).is_ready());
        let mut end = BytesMut::new();
        assert_eq!(sum.unwrap().finish(), sum_of(&sealed));
        let Sealer::Part(mut sealer) = sealer else { unreachable!() };
        sealer.push(room.content(), &mut end).unwrap();
        sealer.finish(&mut end).unwrap();
        sealed.extend_from_slice(&end);
        sealed
    }

    /// The same of content that lies elsewhere.
    fn run_apart(content: &[u8], read: usize, most: usize, waits: usize) -> Vec<u8> {
        let cx = Context::from_waker(Waker::noop());
        let (mut room, mut left) = (SealRoom::default(), content);
        let mut sealer = Sealer::Part(sealer(content.len()));
        let (mut sealed, mut waiting) = (Vec::new(), VecDeque::<Bytes>::new());
        let mut sum = Some(Hasher::new(ChecksumKind::Crc32c));
        while !left.is_empty() {
            let Poll::Ready(free) = room.poll_make_apart(&cx, read, left.len() as u64) else {
                sealed.extend_from_slice(&waiting.pop_front().expect("it waits for something"));
                continue;
            };
            assert!(free > 0);
            let memory = room.bytes().capacity();
            let (mut now, rest) = left.split_at(free.min(left.len()));
            while !now.is_empty() {
                let (piece, after) = now.split_at(most.min(now.len()));
                room.push(piece, &mut sealer, &mut sum).unwrap();
                now = after;
            }
            assert_eq!(room.bytes().capacity(), memory, "there was room for it");
            waiting.push_back(room.pushed());
            if waiting.len() > waits {
                sealed.extend(waiting.pop_front().into_iter().flatten());
            }
            left = rest;
        }
        sealed.extend(waiting.into_iter().flatten());
        assert!(room.content().is_empty());
        let mut end = BytesMut::new();
        assert_eq!(sum.unwrap().finish(), sum_of(&sealed));
        let Sealer::Part(sealer) = sealer else { unreachable!() };
        sealer.finish(&mut end).unwrap();
        sealed.extend_from_slice(&end);
        sealed
    }

    /// [`run`] of content that comes in chunks of `size` bytes, sealed where they were read.
    fn run_chunks(content: &[u8], size: usize, most: usize, waits: usize) -> Vec<u8> {
        let cx = Context::from_waker(Waker::noop());
        let mut wire = Vec::new();
        for chunk in content.chunks(size) {
            wire.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            wire.extend_from_slice(chunk);
            wire.extend_from_slice(b"\r\n");
        }
        wire.extend_from_slice(b"0\r\n\r\n");
        let len = content.len() as u64;
        let mut decoder = Decoder::new(Form::Unsigned, len, Vec::new(), Limits::default());
        let mut sealer = Sealer::Part(sealer(content.len()));
        let (mut sealed, mut waiting) = (Vec::new(), VecDeque::<Bytes>::new());
        let mut sum = Some(Hasher::new(ChecksumKind::Crc32c));
        let (mut room, mut came, mut left) = (SealRoom::default(), &wire[..], len);
        while !came.is_empty() {
            let Poll::Ready(free) = room.poll_make(&cx, 100_000, left + 100) else {
                sealed.extend_from_slice(&waiting.pop_front().expect("it waits for something"));
                continue;
            };
            let (now, rest) = came.split_at(free.min(most).min(came.len()));
            assert!(!now.is_empty() && room.bytes().capacity() - room.bytes().len() >= now.len());
            let from = room.bytes().len();
            room.bytes().extend_from_slice(now);
            let next = |read: &[u8]| {
                let span = decoder.next_span(read)?;
                left -= span.content as u64;
                Ok(span)
            };
            waiting.push_back(room.seal_chunks(from, &mut sealer, &mut sum, next).unwrap());
            if waiting.len() > waits {
                sealed.extend(waiting.pop_front().into_iter().flatten());
            }
            assert!(room.content().len() < CHUNK_LEN);
            came = rest;
        }
        decoder.finish().unwrap();
        sealed.extend(waiting.into_iter().flatten());
        assert_eq!(sum.unwrap().finish(), sum_of(&sealed));
        let mut end = BytesMut::new();
        let Sealer::Part(mut sealer) = sealer else { unreachable!() };
        sealer.push(room.content(), &mut end).unwrap();
        sealer.finish(&mut end).unwrap();
        sealed.extend_from_slice(&end);
        sealed
    }

    #[test]
    fn chunks_of_a_client_are_sealed_as_their_content() {
        for len in [0, 1, CHUNK_LEN, 5 * CHUNK_LEN + 1, 50 * CHUNK_LEN + 123] {
            let content: Vec<u8> = (0..=250).cycle().step_by(31).take(len).collect();
            let mut expected = BytesMut::new();
            let mut whole = sealer(len);
            whole.push(&content, &mut expected).unwrap();
            whole.finish(&mut expected).unwrap();
            for size in [1, 7, 999, CHUNK_LEN - 1, CHUNK_LEN, 3 * CHUNK_LEN, 70_000, 1 << 20] {
                if size < 100 && len > 2 * CHUNK_LEN {
                    continue;
                }
                for most in [999, CHUNK_LEN, 50_000, usize::MAX] {
                    for waits in [0, 1, 5] {
                        let sealed = run_chunks(&content, size, most, waits);
                        assert!(sealed == expected, "{len}, {size}, {most}, {waits}");
                    }
                }
            }
        }
    }

    #[test]
    fn however_content_comes_the_same_is_sealed() {
        for len in [0, 1, CHUNK_LEN - 1, CHUNK_LEN, 5 * CHUNK_LEN, 50 * CHUNK_LEN + 123] {
            let content: Vec<u8> = (0..=250).cycle().step_by(31).take(len).collect();
            let mut expected = BytesMut::new();
            let mut whole = sealer(len);
            whole.push(&content, &mut expected).unwrap();
            whole.finish(&mut expected).unwrap();
            for read in [0, 1, CHUNK_LEN, 100_000, 768 * 1024] {
                for most in [999, CHUNK_LEN, 70_000, usize::MAX] {
                    for waits in [0, 1, 5] {
                        let sealed = run(&content, read, most, waits);
                        assert!(sealed == expected, "{len}, {read}, {most}, {waits}");
                        let sealed = run_apart(&content, read, most, waits);
                        assert!(sealed == expected, "apart: {len}, {read}, {most}, {waits}");
                    }
                }
            }
        }
    }
}
