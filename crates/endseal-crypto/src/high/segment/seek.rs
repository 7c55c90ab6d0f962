//! Random access to a sealed stream.

use alloc::boxed::Box;
use alloc::vec;
use std::io::{self, Read, Seek, SeekFrom};

use super::{
    AuthenticationFailed, CHUNK_LEN, COMMITMENT_LEN, ChunkKeys, InputKey, PREFIX_LEN, SALT_LEN,
    SEALED_CHUNK_LEN, TAG_LEN, plaintext_len,
};
use crate::secret::Zeroizing;

/// Reads any range of a sealed stream; opens only the chunks that it touches.
///
/// The length is authenticated at the beginning, by opening the last chunk.
#[allow(missing_debug_implementations, reason = "holds keys and plaintext")]
pub struct OpenSeek<R: Read + Seek> {
    keys: ChunkKeys,
    inner: R,
    len: u64,
    position: u64,
    sealed: Box<[u8]>,
    chunk: Zeroizing<Box<[u8]>>,
    /// Index of the chunk whose plaintext is in `chunk`, if any is.
    cached: Option<u64>,
}

impl<R: Read + Seek> OpenSeek<R> {
    /// Reads the prefix at the start of `inner`, checks the commitment and the length.
    ///
    /// # Errors
    /// Those of `inner`; [`AuthenticationFailed`] inside an error of kind `InvalidData`.
    pub fn new(key: &InputKey, context: &[u8], mut inner: R) -> io::Result<Self> {
        let total = inner.seek(SeekFrom::End(0))?;
        let len = total
            .checked_sub(PREFIX_LEN as u64)
            .and_then(plaintext_len)
            .ok_or(AuthenticationFailed)?;
        inner.seek(SeekFrom::Start(0))?;
        let (mut salt, mut commitment) = ([0; SALT_LEN], [0; COMMITMENT_LEN]);
        inner.read_exact(&mut salt)?;
        inner.read_exact(&mut commitment)?;
        let mut own = Self {
            keys: ChunkKeys::derive_committed(key, &salt, context, &commitment)?,
            inner,
            len,
            position: 0,
            sealed: vec![0; SEALED_CHUNK_LEN].into_boxed_slice(),
            chunk: Zeroizing::new(vec![0; CHUNK_LEN].into_boxed_slice()),
            cached: None,
        };
        own.load(len / CHUNK_LEN as u64)?;
        Ok(own)
    }

    /// Length of the plaintext in bytes, which is authenticated.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "a stream, not a collection")]
    pub fn len(&self) -> u64 {
        self.len
    }

    #[allow(clippy::cast_possible_truncation, reason = "a chunk is at most 16 KiB long")]
    fn chunk_len(&self, index: u64) -> usize {
        (self.len - index * CHUNK_LEN as u64).min(CHUNK_LEN as u64) as usize
    }

    fn load(&mut self, index: u64) -> io::Result<()> {
        if self.cached == Some(index) {
            return Ok(());
        }
        self.cached = None;
        let len = self.chunk_len(index);
        let sealed = &mut self.sealed[..len + TAG_LEN];
        let offset = PREFIX_LEN as u64 + index * SEALED_CHUNK_LEN as u64;
        self.inner.seek(SeekFrom::Start(offset))?;
        self.inner.read_exact(sealed)?;
        self.keys.open_chunk(index, sealed, &mut self.chunk[..len])?;
        self.cached = Some(index);
        Ok(())
    }
}

impl<R: Read + Seek> Read for OpenSeek<R> {
    #[allow(clippy::cast_possible_truncation, reason = "an offset in a chunk is below 16 KiB")]
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.position >= self.len || out.is_empty() {
            return Ok(0);
        }
        let index = self.position / CHUNK_LEN as u64;
        self.load(index)?;
        let start = (self.position % CHUNK_LEN as u64) as usize;
        let len = out.len().min(self.chunk_len(index) - start);
        out[..len].copy_from_slice(&self.chunk[start..][..len]);
        self.position += len as u64;
        Ok(len)
    }
}

impl<R: Read + Seek> Seek for OpenSeek<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::End(offset) => self.len.checked_add_signed(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        self.position = position.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}
