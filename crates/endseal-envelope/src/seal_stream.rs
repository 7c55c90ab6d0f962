//! An envelope sealed from content that comes in pieces, without I/O.

use alloc::vec::Vec;
use core::borrow::Borrow;

use endseal_crypto::ed25519::{Seed, SigningKey};
use endseal_crypto::hash;
use endseal_crypto::random::Random;
use endseal_crypto::segment::{RawKeys, StreamError, StreamSealer};

use crate::error::SealError;
use crate::header::HEADER_LEN;
use crate::prelude::{BLOCK_LEN, Transcript};
use crate::records::Records;
use crate::seal::{PIECE_LEN, Sealer};
use crate::steps::unmarked;

impl Sealer<'_> {
    /// Begins an envelope whose content comes in pieces: appends header and slots to `out`.
    ///
    /// The hedge of the randomness does not cover the content, which is not known yet: a source of
    /// randomness that repeats itself gives two streams of one sender to the same recipients the
    /// same keys, if their [times](Sealer::time), suites and contexts are equal.
    ///
    /// # Errors
    /// [`SealError`]; nothing is appended then.
    pub fn stream(
        &self,
        random: &mut impl Random,
        out: &mut Vec<u8>,
    ) -> Result<SealStream, SealError> {
        self.stream_signed(self.own_signing(), chunks_here, random, out)
    }

    /// [`Self::stream`] for a program that encrypts the chunks itself, as with Web Cryptography,
    /// which is faster than WebAssembly. Appends header and slots to `out`; the calls of the stream
    /// append *records*: the nonce (12 bytes) of a chunk and its plaintext (16,384 bytes, in the
    /// last record fewer).
    ///
    /// The caller MUST replace each record, in order, by its plaintext encrypted with AES-256-GCM
    /// under [`SealStream::detached_key`] and that nonce, without associated data, and the tag (16
    /// bytes). It MUST wipe the records and its copy of the key.
    ///
    /// # Errors
    /// Those of [`Self::stream`].
    pub fn stream_detached(
        &self,
        random: &mut impl Random,
        out: &mut Vec<u8>,
    ) -> Result<SealStream, SealError> {
        self.stream_signed(self.own_signing(), chunks_elsewhere, random, out)
    }

    /// A copy of the sender's signing key.
    fn own_signing(&self) -> SigningKey {
        let seed = self.sender.signing().seed().expose_secret();
        SigningKey::from_seed(Seed::init_with(|own| own.copy_from_slice(seed)))
    }

    /// [`Self::stream`] with the sender's signing key, owned or borrowed.
    pub(crate) fn stream_signed<K: Borrow<SigningKey>>(
        &self,
        signing: K,
        chunks: fn(RawKeys) -> Chunks,
        random: &mut impl Random,
        out: &mut Vec<u8>,
    ) -> Result<SealStream<K>, SealError> {
        let secrets = self.secrets(random, &[0; hash::LEN], u64::MAX)?;
        let before = out.len();
        out.resize(before + HEADER_LEN + self.total_slots() * self.suite.slot_len(), 0);
        let started = self.begin(&secrets, &mut out[before..], &mut unmarked);
        let headed = started.inspect_err(|_| out.truncate(before))?;
        let mut stream = SealStream {
            signing,
            chunks: chunks(headed.keys),
            transcript: headed.transcript,
            digest: hash::Digest::new(),
            index: 0,
            filled: 0,
        };
        stream.chunks.push(&headed.prelude, &mut append(out))?;
        Ok(stream)
    }
}

/// Chunks of an envelope: sealed as they fill, or records.
pub(crate) enum Chunks {
    Here(StreamSealer),
    Elsewhere(Records),
}

/// Seals chunks as they fill.
pub(crate) fn chunks_here(keys: RawKeys) -> Chunks {
    Chunks::Here(StreamSealer::new(keys.seal_keys()))
}

/// Makes records of chunks.
fn chunks_elsewhere(keys: RawKeys) -> Chunks {
    Chunks::Elsewhere(Records::new(keys))
}

impl Chunks {
    fn push<E: From<StreamError>>(
        &mut self,
        data: &[u8],
        sink: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        match self {
            Self::Here(sealer) => sealer.push(data, sink),
            Self::Elsewhere(records) => records.push(data, sink),
        }
    }
}

/// Appends sealed bytes to `out`, which cannot fail.
fn append(out: &mut Vec<u8>) -> impl FnMut(&[u8]) -> Result<(), SealError> {
    |sealed| {
        out.extend_from_slice(sealed);
        Ok(())
    }
}

/// Seals content that comes in pieces of any length, without I/O. [`Sealer::stream`] makes it.
///
/// It borrows nothing, so that an object of another language can hold it: it has a copy of the
/// sender's signing key and at most one chunk (16 KiB) of content, which are wiped when it is
/// dropped. The caller MUST call [`finish`](Self::finish): an envelope without its end does not
/// open.
///
/// ```
/// # use endseal_crypto::{identity::Identity, random::OsRandom};
/// # use endseal_envelope::{Opener, Policy, Recipients, Sealer};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let (alice, bob) = (Identity::generate(&mut OsRandom)?, Identity::generate(&mut OsRandom)?);
/// # let recipients = Recipients::from_identities([bob.public()])?;
/// # let context = b"example.org/files@v1";
/// let mut envelope = Vec::new();
/// let sealer = Sealer::new(&alice, &recipients, context);
/// let mut stream = sealer.stream(&mut OsRandom, &mut envelope)?;
/// for piece in ["a long ", "text"] {
///     stream.push(piece.as_bytes(), &mut envelope)?;
///     // Here a caller can send or store the bytes in `envelope`, and clear it.
/// }
/// stream.finish(&mut envelope)?;
///
/// let opened = Opener::new(&bob, context).open(&envelope, &mut Policy::new())?;
/// assert_eq!(opened.content, b"a long text");
/// # Ok(())
/// # }
/// ```
#[allow(missing_debug_implementations, reason = "holds keys and plaintext")]
pub struct SealStream<K = SigningKey> {
    signing: K,
    chunks: Chunks,
    transcript: Transcript,
    digest: hash::Digest,
    index: u64,
    /// Bytes of the current block.
    filled: usize,
}

impl<K: Borrow<SigningKey>> SealStream<K> {
    /// Seals the next bytes of the content, and appends to `out` what is complete: at most one
    /// chunk (16 KiB) of content is kept back. Pieces of 256 KiB are fastest.
    ///
    /// # Errors
    /// [`SealError::ContentTooLong`] beyond the limit of the format; after it every later call
    /// fails.
    pub fn push(&mut self, content: &[u8], out: &mut Vec<u8>) -> Result<(), SealError> {
        self.push_to(content, &mut append(out))
    }

    /// Signs the last block, and appends the end of the envelope to `out`.
    ///
    /// # Errors
    /// [`SealError::Incomplete`] if an earlier call failed.
    pub fn finish(self, out: &mut Vec<u8>) -> Result<(), SealError> {
        self.finish_to(&mut append(out))
    }

    /// The AES-256 key of the records, if [`Sealer::stream_detached`] made the stream.
    #[must_use]
    pub fn detached_key(&self) -> Option<&[u8; 32]> {
        match &self.chunks {
            Chunks::Here(_) => None,
            Chunks::Elsewhere(records) => Some(records.expose_key()),
        }
    }

    /// [`Self::push`], which passes each sealed chunk to `sink`.
    pub(crate) fn push_to<E: From<StreamError>>(
        &mut self,
        mut content: &[u8],
        sink: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        while !content.is_empty() {
            // Bytes are hashed while they are in the cache, in runs that suit the vector code.
            let room = (PIECE_LEN - self.filled % PIECE_LEN).min(BLOCK_LEN - self.filled);
            let (piece, rest) = content.split_at(content.len().min(room));
            self.digest.update(piece);
            self.chunks.push(piece, sink)?;
            self.filled += piece.len();
            if self.filled == BLOCK_LEN {
                self.sign_block(false, sink)?;
            }
            content = rest;
        }
        Ok(())
    }

    /// [`Self::finish`], which passes each sealed chunk to `sink`.
    pub(crate) fn finish_to<E: From<StreamError>>(
        mut self,
        sink: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.sign_block(true, sink)?;
        match self.chunks {
            Chunks::Here(sealer) => sealer.finish(sink),
            Chunks::Elsewhere(mut records) => records.finish(sink),
        }
    }

    fn sign_block<E: From<StreamError>>(
        &mut self,
        last: bool,
        sink: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let message = self.transcript.block(self.index, last, &self.digest.finish());
        self.chunks.push(self.signing.borrow().sign(&message).as_bytes(), sink)?;
        self.digest.reset();
        self.index += 1;
        self.filled = 0;
        Ok(())
    }
}
