//! A stream opened as it is read.

use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec;
use core::error::Error;
use std::io::{self, Read};

use super::{
    AuthenticationFailed, CHUNK_LEN, COMMITMENT_LEN, ChunkKeys, InputKey, SALT_LEN,
    SEALED_CHUNK_LEN, TAG_LEN,
};
use crate::secret::Zeroizing;

/// Reads a sealed stream from `inner` and returns its plaintext. Every returned byte was
/// authenticated. The end of the stream is reported only if it is the true end.
#[allow(missing_debug_implementations, reason = "holds keys and plaintext")]
pub struct OpenReader<R: Read> {
    keys: ChunkKeys,
    inner: R,
    index: u64,
    sealed: Box<[u8]>,
    chunk: Zeroizing<Box<[u8]>>,
    start: usize,
    end: usize,
    state: State,
}

enum State {
    Open,
    Finished,
    /// Every later call returns this error again.
    Failed(io::Error),
}

/// Returns an error that says the same: of the same kind, with the same number of the operating
/// system or the same text, and the same `E` inside if there is one.
pub fn repeat_error<E: Error + Copy + Send + Sync + 'static>(error: &io::Error) -> io::Error {
    if let Some(number) = error.raw_os_error() {
        return io::Error::from_raw_os_error(number);
    }
    let Some(inner) = error.get_ref() else { return error.kind().into() };
    match inner.downcast_ref::<E>() {
        Some(own) => io::Error::new(error.kind(), *own),
        None => io::Error::new(error.kind(), inner.to_string()),
    }
}

impl<R: Read> OpenReader<R> {
    /// Reads the salt and the commitment from `inner`, and compares the commitment with that of
    /// `key`.
    ///
    /// # Errors
    /// Those of `inner`; [`AuthenticationFailed`] inside an error of kind `InvalidData`.
    pub fn new(key: &InputKey, context: &[u8], mut inner: R) -> io::Result<Self> {
        let (mut salt, mut commitment) = ([0; SALT_LEN], [0; COMMITMENT_LEN]);
        for part in [&mut salt[..], &mut commitment[..]] {
            inner.read_exact(part).map_err(|error| match error.kind() {
                io::ErrorKind::UnexpectedEof => AuthenticationFailed.into(),
                _ => error,
            })?;
        }
        let keys = ChunkKeys::derive_committed(key, &salt, context, &commitment)?;
        Ok(Self::from_keys(keys, inner))
    }

    /// Begins with the first chunk, where a format has the prefix elsewhere. The caller has checked
    /// the commitment.
    #[must_use]
    pub fn from_keys(keys: ChunkKeys, inner: R) -> Self {
        Self {
            keys,
            inner,
            index: 0,
            sealed: vec![0; SEALED_CHUNK_LEN].into_boxed_slice(),
            chunk: Zeroizing::new(vec![0; CHUNK_LEN].into_boxed_slice()),
            start: 0,
            end: 0,
            state: State::Open,
        }
    }

    /// Returns true if the last chunk was opened and everything was read.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        matches!(self.state, State::Finished) && self.start == self.end
    }

    /// Opens the next chunk into `self.chunk`, or straight into `direct` if it is large enough.
    fn next_chunk(&mut self, direct: &mut [u8]) -> io::Result<usize> {
        let mut len = 0;
        while len < SEALED_CHUNK_LEN {
            match self.inner.read(&mut self.sealed[len..]) {
                Ok(0) => break,
                Ok(n) => len += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let plain = len.checked_sub(TAG_LEN).ok_or(AuthenticationFailed)?;
        let direct_len = if direct.len() >= CHUNK_LEN { plain } else { 0 };
        let target = if direct_len > 0 { &mut direct[..plain] } else { &mut self.chunk[..plain] };
        self.keys.open_chunk(self.index, &self.sealed[..len], target)?;
        self.index += 1;
        if plain < CHUNK_LEN {
            self.state = State::Finished;
        }
        if direct_len == 0 {
            (self.start, self.end) = (0, plain);
        }
        Ok(direct_len)
    }
}

impl<R: Read> Read for OpenReader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        while self.start == self.end {
            match &self.state {
                State::Finished => return Ok(0),
                State::Failed(error) => return Err(repeat_error::<AuthenticationFailed>(error)),
                State::Open => {}
            }
            match self.next_chunk(out) {
                Ok(0) => {}
                Ok(direct) => return Ok(direct),
                Err(error) => {
                    // After an error nothing more is given: part of a chunk may have been lost.
                    self.state = State::Failed(repeat_error::<AuthenticationFailed>(&error));
                    return Err(error);
                }
            }
        }
        let len = out.len().min(self.end - self.start);
        out[..len].copy_from_slice(&self.chunk[self.start..][..len]);
        self.start += len;
        Ok(len)
    }
}
