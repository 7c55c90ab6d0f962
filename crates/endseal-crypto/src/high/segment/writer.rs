//! A stream sealed as it is written.

use alloc::boxed::Box;
use alloc::vec;
use std::io::{self, Write};

use super::{CHUNK_LEN, ChunkKeys, InputKey, MAX_CHUNKS, SEALED_CHUNK_LEN, SealKeys, TAG_LEN};
use crate::random::Random;
use crate::secret::Zeroizing;

/// Seals what is written to it, 16 KiB at a time.
///
/// The caller MUST call [`finish`](Self::finish): a stream that is dropped before is truncated and
/// does not open. After an error of any call but [`flush`](Write::flush) every later call fails: a
/// chunk is sealed once, and part of it may have been written.
/// [`ErrorKind::Interrupted`](io::ErrorKind::Interrupted) is retried within.
#[allow(missing_debug_implementations, reason = "holds keys and plaintext")]
pub struct SealWriter<W: Write> {
    keys: ChunkKeys,
    inner: W,
    pub(super) index: u64,
    pending: Zeroizing<Box<[u8]>>,
    filled: usize,
    sealed: Box<[u8]>,
    /// A chunk may be written in part, or not at all.
    failed: bool,
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
        let (keys, prefix) = SealKeys::generate(key, context, random).map_err(io::Error::other)?;
        inner.write_all(&prefix)?;
        Ok(Self::from_keys(keys, inner))
    }

    /// Begins with the first chunk, where a format has the prefix elsewhere.
    #[must_use]
    pub fn from_keys(keys: SealKeys, inner: W) -> Self {
        Self {
            keys: keys.0,
            inner,
            index: 0,
            pending: Zeroizing::new(vec![0; CHUNK_LEN].into_boxed_slice()),
            filled: 0,
            sealed: vec![0; SEALED_CHUNK_LEN].into_boxed_slice(),
            failed: false,
        }
    }

    /// Seals the last chunk and gives back the inner writer, which is not flushed.
    ///
    /// # Errors
    /// Those of the inner writer; also if an earlier call failed.
    pub fn finish(mut self) -> io::Result<W> {
        self.check()?;
        let sealed = &mut self.sealed[..self.filled + TAG_LEN];
        self.keys.seal_chunk(self.index, &self.pending[..self.filled], sealed);
        self.inner.write_all(sealed)?;
        Ok(self.inner)
    }

    fn seal_full(&mut self, chunk: Option<&[u8]>) -> io::Result<()> {
        self.failed = true;
        // The last chunk, still to come, counts too.
        if self.index + 1 >= MAX_CHUNKS {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                "a stream holds 4 PiB at most",
            ));
        }
        self.keys.seal_chunk(self.index, chunk.unwrap_or(&self.pending), &mut self.sealed);
        self.inner.write_all(&self.sealed)?;
        self.index += 1;
        self.failed = false;
        Ok(())
    }

    fn check(&self) -> io::Result<()> {
        if self.failed {
            return Err(io::Error::other(
                "an earlier write failed: the sealed stream is incomplete",
            ));
        }
        Ok(())
    }
}

impl<W: Write> Write for SealWriter<W> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.check()?;
        if self.filled == 0 && data.len() >= CHUNK_LEN {
            self.seal_full(Some(&data[..CHUNK_LEN]))?;
            return Ok(CHUNK_LEN);
        }
        let accepted = data.len().min(CHUNK_LEN - self.filled);
        self.pending[self.filled..][..accepted].copy_from_slice(&data[..accepted]);
        self.filled += accepted;
        if self.filled == CHUNK_LEN {
            self.filled = 0;
            self.seal_full(None)?;
        }
        Ok(accepted)
    }

    /// Flushes whole chunks only; a part of one cannot be sealed yet.
    fn flush(&mut self) -> io::Result<()> {
        self.check()?;
        self.inner.flush()
    }
}
