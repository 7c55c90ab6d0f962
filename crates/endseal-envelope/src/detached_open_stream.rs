//! An envelope opened from bytes that come in pieces, by a program that decrypts the chunks.

use core::borrow::Borrow;

use endseal_crypto::identity::Identity;
use endseal_crypto::segment::{CHUNK_LEN, RawKeys};

use crate::blocks::{Blocks, LastBlock};
use crate::error::OpenError;
use crate::message_info::MessageInfo;
use crate::policy::Policy;
use crate::start::Start;

/// [`OpenStream`](crate::OpenStream) for a program that decrypts the chunks itself, as with Web
/// Cryptography, which is faster than WebAssembly. What it releases was verified as there.
///
/// [`feed`](Self::feed) takes header and slots. Behind them are the sealed chunks, of 16,400 bytes
/// each, the last one shorter. The caller MUST decrypt each with AES-256-GCM under
/// [`key`](Self::key) and its [`nonce`](Self::nonce), without associated data, and MUST stop if one
/// is not authentic. It gives the plaintexts in order to [`take`](Self::take), the last one to
/// [`finish`](Self::finish), and wipes its copies of them and of the key.
#[allow(missing_debug_implementations, reason = "holds keys and plaintext")]
pub struct DetachedOpenStream<'p, I> {
    /// Present until all slots were read.
    start: Option<Start<'p, I>>,
    /// Present afterwards.
    chunks: Option<(RawKeys, Blocks<'p>)>,
    /// The error of the call that failed, if neither is present.
    error: OpenError,
}

impl<'p, I: Borrow<Identity>> DetachedOpenStream<'p, I> {
    /// Begins to open an envelope, as [`OpenStream::new`](crate::OpenStream::new) does.
    ///
    /// # Errors
    /// [`OpenError::ContextTooLong`].
    pub fn new(identity: I, context: &[u8], policy: Policy<'p>) -> Result<Self, OpenError> {
        let start = Some(Start::new(identity, context, policy)?);
        Ok(Self { start, chunks: None, error: OpenError::Authentication })
    }

    /// Takes bytes of header and slots from the beginning of `data`. Returns true when all slots
    /// were read: what is left in `data` is of the sealed chunks.
    ///
    /// # Errors
    /// [`OpenError`]. Every later call returns the same error.
    pub fn feed(&mut self, data: &mut &[u8]) -> Result<bool, OpenError> {
        let result = self.advance(data);
        result.map_err(|error| self.fail(error))
    }

    fn advance(&mut self, data: &mut &[u8]) -> Result<bool, OpenError> {
        if let Some(start) = &mut self.start
            && !start.feed(data)?
        {
            return Ok(false);
        }
        if let Some(start) = self.start.take() {
            self.chunks = Some(start.into_blocks()?);
        }
        self.chunks.as_ref().map(|_| true).ok_or(self.error)
    }

    /// The AES-256 key of the chunks, once all slots were read.
    #[must_use]
    pub fn key(&self) -> Option<&[u8; 32]> {
        self.chunks.as_ref().map(|(keys, _)| keys.expose_key())
    }

    /// The nonce of a chunk, which are counted from 0, once all slots were read: that of chunk 0
    /// xor the index, as a big-endian number of 64 bits at the end.
    #[must_use]
    pub fn nonce(&self, chunk: u64) -> Option<[u8; 12]> {
        self.chunks.as_ref().map(|(keys, _)| keys.nonce(chunk))
    }

    /// Takes the plaintext of the next chunk. Returns a block of content (4 MiB) if it completes
    /// one, which was verified and its sender accepted.
    ///
    /// # Errors
    /// [`OpenError`]. Every later call returns the same error.
    pub fn take(&mut self, chunk: &[u8; CHUNK_LEN]) -> Result<Option<&[u8]>, OpenError> {
        let error = self.error;
        let taken = self.chunks.as_mut().ok_or(error).and_then(|(_, blocks)| blocks.take(chunk));
        match taken {
            Ok(is_block) => {
                let blocks = self.chunks.as_ref().filter(|_| is_block);
                Ok(blocks.map(|(_, blocks)| blocks.content()))
            }
            Err(error) => Err(self.fail(error)),
        }
    }

    /// Plaintext that was not verified is wiped at once.
    fn fail(&mut self, error: OpenError) -> OpenError {
        (self.start, self.chunks, self.error) = (None, None, error);
        error
    }

    /// Sender, message id, time and suite, once the first block was verified.
    #[must_use]
    pub fn info(&self) -> Option<&MessageInfo> {
        self.chunks.as_ref().and_then(|(_, blocks)| blocks.info())
    }

    /// Takes the plaintext of the last chunk. Returns the rest of the content, with which it is
    /// complete.
    ///
    /// # Errors
    /// [`OpenError`], also if an earlier call failed, or the envelope was cut short before the
    /// chunks.
    pub fn finish(self, chunk: &[u8]) -> Result<LastBlock, OpenError> {
        if let Some(start) = &self.start {
            return Err(start.truncated());
        }
        let (_, mut blocks) = self.chunks.ok_or(self.error)?;
        blocks.take_last(chunk)?;
        blocks.into_last().ok_or(OpenError::Authentication)
    }
}
