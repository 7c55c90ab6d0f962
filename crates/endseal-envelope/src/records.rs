//! Chunks of plaintext for an AES-GCM that is not of this library, each behind its nonce.

use alloc::vec::Vec;

use endseal_crypto::secret::{Zeroize, Zeroizing};
use endseal_crypto::segment::{CHUNK_LEN, MAX_CHUNKS, RawKeys, StreamError};

/// Cuts a stream into chunks and numbers them. A record is the nonce of a chunk and the chunk.
pub(crate) struct Records {
    keys: RawKeys,
    /// Index of the next chunk.
    index: u64,
    /// The beginning of the next chunk.
    pending: Zeroizing<Vec<u8>>,
}

impl Records {
    pub(crate) fn new(keys: RawKeys) -> Self {
        Self { keys, index: 0, pending: Zeroizing::new(Vec::with_capacity(CHUNK_LEN)) }
    }

    pub(crate) fn expose_key(&self) -> &[u8; 32] {
        self.keys.expose_key()
    }

    /// Takes the next bytes of the stream. Passes the records that they complete to `sink`, in
    /// pieces.
    pub(crate) fn push<E: From<StreamError>>(
        &mut self,
        mut data: &[u8],
        sink: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        while let Some((head, rest)) = data.split_at_checked(CHUNK_LEN - self.pending.len()) {
            // The last chunk, still to come, counts too.
            if self.index + 1 >= MAX_CHUNKS {
                return Err(StreamError::TooLong.into());
            }
            self.record(head, sink)?;
            data = rest;
        }
        self.pending.extend_from_slice(data);
        Ok(())
    }

    /// Passes the record of the last chunk to `sink`. It is shorter than the others.
    pub(crate) fn finish<E>(
        &mut self,
        sink: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.record(&[], sink)
    }

    fn record<E>(
        &mut self,
        end: &[u8],
        sink: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        sink(&self.keys.nonce(self.index))?;
        sink(&self.pending)?;
        sink(end)?;
        self.pending.zeroize();
        self.index += 1;
        Ok(())
    }
}
