//! One chunk after the other, for formats and programs that keep the buffers themselves.

use core::fmt;

use super::{CHUNK_LEN, ChunkKeys, MAX_CHUNKS, SEALED_CHUNK_LEN, SealKeys, TAG_LEN};

/// Seals chunks in their order, each once.
#[allow(missing_debug_implementations, reason = "holds keys")]
pub struct ChunkSealer {
    keys: ChunkKeys,
    pub(super) index: u64,
}

impl ChunkSealer {
    /// Takes the keys of a stream; the first chunk that it seals is chunk 0.
    #[must_use]
    pub fn new(keys: SealKeys) -> Self {
        Self { keys: keys.0, index: 0 }
    }

    /// Seals the next chunk, which is not the last.
    ///
    /// # Errors
    /// [`StreamTooLong`] if no chunk may follow it.
    pub fn seal(
        &mut self,
        chunk: &[u8; CHUNK_LEN],
        out: &mut [u8; SEALED_CHUNK_LEN],
    ) -> Result<(), StreamTooLong> {
        self.seal_slice(chunk, out)
    }

    /// [`Self::seal`] for buffers whose lengths the caller has checked.
    pub(super) fn seal_slice(&mut self, chunk: &[u8], out: &mut [u8]) -> Result<(), StreamTooLong> {
        let index = self.next_index()?;
        self.keys.seal_chunk(index, chunk, out);
        Ok(())
    }

    /// Counts a chunk that is not the last, and returns its index.
    fn next_index(&mut self) -> Result<u64, StreamTooLong> {
        // The last chunk, still to come, counts too.
        if self.index + 1 >= MAX_CHUNKS {
            return Err(StreamTooLong);
        }
        self.index += 1;
        Ok(self.index - 1)
    }

    /// [`Self::seal`] within one buffer: the last [`CHUNK_LEN`] bytes of `place` are sealed to its
    /// beginning, so that chunks of plaintext one behind another become sealed chunks without gaps.
    /// The bytes between the sealed chunk and the end of `place` are of no use afterwards, and may
    /// be plaintext.
    ///
    /// # Errors
    /// [`StreamTooLong`] if no chunk may follow it; `place` is as it was then.
    ///
    /// # Panics
    /// If `place` is shorter than [`SEALED_CHUNK_LEN`].
    pub fn seal_within(&mut self, place: &mut [u8]) -> Result<(), StreamTooLong> {
        assert!(place.len() >= SEALED_CHUNK_LEN, "there is room for the tag before the plaintext");
        let index = self.next_index()?;
        self.keys.seal_chunk_within(index, place, CHUNK_LEN);
        Ok(())
    }

    /// Seals the last chunk, which is shorter than the others and may be empty.
    ///
    /// # Panics
    /// If `chunk` is not shorter than [`CHUNK_LEN`], or `out` is not [`TAG_LEN`] longer than
    /// `chunk`.
    pub fn seal_last(self, chunk: &[u8], out: &mut [u8]) {
        assert!(chunk.len() < CHUNK_LEN, "the last chunk is shorter than the others");
        assert_eq!(out.len(), chunk.len() + TAG_LEN, "a sealed chunk has a tag");
        self.keys.seal_chunk(self.index, chunk, out);
    }
}

/// More came than chunks can hold under one key: 4 PiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamTooLong;

impl fmt::Display for StreamTooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a stream holds 4 PiB at most")
    }
}

impl core::error::Error for StreamTooLong {}
