//! A stream sealed from pieces of any length, without I/O.

use alloc::boxed::Box;
use alloc::vec;
use core::fmt;

use super::{CHUNK_LEN, ChunkSealer, SEALED_CHUNK_LEN, SealKeys, StreamTooLong, TAG_LEN};
use crate::secret::Zeroizing;

/// Seals plaintext that comes in pieces of any length, 16 KiB at a time, and passes each sealed
/// chunk to a function of the caller.
///
/// It holds one chunk of plaintext, which is wiped when it is dropped. The caller MUST call
/// [`finish`](Self::finish): a stream without its last chunk is truncated and does not open.
#[allow(missing_debug_implementations, reason = "holds keys and plaintext")]
pub struct StreamSealer {
    pub(super) chunks: ChunkSealer,
    pending: Zeroizing<Box<[u8]>>,
    filled: usize,
    sealed: Box<[u8]>,
    /// True while a call runs; it stays true after an error, so that later calls fail.
    failed: bool,
}

impl StreamSealer {
    /// Takes the keys of a stream, whose first chunk is sealed first.
    #[must_use]
    pub fn new(keys: SealKeys) -> Self {
        Self {
            chunks: ChunkSealer::new(keys),
            pending: Zeroizing::new(vec![0; CHUNK_LEN].into_boxed_slice()),
            filled: 0,
            sealed: vec![0; SEALED_CHUNK_LEN].into_boxed_slice(),
            failed: false,
        }
    }

    /// Adds plaintext, and passes each chunk that it fills to `sink`, in order. `sink` MUST keep
    /// all bytes of a call or return an error. Pieces of at least [`CHUNK_LEN`] are fastest.
    ///
    /// # Errors
    /// Those of `sink`; [`StreamError`] if the stream is too long. After an error every later call
    /// fails, because a chunk may be missing.
    pub fn push<E: From<StreamError>>(
        &mut self,
        mut data: &[u8],
        sink: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.check()?;
        self.failed = true;
        if self.filled > 0 {
            let (head, rest) = data.split_at(data.len().min(CHUNK_LEN - self.filled));
            self.pending[self.filled..][..head.len()].copy_from_slice(head);
            self.filled += head.len();
            data = rest;
            if self.filled == CHUNK_LEN {
                self.chunks
                    .seal_slice(&self.pending, &mut self.sealed)
                    .map_err(StreamError::from)?;
                sink(&self.sealed)?;
                self.filled = 0;
            }
        }
        if self.filled == 0 {
            let (full, rest) = data.as_chunks::<CHUNK_LEN>();
            for chunk in full {
                self.chunks.seal_slice(chunk, &mut self.sealed).map_err(StreamError::from)?;
                sink(&self.sealed)?;
            }
            self.pending[..rest.len()].copy_from_slice(rest);
            self.filled = rest.len();
        }
        self.failed = false;
        Ok(())
    }

    /// Seals the last chunk and passes it to `sink`.
    ///
    /// # Errors
    /// Those of `sink`; [`StreamError::Incomplete`] if an earlier call failed.
    pub fn finish<E: From<StreamError>>(
        mut self,
        sink: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.check()?;
        let sealed = &mut self.sealed[..self.filled + TAG_LEN];
        self.chunks.seal_last(&self.pending[..self.filled], sealed);
        sink(sealed)
    }

    /// Returns an error if an earlier call failed.
    ///
    /// # Errors
    /// [`StreamError::Incomplete`].
    pub fn check(&self) -> Result<(), StreamError> {
        if self.failed { Err(StreamError::Incomplete) } else { Ok(()) }
    }
}

/// Reason why a [`StreamSealer`] does not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamError {
    /// An earlier call failed: a chunk may be missing from what was passed on.
    Incomplete,
    /// More plaintext came than chunks can hold under one key: 4 PiB.
    TooLong,
}

impl fmt::Display for StreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Incomplete => {
                f.write_str("an earlier write failed: the sealed stream is incomplete")
            }
            Self::TooLong => StreamTooLong.fmt(f),
        }
    }
}

impl core::error::Error for StreamError {}

impl From<StreamTooLong> for StreamError {
    fn from(_: StreamTooLong) -> Self {
        Self::TooLong
    }
}

#[cfg(feature = "std")]
impl From<StreamError> for std::io::Error {
    fn from(error: StreamError) -> Self {
        let kind = match error {
            StreamError::Incomplete => std::io::ErrorKind::Other,
            StreamError::TooLong => std::io::ErrorKind::FileTooLarge,
        };
        Self::new(kind, error)
    }
}
