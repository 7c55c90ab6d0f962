//! An envelope opened as it is read.

use alloc::vec;
use alloc::vec::Vec;
use std::io::{self, Read};

use endseal_crypto::ed25519;
use endseal_crypto::segment::{self, ChunkKeys, SEALED_CHUNK_LEN};

use crate::blocks::Blocks;
use crate::error::OpenError;
use crate::message_info::MessageInfo;
use crate::open::Opener;
use crate::policy::Policy;
use crate::start::Start;
use crate::suite::Suite;

impl Opener<'_> {
    /// Begins to open the envelope on `inner`. It finds the slot, and opens and verifies the first
    /// block: the sender is known, and `policy` has accepted it, before any content is released.
    ///
    /// A replay cache remembers the message when the last block was verified, before any byte of
    /// that block is released.
    ///
    /// Memory: one block (4 MiB) and the bodies of at most 16 slots, however many there are.
    ///
    /// # Errors
    /// Those of `inner`; [`OpenError`] inside an error of kind `InvalidData`.
    pub fn reader<'p, R: Read>(
        &self,
        mut inner: R,
        policy: Policy<'p>,
    ) -> io::Result<OpenReader<'p, R>> {
        let mut start = Start::new(self.identity, self.context, policy)?;
        let mut buffer = vec![0; SEALED_CHUNK_LEN];
        loop {
            let mut piece = read_some(&mut inner, &mut buffer, start.needed())?;
            if piece.is_empty() {
                return Err(start.truncated().into());
            }
            if start.feed(&mut piece)? {
                break;
            }
        }
        let (keys, mut blocks) = start.into_blocks()?;
        let keys = keys.open_keys();
        next_block(&keys, &mut blocks, &mut inner, &mut buffer)?;
        let info = *blocks.info().ok_or(OpenError::Authentication)?;
        Ok(OpenReader { inner, buffer, keys, blocks, given: 0, failed: None, info })
    }
}

/// Gives the content of an envelope. Every byte was authenticated, and signed by the sender.
///
/// The bytes that were read are a prefix of the content until `read` has returned 0: the caller
/// MUST NOT treat them as complete before, and MUST report an error that comes later.
#[allow(missing_debug_implementations, reason = "holds keys and plaintext")]
pub struct OpenReader<'p, R: Read> {
    inner: R,
    /// Sealed bytes on their way from `inner`.
    buffer: Vec<u8>,
    keys: ChunkKeys,
    blocks: Blocks<'p>,
    /// Bytes of the current block that were read by the caller.
    given: usize,
    /// Every later call returns this error again.
    failed: Option<io::Error>,
    info: MessageInfo,
}

impl<R: Read> OpenReader<'_, R> {
    /// Suite of the envelope. [`Policy::suites`] refuses others.
    #[must_use]
    pub fn suite(&self) -> Suite {
        self.info.suite
    }

    /// Key that sealed and signed it. The caller MUST decide whether it knows that key.
    #[must_use]
    pub fn sender(&self) -> &ed25519::PublicKey {
        &self.info.sender
    }

    /// Random name of this message, chosen by the sender.
    #[must_use]
    pub fn message_id(&self) -> &[u8; 16] {
        &self.info.message_id
    }

    /// The sender's claim of the time, in milliseconds since 1970-01-01T00:00:00Z; 0 if not stated.
    #[must_use]
    pub fn time(&self) -> u64 {
        self.info.time
    }
}

impl<R: Read> Read for OpenReader<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        if let Some(error) = &self.failed {
            return Err(segment::repeat_error::<OpenError>(error));
        }
        if self.given == self.blocks.content().len() && !self.blocks.is_finished() {
            self.given = 0;
            let next = next_block(&self.keys, &mut self.blocks, &mut self.inner, &mut self.buffer);
            next.inspect_err(|error| {
                self.failed = Some(segment::repeat_error::<OpenError>(error));
            })?;
        }
        let ready = &self.blocks.content()[self.given..];
        let len = out.len().min(ready.len());
        out[..len].copy_from_slice(&ready[..len]);
        self.given += len;
        Ok(len)
    }
}

/// Reads until a block was verified, or the end of the envelope.
fn next_block(
    keys: &ChunkKeys,
    blocks: &mut Blocks<'_>,
    inner: &mut impl Read,
    buffer: &mut [u8],
) -> io::Result<()> {
    loop {
        let mut piece = read_some(inner, buffer, blocks.needed())?;
        if piece.is_empty() {
            return Ok(blocks.finish(keys)?);
        }
        if blocks.feed(keys, &mut piece)? {
            return Ok(());
        }
    }
}

/// Reads at most `len` bytes; none at the end of the stream.
fn read_some<'b>(inner: &mut impl Read, buffer: &'b mut [u8], len: usize) -> io::Result<&'b [u8]> {
    let len = len.min(buffer.len());
    loop {
        match inner.read(&mut buffer[..len]) {
            Ok(len) => return Ok(&buffer[..len]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
