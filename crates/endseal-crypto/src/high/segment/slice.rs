//! Chunks from and to memory, without a copy where a chunk lies in one piece.

use alloc::boxed::Box;
use alloc::vec;

use super::{AuthenticationFailed, CHUNK_LEN, ChunkKeys, SEALED_CHUNK_LEN, SealKeys, TAG_LEN};
use crate::secret::{Zeroize, Zeroizing};

/// Seals plaintext that comes in pieces into a buffer of the final length.
#[allow(missing_debug_implementations, reason = "holds keys")]
pub struct SliceSealer<'a> {
    keys: ChunkKeys,
    out: &'a mut [u8],
    index: u64,
    /// The start of a chunk whose rest has not come yet.
    pending: Zeroizing<Box<[u8]>>,
    filled: usize,
}

impl<'a> SliceSealer<'a> {
    /// `out` MUST have [`chunks_len`](super::chunks_len) bytes for all the plaintext that will
    /// come.
    #[must_use]
    pub fn new(keys: SealKeys, out: &'a mut [u8]) -> Self {
        // A short message gets a buffer of its own length, not one of a whole chunk.
        let pending = vec![0; CHUNK_LEN.min(out.len())].into_boxed_slice();
        Self { keys: keys.0, out, index: 0, pending: Zeroizing::new(pending), filled: 0 }
    }

    /// Adds plaintext, and seals each chunk that it fills.
    ///
    /// # Panics
    /// If more comes than `out` was made for.
    pub fn push(&mut self, mut data: &[u8]) {
        if self.filled > 0 || data.len() < CHUNK_LEN {
            let (head, rest) = data.split_at(data.len().min(CHUNK_LEN - self.filled));
            self.pending[self.filled..][..head.len()].copy_from_slice(head);
            self.filled += head.len();
            data = rest;
            if self.filled < CHUNK_LEN {
                return;
            }
            let out = Self::advance(&mut self.out, SEALED_CHUNK_LEN);
            self.keys.seal_chunk(self.index, &self.pending, out);
            self.index += 1;
            self.filled = 0;
        }
        let (full, rest) = data.as_chunks::<CHUNK_LEN>();
        for chunk in full {
            let out = Self::advance(&mut self.out, SEALED_CHUNK_LEN);
            self.keys.seal_chunk(self.index, chunk, out);
            self.index += 1;
        }
        self.pending[..rest.len()].copy_from_slice(rest);
        self.filled = rest.len();
    }

    /// Seals the last chunk, which may be shorter than the others.
    ///
    /// # Panics
    /// If `out` was not made for as much plaintext as came.
    pub fn finish(self) {
        assert_eq!(self.out.len(), self.filled + TAG_LEN, "the buffer is as long as announced");
        self.keys.seal_chunk(self.index, &self.pending[..self.filled], self.out);
    }

    /// Takes the next `len` bytes of the output.
    fn advance(out: &mut &'a mut [u8], len: usize) -> &'a mut [u8] {
        let (head, rest) = core::mem::take(out).split_at_mut(len);
        *out = rest;
        head
    }
}

/// Opens chunks in memory piece by piece.
#[allow(missing_debug_implementations, reason = "holds keys and plaintext")]
pub struct SliceOpener<'a> {
    keys: ChunkKeys,
    sealed: &'a [u8],
    index: u64,
    /// Plaintext of a chunk that was opened but not wholly pulled.
    pending: Zeroizing<Box<[u8]>>,
    start: usize,
    end: usize,
    remaining: usize,
}

impl<'a> SliceOpener<'a> {
    /// `chunks` is the sealed stream without its prefix; the commitment has been checked.
    ///
    /// # Errors
    /// [`AuthenticationFailed`] if no stream has that length.
    pub fn new(keys: ChunkKeys, chunks: &'a [u8]) -> Result<Self, AuthenticationFailed> {
        let remaining = super::plaintext_len(chunks.len() as u64)
            .and_then(|len| usize::try_from(len).ok())
            .ok_or(AuthenticationFailed)?;
        let pending = vec![0; CHUNK_LEN.min(remaining)].into_boxed_slice();
        let pending = Zeroizing::new(pending);
        Ok(Self { keys, sealed: chunks, index: 0, pending, start: 0, end: 0, remaining })
    }

    /// Returns the number of plaintext bytes that were not pulled yet.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.remaining
    }

    /// Fills `out` with the next plaintext. After the last byte, the last chunk is known to be
    /// authentic even if it is empty.
    ///
    /// # Errors
    /// [`AuthenticationFailed`] if a chunk is not authentic, or less than `out` remains; `out` is
    /// zeroed.
    pub fn pull(&mut self, out: &mut [u8]) -> Result<(), AuthenticationFailed> {
        let pulled = self.pull_inner(out);
        if pulled.is_err() {
            out.zeroize();
            // Nothing more comes from a stream that failed.
            self.remaining = 0;
            self.sealed = &[];
            (self.start, self.end) = (0, 0);
        }
        pulled
    }

    fn pull_inner(&mut self, out: &mut [u8]) -> Result<(), AuthenticationFailed> {
        self.remaining = self.remaining.checked_sub(out.len()).ok_or(AuthenticationFailed)?;
        let mut done = 0;
        loop {
            let ready = (out.len() - done).min(self.end - self.start);
            out[done..][..ready].copy_from_slice(&self.pending[self.start..][..ready]);
            self.start += ready;
            done += ready;
            // The empty last chunk is opened too, once everything before it was pulled.
            let nothing_left = self.remaining == 0 && self.start == self.end;
            if done == out.len() && (!nothing_left || self.sealed.is_empty()) {
                return Ok(());
            }
            if self.sealed.is_empty() {
                return Err(AuthenticationFailed);
            }
            let (sealed, rest) = self.sealed.split_at(self.sealed.len().min(SEALED_CHUNK_LEN));
            let len = sealed.len().checked_sub(TAG_LEN).ok_or(AuthenticationFailed)?;
            if let Some(whole) = out.get_mut(done..done + len) {
                self.keys.open_chunk(self.index, sealed, whole)?;
                done += len;
            } else {
                self.keys.open_chunk(self.index, sealed, &mut self.pending[..len])?;
                (self.start, self.end) = (0, len);
            }
            self.sealed = rest;
            self.index += 1;
        }
    }
}
