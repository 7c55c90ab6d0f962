//! A stream sealed as it is written.

use alloc::boxed::Box;
use alloc::vec;
use std::io::{self, Write};

use super::{CHUNK_LEN, ChunkKeys, InputKey, MAX_CHUNKS, SALT_LEN, SEALED_CHUNK_LEN, TAG_LEN};
use crate::random::Random;
use crate::secret::Zeroizing;

/// Seals what is written to it, 16 KiB at a time.
///
/// The caller MUST call [`finish`](Self::finish): what is dropped before is a truncated stream,
/// which does not open.
#[allow(missing_debug_implementations, reason = "holds keys and plaintext")]
pub struct SealWriter<W: Write> {
    keys: ChunkKeys,
    inner: W,
    index: u64,
    pending: Zeroizing<Box<[u8]>>,
    filled: usize,
    sealed: Box<[u8]>,
}

impl<W: Write> SealWriter<W> {
    /// Begins a stream: draws a salt and writes the prefix.
    ///
    /// # Errors
    /// Those of `random` and `inner`.
    pub fn new(
        key: &InputKey,
        context: &[u8],
        mut inner: W,
        random: &mut impl Random,
    ) -> io::Result<Self> {
        let mut salt = [0; SALT_LEN];
        random.fill(&mut salt).map_err(io::Error::other)?;
        let (keys, commitment) = ChunkKeys::derive(key, &salt, context);
        inner.write_all(&salt)?;
        inner.write_all(&commitment)?;
        Ok(Self::from_keys(keys, inner))
    }

    /// Begins with the first chunk, where a format has the prefix elsewhere.
    #[must_use]
    pub fn from_keys(keys: ChunkKeys, inner: W) -> Self {
        Self {
            keys,
            inner,
            index: 0,
            pending: Zeroizing::new(vec![0; CHUNK_LEN].into_boxed_slice()),
            filled: 0,
            sealed: vec![0; SEALED_CHUNK_LEN].into_boxed_slice(),
        }
    }

    /// Seals the last chunk and gives back the inner writer, which is not flushed.
    ///
    /// # Errors
    /// Those of the inner writer.
    pub fn finish(mut self) -> io::Result<W> {
        let sealed = &mut self.sealed[..self.filled + TAG_LEN];
        self.keys.seal_chunk(self.index, &self.pending[..self.filled], sealed);
        self.inner.write_all(sealed)?;
        Ok(self.inner)
    }

    fn seal_full(&mut self, chunk: Option<&[u8]>) -> io::Result<()> {
        // The last chunk, still to come, counts too.
        if self.index + 1 >= MAX_CHUNKS {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                "a stream holds 4 PiB at most",
            ));
        }
        self.keys.seal_chunk(self.index, chunk.unwrap_or(&self.pending), &mut self.sealed);
        self.index += 1;
        self.inner.write_all(&self.sealed)
    }
}

impl<W: Write> Write for SealWriter<W> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        if self.filled == 0 && data.len() >= CHUNK_LEN {
            self.seal_full(Some(&data[..CHUNK_LEN]))?;
            return Ok(CHUNK_LEN);
        }
        let taken = data.len().min(CHUNK_LEN - self.filled);
        self.pending[self.filled..][..taken].copy_from_slice(&data[..taken]);
        self.filled += taken;
        if self.filled == CHUNK_LEN {
            self.filled = 0;
            self.seal_full(None)?;
        }
        Ok(taken)
    }

    /// Flushes whole chunks only; a part of one cannot be sealed yet.
    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
