//! An envelope opened as it is read.

use alloc::vec;
use alloc::vec::Vec;
use std::io::{self, Read};

use endseal_crypto::secret::Zeroizing;
use endseal_crypto::segment::{self, AuthenticationFailed, ChunkKeys};
use endseal_crypto::{ed25519, hash};

use crate::error::{Malformed, OpenError};
use crate::header::{HEADER_LEN, Header};
use crate::open::Opener;
use crate::policy::Policy;
use crate::prelude::{BLOCK_LEN, Claim, PRELUDE_LEN, Prelude, SIGNED_BLOCK_LEN, Transcript};
use crate::slot::{TagRuns, Unwrapper};
use crate::suite::{Suite, TAG_LEN};

impl Opener<'_> {
    /// Begins to open the envelope on `inner`. It finds the slot, and opens and verifies the first
    /// block: the sender is known, and `policy` has accepted it, before any content is released.
    ///
    /// A replay cache remembers the message when the last block was verified, before any byte of
    /// that block is released.
    ///
    /// Memory: one block (4 MiB) and the bodies of at most 16 slots, however many there are.
    ///
    /// # Errors
    /// Those of `inner`; [`OpenError`] inside an error of kind `InvalidData`.
    pub fn reader<'p, R: Read>(
        &self,
        mut inner: R,
        policy: Policy<'p>,
    ) -> io::Result<OpenReader<'p, R>> {
        self.check_context().map_err(invalid)?;
        let mut fixed = [0; HEADER_LEN];
        let len = fill(&mut inner, &mut fixed)?;
        if len < HEADER_LEN {
            return Err(invalid(Header::too_short(&fixed[..len])));
        }
        let header = Header::parse(&fixed).map_err(invalid)?;
        policy.judge_suite(header.suite).map_err(invalid)?;
        let shared = self.identity().agreement().agree(&header.ephemeral);
        // The clear part is judged before the agreement: a malformed one has its own error.
        let shared_or_none = shared.as_ref().ok();
        let zero = [0; 32];
        let shared_bytes = shared_or_none.map_or(&zero, |secret| secret.expose_secret());
        let unwrapper = self.unwrapper(&header, shared_bytes);
        let keys = read_slots(&mut inner, &header, &unwrapper)?;
        let keys = keys.filter(|_| shared_or_none.is_some());
        let keys = keys.ok_or_else(|| invalid(OpenError::Authentication))?;
        OpenReader::begin(inner, keys, unwrapper.header_digest(), &header, policy)
    }
}

/// Gives the content of an envelope. Every byte was authenticated, and signed by the sender.
///
/// The bytes that were read are a prefix of the content until `read` has returned 0: the caller
/// MUST NOT treat them as complete before, and MUST report an error that comes later.
#[allow(missing_debug_implementations, reason = "holds keys and plaintext")]
pub struct OpenReader<'p, R: Read> {
    blocks: Blocks<R>,
    policy: Policy<'p>,
    suite: Suite,
    sender: ed25519::PublicKey,
    prelude: Prelude,
}

impl<'p, R: Read> OpenReader<'p, R> {
    fn begin(
        inner: R,
        keys: ChunkKeys,
        header_digest: &[u8; hash::LEN],
        header: &Header,
        policy: Policy<'p>,
    ) -> io::Result<Self> {
        let mut segments = segment::OpenReader::from_keys(keys, inner);
        let mut encoded = [0; PRELUDE_LEN];
        if fill(&mut segments, &mut encoded).map_err(opaque)? < PRELUDE_LEN {
            return Err(invalid(OpenError::Authentication));
        }
        let prelude = Prelude::parse(&encoded);
        let transcript = Transcript::new(header_digest, &header.commitment, &encoded);
        let mut blocks = Blocks::new(segments, transcript);
        let sender = blocks.next()?.check_first(&prelude.sender).map_err(invalid)?;
        policy.judge(&sender, &prelude).map_err(invalid)?;
        let mut reader = Self { blocks, policy, suite: header.suite, sender, prelude };
        reader.remember_whole()?;
        Ok(reader)
    }

    /// Suite of the envelope. [`Policy::suites`] refuses others.
    #[must_use]
    pub fn suite(&self) -> Suite {
        self.suite
    }

    /// Key that sealed and signed it. The caller MUST decide whether it knows that key.
    #[must_use]
    pub fn sender(&self) -> &ed25519::PublicKey {
        &self.sender
    }

    /// Random name of this message, chosen by the sender.
    #[must_use]
    pub fn message_id(&self) -> &[u8; 16] {
        &self.prelude.message_id
    }

    /// The sender's claim of the time, in milliseconds since 1970-01-01T00:00:00Z; 0 if not stated.
    #[must_use]
    pub fn time(&self) -> u64 {
        self.prelude.time
    }

    fn next_block(&mut self) -> io::Result<()> {
        let claim = self.blocks.next()?;
        claim.check(&self.sender).map_err(invalid)?;
        self.remember_whole()
    }

    /// Remembers the message if the block that was just verified is the last one.
    fn remember_whole(&mut self) -> io::Result<()> {
        if !matches!(self.blocks.state, State::Last) {
            return Ok(());
        }
        self.policy.remember(&self.sender, &self.prelude).map_err(invalid)
    }
}

impl<R: Read> Read for OpenReader<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        while self.blocks.start == self.blocks.end {
            match &self.blocks.state {
                State::Last => return Ok(0),
                State::Failed(error) => return Err(segment::repeat_error::<OpenError>(error)),
                State::Open => {}
            }
            if let Err(error) = self.next_block() {
                self.blocks.fail(segment::repeat_error::<OpenError>(&error));
                return Err(error);
            }
        }
        Ok(self.blocks.give(out))
    }
}

/// Reads block after block. The block that it holds is not verified until its claim was checked.
struct Blocks<R: Read> {
    segments: segment::OpenReader<R>,
    transcript: Transcript,
    block: Zeroizing<Vec<u8>>,
    /// Part of `block` that has not been released yet.
    start: usize,
    end: usize,
    index: u64,
    state: State,
}

enum State {
    Open,
    Last,
    /// Every later call returns this error again.
    Failed(io::Error),
}

impl<R: Read> Blocks<R> {
    fn new(segments: segment::OpenReader<R>, transcript: Transcript) -> Self {
        let block = Zeroizing::new(vec![0; SIGNED_BLOCK_LEN]);
        Self { segments, transcript, block, start: 0, end: 0, index: 0, state: State::Open }
    }

    /// Reads the next block. The caller MUST check its claim, or call [`Self::fail`], before it
    /// releases any content.
    fn next(&mut self) -> io::Result<Claim> {
        let len = fill(&mut self.segments, &mut self.block).map_err(opaque)?;
        let last = len < SIGNED_BLOCK_LEN;
        let content = len
            .checked_sub(ed25519::Signature::LEN)
            .filter(|content| *content <= BLOCK_LEN)
            .ok_or_else(|| invalid(OpenError::Authentication))?;
        let (block, signature) = self.block[..len].split_at(content);
        let signature =
            signature.first_chunk().ok_or_else(|| invalid(OpenError::Authentication))?;
        let claim = Claim {
            message: self.transcript.block(self.index, last, &hash::digest(block)),
            signature: ed25519::Signature::from_bytes(signature),
        };
        (self.start, self.end) = (0, content);
        self.index += 1;
        self.state = if last { State::Last } else { State::Open };
        Ok(claim)
    }

    /// Ends the reading: from now on every call returns this error.
    fn fail(&mut self, error: io::Error) {
        (self.start, self.end) = (0, 0);
        self.state = State::Failed(error);
    }

    /// Copies as much of the block as fits into `out`, and returns the number of bytes.
    fn give(&mut self, out: &mut [u8]) -> usize {
        let len = out.len().min(self.end - self.start);
        out[..len].copy_from_slice(&self.block[self.start..][..len]);
        self.start += len;
        len
    }
}

/// Reads tags and bodies; returns the keys if one of the slots is the reader's.
fn read_slots(
    inner: &mut impl Read,
    header: &Header,
    unwrapper: &Unwrapper<'_>,
) -> io::Result<Option<ChunkKeys>> {
    let slots = header.slots as usize;
    let own = unwrapper.tag();
    let (mut position, mut first, mut own_slots) = (0, 0, 0);
    let mut runs = TagRuns::default();
    let mut buffer = vec![0; 16 * 1024];
    while position < slots {
        let len = buffer.len().min((slots - position) * TAG_LEN);
        exactly(inner, &mut buffer[..len])?;
        for tag in buffer[..len].as_chunks::<TAG_LEN>().0 {
            if !runs.push(*tag) {
                return Err(invalid(Malformed::TagOrder.into()));
            }
            first += usize::from(*tag < own);
            own_slots += usize::from(*tag == own);
        }
        position += len / TAG_LEN;
    }
    let body_len = header.suite.body_len();
    let kept = own_slots.min(runs.tries());
    let mut bodies = vec![0; kept * body_len];
    skip(inner, first * body_len, &mut buffer)?;
    exactly(inner, &mut bodies)?;
    // All are read before one is tried: the source does not see where the reader pauses.
    skip(inner, (slots - first - kept) * body_len, &mut buffer)?;
    Ok(unwrapper.find(bodies.chunks_exact(body_len), runs.tries()))
}

/// Reads until `buffer` is full or the stream ends, and returns the number of bytes.
fn fill(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut len = 0;
    while len < buffer.len() {
        match reader.read(&mut buffer[len..]) {
            Ok(0) => break,
            Ok(n) => len += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(len)
}

fn exactly(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<()> {
    if fill(reader, buffer)? < buffer.len() {
        return Err(invalid(Malformed::Truncated.into()));
    }
    Ok(())
}

fn skip(reader: &mut impl Read, mut len: usize, buffer: &mut [u8]) -> io::Result<()> {
    while len > 0 {
        let piece = len.min(buffer.len());
        exactly(reader, &mut buffer[..piece])?;
        len -= piece;
    }
    Ok(())
}

fn invalid(error: OpenError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// An authentication failure of a chunk is that of the envelope; other errors are the source's.
fn opaque(error: io::Error) -> io::Error {
    match error.get_ref().is_some_and(|inner| inner.is::<AuthenticationFailed>()) {
        true => invalid(OpenError::Authentication),
        false => error,
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
            let opener = Opener::new(&reader, CONTEXT);
            let (fixed, mut rest) = envelope.split_first_chunk().expect("a header");
            let header = Header::parse(fixed).expect("a header");
            let shared = reader.agreement().agree(&header.ephemeral).expect("a secret");
            let unwrapper = opener.unwrapper(&header, shared.expose_secret());
            drop(read_slots(&mut rest, &header, &unwrapper).expect("slots"));
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
