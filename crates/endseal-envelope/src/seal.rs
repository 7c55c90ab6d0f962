//! Sealing of content that is whole in memory.

use alloc::vec;
use alloc::vec::Vec;
#[cfg(feature = "parallel")]
use core::num::NonZeroUsize;

use endseal_crypto::identity::Identity;
use endseal_crypto::random::Random;
use endseal_crypto::segment::{KeySource, RawKeys, SliceSealer, chunks_len};
use endseal_crypto::{hash, hazmat, x25519};

use crate::error::SealError;
use crate::header::{HEADER_LEN, Header};
use crate::kem::Kem;
use crate::limits::{MAX_CONTEXT_LEN, MAX_SLOTS};
use crate::prelude::{BLOCK_LEN, Prelude, Transcript, stream_len};
use crate::recipients::Recipients;
use crate::secrets::{EnvelopeSecrets, Hedge};
use crate::slot::Slots;
use crate::steps::{Step, unmarked};
use crate::suite::Suite;

/// Padding of the number of recipients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decoys {
    /// No decoys: every observer sees the number of recipients.
    #[default]
    None,
    /// Decoys up to 8, 16, 32, … slots.
    PowerOfTwo,
}

/// Seals contents from one sender to a list of recipients.
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations, reason = "refers to secrets")]
pub struct Sealer<'a> {
    pub(crate) sender: &'a Identity,
    pub(crate) recipients: &'a Recipients,
    pub(crate) context: &'a [u8],
    pub(crate) time: u64,
    pub(crate) suite: Suite,
    pub(crate) decoys: Decoys,
    pub(crate) platform: Option<x25519::Platform>,
    #[cfg(feature = "parallel")]
    pub(crate) threads: NonZeroUsize,
}

impl<'a> Sealer<'a> {
    /// From `sender` to `recipients`, in the suite [`Suite::X25519MlKem768`], without decoys and
    /// without a time.
    ///
    /// `context` separates applications, and is not sent: the reader MUST give the same one. It
    /// names the application and protocol first, for example `example.org/chat@v1`, and may go on
    /// with the name of a chat room or the digest of a roster. It has [`MAX_CONTEXT_LEN`] bytes at
    /// most.
    #[must_use]
    pub fn new(sender: &'a Identity, recipients: &'a Recipients, context: &'a [u8]) -> Self {
        Self {
            sender,
            recipients,
            context,
            time: 0,
            suite: Suite::X25519MlKem768,
            decoys: Decoys::None,
            platform: None,
            #[cfg(feature = "parallel")]
            threads: NonZeroUsize::MIN,
        }
    }

    /// States the time, in milliseconds since 1970-01-01T00:00:00Z; 0 states none.
    #[must_use]
    pub fn time(self, milliseconds: u64) -> Self {
        Self { time: milliseconds, ..self }
    }

    /// Chooses the suite. The default needs an ML-KEM-768 key of every recipient, and sealing fails
    /// with [`SealError::NoMlKemKey`] without one. [`Recipients::suite`] is the best that all
    /// recipients have the keys of. A caller that chooses it SHOULD tell its user if it is
    /// classical: one recipient who publishes an identity without its ML-KEM-768 key then weakens
    /// the secrecy for all recipients.
    #[must_use]
    pub fn suite(self, suite: Suite) -> Self {
        Self { suite, ..self }
    }

    /// Adds decoys, which hide the number of recipients.
    #[must_use]
    pub fn decoys(self, decoys: Decoys) -> Self {
        Self { decoys, ..self }
    }

    /// Agrees on a chosen platform instead of the fastest, to compare them.
    #[must_use]
    pub fn platform(self, platform: x25519::Platform) -> Self {
        Self { platform: Some(platform), ..self }
    }

    /// Seals to the recipients on up to `threads` threads, which are started for each envelope and
    /// end before it is done. The default is one: the caller's. The envelope is the same.
    #[cfg(feature = "parallel")]
    #[must_use]
    pub fn threads(self, threads: NonZeroUsize) -> Self {
        Self { threads, ..self }
    }

    /// Length of the envelope for that much content.
    ///
    /// # Errors
    /// [`SealError::ContentTooLong`].
    pub fn sealed_len(&self, content_len: u64) -> Result<u64, SealError> {
        let chunks = stream_len(content_len).and_then(chunks_len);
        let slots = (self.total_slots() * self.suite.slot_len()) as u64;
        chunks
            .filter(|_| content_len <= MAX_CONTENT_LEN)
            .and_then(|chunks| chunks.checked_add(HEADER_LEN as u64 + slots))
            .ok_or(SealError::ContentTooLong)
    }

    /// Seals `content` from the sender to all recipients, and returns the envelope.
    ///
    /// # Errors
    /// [`SealError`].
    pub fn seal(&self, content: &[u8], random: &mut impl Random) -> Result<Vec<u8>, SealError> {
        let len = self.sealed_len(content.len() as u64)?;
        let mut out = vec![0; usize::try_from(len).map_err(|_| SealError::ContentTooLong)?];
        self.seal_into(content, &mut out, random)?;
        Ok(out)
    }

    /// Seals `content` into `out`, which has exactly [`sealed_len`](Self::sealed_len) bytes.
    /// Returns the index of the slot of each recipient, in the order of [`Recipients::keys`]. The
    /// caller MUST disclose them only to a delivery service that is trusted to cut views.
    ///
    /// # Errors
    /// [`SealError`]; `out` is to be thrown away then.
    pub fn seal_into(
        &self,
        content: &[u8],
        out: &mut [u8],
        random: &mut impl Random,
    ) -> Result<Vec<u32>, SealError> {
        self.seal_marked(content, out, random, &mut unmarked)
    }

    /// [`seal_into`](Self::seal_into), which calls `mark` at the end of each step.
    ///
    /// # Errors
    /// [`SealError`].
    #[doc(hidden)]
    pub fn seal_marked(
        &self,
        content: &[u8],
        out: &mut [u8],
        random: &mut impl Random,
        mark: &mut impl FnMut(Step),
    ) -> Result<Vec<u32>, SealError> {
        let digest = first_block_digest(content);
        mark(Step::Signature);
        let secrets = self.secrets(random, &digest, content.len() as u64)?;
        mark(Step::Keys);
        self.assemble(&secrets, content, &digest, out, mark)
    }

    pub(crate) fn secrets(
        &self,
        random: &mut impl Random,
        first_block_digest: &[u8; hash::LEN],
        content_len: u64,
    ) -> Result<EnvelopeSecrets, SealError> {
        let hedge = Hedge {
            sender: self.sender.hedge(),
            recipients: self.recipients.digest(),
            time: self.time,
            suite: self.suite,
            context: self.context,
            content: first_block_digest,
            content_len,
        };
        Ok(EnvelopeSecrets::generate(random, &hedge)?)
    }

    /// Number of slots, those of decoys included.
    pub(crate) fn total_slots(&self) -> usize {
        match self.decoys {
            Decoys::None => self.recipients.len(),
            Decoys::PowerOfTwo => self.recipients.len().next_power_of_two().clamp(8, MAX_SLOTS),
        }
    }

    /// Writes header and slots into `out`, which is exactly as long.
    pub(crate) fn begin(
        &self,
        secrets: &EnvelopeSecrets,
        out: &mut [u8],
        mark: &mut impl FnMut(Step),
    ) -> Result<AfterSlots, SealError> {
        if self.context.len() > MAX_CONTEXT_LEN {
            return Err(SealError::ContextTooLong);
        }
        let kems: Vec<&Kem> = match self.suite {
            Suite::X25519MlKem768 => self.recipients.kems()?,
            Suite::X25519 | Suite::X25519Compact => Vec::new(),
        };
        let total = self.total_slots();
        let platform = self.platform.unwrap_or_else(x25519::Platform::detect);
        let keys = self.recipients.agreement_keys();
        #[cfg(feature = "parallel")]
        let (ephemeral, shared) =
            secrets.ephemeral.agree_once_on_threads(self.threads, platform, keys);
        #[cfg(not(feature = "parallel"))]
        let (ephemeral, shared) = secrets.ephemeral.agree_once_on(platform, keys);
        mark(Step::Agreement);
        let mut header = Header {
            suite: self.suite,
            ephemeral,
            salt: secrets.salt,
            commitment: [0; 32],
            slots: u32::try_from(total).map_err(|_| SealError::BufferLength)?,
        };
        let header_digest = header.digest(self.context);
        let key = secrets.material.content_key(self.suite, &header_digest);
        // Hedged: the salt is derived from the random bytes and the sender's secret.
        let source = KeySource::new(&key);
        let chunk_keys = hazmat::raw_keys(&source, &secrets.salt, &header_digest);
        let commitment = *chunk_keys.commitment();
        header.commitment = commitment;
        mark(Step::Keys);
        let (fixed, slots_out) =
            out.split_at_mut_checked(HEADER_LEN).ok_or(SealError::BufferLength)?;
        fixed.copy_from_slice(&header.encode());
        mark(Step::Encoding);
        let slots = Slots {
            suite: self.suite,
            header_digest: &header_digest,
            material: &secrets.material,
            keys,
            shared: &shared,
            kems: &kems,
            total,
            stream: &secrets.stream,
            #[cfg(feature = "parallel")]
            threads: self.threads,
        };
        let positions = slots.write(slots_out, mark)?;
        let prelude = Prelude {
            sender: *self.sender.signing().public_key().as_bytes(),
            message_id: secrets.message_id,
            time: self.time,
        }
        .encode();
        let transcript = Transcript::new(&header_digest, &commitment, &prelude);
        mark(Step::Encoding);
        Ok(AfterSlots { keys: chunk_keys, prelude, transcript, positions })
    }

    pub(crate) fn assemble(
        &self,
        secrets: &EnvelopeSecrets,
        content: &[u8],
        first_block_digest: &[u8; hash::LEN],
        out: &mut [u8],
        mark: &mut impl FnMut(Step),
    ) -> Result<Vec<u32>, SealError> {
        if Ok(out.len() as u64) != self.sealed_len(content.len() as u64) {
            return Err(SealError::BufferLength);
        }
        let slots_len = self.total_slots() * self.suite.slot_len();
        let (start, chunks) = out.split_at_mut(HEADER_LEN + slots_len);
        let headed = self.begin(secrets, start, mark)?;
        let mut sealer = SliceSealer::new(headed.keys.seal_keys(), chunks);
        sealer.push(&headed.prelude);
        let (full, last) = content.as_chunks::<BLOCK_LEN>();
        let blocks = full.iter().map(|block| &block[..]).chain([last]);
        for (index, block) in (0..).zip(blocks) {
            let is_last = index == full.len() as u64;
            let mut digest = hash::Digest::new();
            for piece in block.chunks(PIECE_LEN) {
                sealer.push(piece);
                mark(Step::Content);
                if index > 0 {
                    digest.update(piece);
                    mark(Step::Signature);
                }
            }
            let digest = if index == 0 { *first_block_digest } else { digest.finish() };
            let message = headed.transcript.block(index, is_last, &digest);
            let signature = self.sender.signing().sign(&message);
            mark(Step::Signature);
            sealer.push(signature.as_bytes());
        }
        sealer.finish();
        mark(Step::Content);
        Ok(headed.positions)
    }
}

/// Content is hashed and encrypted in pieces of this length, so that the second finds it in the
/// cache.
pub(crate) const PIECE_LEN: usize = 256 << 10;

/// Content of one envelope at most.
const MAX_CONTENT_LEN: u64 = 1 << 51;

/// Digest of the first block, which both the hedge and the first signature use.
pub(crate) fn first_block_digest(content: &[u8]) -> [u8; hash::LEN] {
    hash::digest(content.get(..BLOCK_LEN).unwrap_or(content))
}

/// State once header and slots are written.
pub(crate) struct AfterSlots {
    pub(crate) keys: RawKeys,
    pub(crate) prelude: [u8; crate::prelude::PRELUDE_LEN],
    pub(crate) transcript: Transcript,
    pub(crate) positions: Vec<u32>,
}
