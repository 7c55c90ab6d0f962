//! Chunks whose content, or whose sealed bytes, come in pieces of any size.

use core::ops::Range;

use bytes::BytesMut;
use endseal_crypto::hazmat;
use endseal_crypto::label::Label;
use endseal_crypto::secret::Zeroizing;
use endseal_crypto::segment::{
    CHUNK_LEN, ChunkKeys, ChunkSealer, KeySource, SALT_LEN, SEALED_CHUNK_LEN, SealKeys,
    SliceOpener, TAG_LEN, chunks_len,
};

use crate::{AuthenticationFailed, SealError};

/// `context(kind, rest)`; the labels are `"endseal/s3-object@v1 " || kind`.
pub(super) fn context(kind: Label, rest: &[u8]) -> Vec<u8> {
    [kind.as_str().as_bytes(), rest].concat()
}

/// Seals content of a length that was announced.
pub(super) struct ContentSealer {
    chunks: ChunkSealer,
    /// The start of a chunk whose rest has not come yet.
    pending: Zeroizing<Vec<u8>>,
    remaining: u64,
}

impl ContentSealer {
    pub(super) fn new(keys: SealKeys, len: u64) -> Self {
        Self { chunks: ChunkSealer::new(keys), pending: Zeroizing::default(), remaining: len }
    }

    /// Seals full chunks straight from `data`; only one that straddles two calls is copied.
    pub(super) fn push(&mut self, data: &[u8], out: &mut BytesMut) -> Result<(), SealError> {
        self.remaining = self.remaining.checked_sub(data.len() as u64).ok_or(SealError::Length)?;
        let mut data = data;
        if !self.pending.is_empty() {
            let (head, rest) = data.split_at(data.len().min(CHUNK_LEN - self.pending.len()));
            self.pending.extend_from_slice(head);
            data = rest;
            // Not full yet: `data` is used up.
            let Ok(chunk) = self.pending.as_slice().try_into() else { return Ok(()) };
            seal(&mut self.chunks, chunk, out)?;
            self.pending.clear();
        }
        let (full, rest) = data.as_chunks();
        out.reserve(full.len() * SEALED_CHUNK_LEN);
        for chunk in full {
            seal(&mut self.chunks, chunk, out)?;
        }
        if !rest.is_empty() && self.pending.capacity() == 0 {
            // Allocates all of its capacity at once: a vector that grows leaves plaintext behind.
            let to_come = usize::try_from(self.remaining).unwrap_or(CHUNK_LEN);
            self.pending.reserve_exact(rest.len().saturating_add(to_come).min(CHUNK_LEN));
        }
        self.pending.extend_from_slice(rest);
        Ok(())
    }

    /// Seals the last chunk, which may be shorter than the others, and checks the length.
    pub(super) fn finish(self, out: &mut BytesMut) -> Result<(), SealError> {
        if self.remaining > 0 {
            return Err(SealError::Length);
        }
        seal_last(self.chunks, &self.pending, out);
        Ok(())
    }

    /// Seals all of the content at once, before which nothing was pushed, without a copy of any of
    /// it. `out` MUST have as many bytes as its chunks.
    pub(super) fn seal_whole(mut self, data: &[u8], out: &mut [u8]) -> Result<(), SealError> {
        let fits = chunks_len(data.len() as u64) == Some(out.len() as u64);
        if !fits || data.len() as u64 != self.remaining || !self.pending.is_empty() {
            return Err(SealError::Length);
        }
        let (full, rest) = data.as_chunks();
        let (sealed, last) = out.split_at_mut(full.len() * SEALED_CHUNK_LEN);
        for (chunk, out) in full.iter().zip(sealed.as_chunks_mut().0) {
            self.chunks.seal(chunk, out).map_err(|_| SealError::ContentTooLong)?;
        }
        self.chunks.seal_last(rest, last);
        Ok(())
    }
}

fn seal_last(chunks: ChunkSealer, rest: &[u8], out: &mut BytesMut) {
    let start = out.len();
    out.resize(start + rest.len() + TAG_LEN, 0);
    chunks.seal_last(rest, &mut out[start..]);
}

fn seal(
    chunks: &mut ChunkSealer,
    chunk: &[u8; CHUNK_LEN],
    out: &mut BytesMut,
) -> Result<(), SealError> {
    let start = out.len();
    out.resize(start + SEALED_CHUNK_LEN, 0);
    let sealed = out[start..].first_chunk_mut().ok_or(SealError::Length)?;
    // Never longer than the 4 PiB that chunks hold: what was announced is at most 5 TiB.
    chunks.seal(chunk, sealed).map_err(|_| SealError::ContentTooLong)
}

/// Result of a call of an opener: the bytes that it took and the content that it released.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Taken {
    /// Number of sealed bytes at the start of the buffer that the opener does not need again.
    pub sealed: usize,
    /// Number of bytes of content that are at the start of the buffer now, all of them authentic.
    /// The bytes between them and the rest that was not taken are of no use.
    pub content: usize,
}

impl Taken {
    /// The next `len` bytes of `buffer` that were not taken yet, if they are there.
    pub(super) fn next(self, buffer: &[u8], len: usize) -> Option<Range<usize>> {
        let end = self.sealed.checked_add(len)?;
        (end <= buffer.len()).then_some(self.sealed..end)
    }
}

/// `salt (24) || chunks` of a message that is in memory. It has no commitment: the header has one
/// of the same key.
#[allow(clippy::expect_used, reason = "the message is the proof")]
pub(super) fn seal_message(
    source: &KeySource,
    context: &[u8],
    salt: &[u8; SALT_LEN],
    message: &[u8],
) -> Vec<u8> {
    let sealed = message.len() + (message.len() / CHUNK_LEN + 1) * TAG_LEN;
    let mut out = vec![0; SALT_LEN + sealed];
    let keys = hazmat::uncommitted_seal_keys(source, salt, context);
    seal_message_to(keys, salt, message, &mut out)
        .expect("it has room for salt and chunks, and memory holds no 4 PiB");
    out
}

/// The same by keys that were derived with that salt, to `out`, which MUST have [`message_len`]
/// bytes.
pub(super) fn seal_message_to(
    keys: SealKeys,
    salt: &[u8; SALT_LEN],
    message: &[u8],
    out: &mut [u8],
) -> Result<(), SealError> {
    let (salt_out, chunks) = out.split_first_chunk_mut().ok_or(SealError::Length)?;
    *salt_out = *salt;
    ContentSealer::new(keys, message.len() as u64).seal_whole(message, chunks)
}

/// Opens what [`seal_message`] made. The caller has compared the header's commitment.
pub(super) fn open_message(
    source: &KeySource,
    context: &[u8],
    sealed: &[u8],
) -> Result<Zeroizing<Vec<u8>>, AuthenticationFailed> {
    open_message_by(|salt| hazmat::uncommitted_keys(source, salt, context), sealed)
}

/// Opens a message as [`open_message`] does, with the keys that `keys` derives for its salt.
pub(super) fn open_message_by(
    keys: impl FnOnce(&[u8; SALT_LEN]) -> ChunkKeys,
    sealed: &[u8],
) -> Result<Zeroizing<Vec<u8>>, AuthenticationFailed> {
    let (salt, chunks) = sealed.split_first_chunk().ok_or(AuthenticationFailed)?;
    let mut opener = SliceOpener::new(keys(salt), chunks)?;
    let mut out = Zeroizing::new(vec![0; opener.remaining()]);
    opener.pull(&mut out)?;
    Ok(out)
}

/// The length of what [`seal_message`] makes.
pub(super) const fn message_len(plaintext: u64) -> Option<u64> {
    match chunks_len(plaintext) {
        Some(chunks) => Some(SALT_LEN as u64 + chunks),
        None => None,
    }
}
