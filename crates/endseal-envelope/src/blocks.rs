//! Blocks of content that come in pieces: each is verified as a whole before it is released.

use alloc::vec;
use alloc::vec::Vec;

use endseal_crypto::secret::Zeroize;
use endseal_crypto::segment::{CHUNK_LEN, ChunkKeys, MAX_CHUNKS, SEALED_CHUNK_LEN};
use endseal_crypto::{ed25519, hash};

use crate::error::OpenError;
use crate::header::Header;
use crate::message_info::MessageInfo;
use crate::policy::Policy;
use crate::prelude::{BLOCK_LEN, Claim, PRELUDE_LEN, Prelude, SIGNED_BLOCK_LEN, Transcript};

/// End of a full block with its signature in the buffer, where the prelude comes first.
const FULL_END: usize = PRELUDE_LEN + SIGNED_BLOCK_LEN;
/// A full block and the chunk in which it ends.
const BUFFER_LEN: usize = FULL_END + SEALED_CHUNK_LEN;
/// Content is hashed in pieces of this length, while it is in the cache.
const HASHED_LEN: usize = 64 << 10;

/// Opens chunks, or takes those that were opened elsewhere, and verifies each block when it is
/// complete.
pub(crate) struct Blocks<'p> {
    policy: Policy<'p>,
    header: Header,
    header_digest: [u8; hash::LEN],
    /// Known once the first block was verified.
    verified: Option<(MessageInfo, Transcript)>,
    /// Prelude, content of the current block, its signature and the start of the next block; then
    /// the start of a sealed chunk.
    buffer: Buffer,
    /// End of what was decrypted.
    opened: usize,
    /// Bytes of the sealed chunk behind it.
    sealed: usize,
    /// Index of the next chunk.
    chunk: u64,
    /// Index of the current block.
    block: u64,
    digest: hash::Digest,
    /// Content bytes of the current block that are in `digest`.
    hashed: usize,
    /// Content that is released: it was verified.
    released: usize,
    finished: bool,
}

/// Memory of plaintext. It is wiped as far as it was used: pages that a short message leaves
/// untouched cost nothing.
struct Buffer {
    bytes: Vec<u8>,
    used: usize,
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.bytes[..self.used].zeroize();
    }
}

impl<'p> Blocks<'p> {
    pub(crate) fn new(header: &Header, header_digest: [u8; hash::LEN], policy: Policy<'p>) -> Self {
        Self {
            policy,
            header: *header,
            header_digest,
            verified: None,
            buffer: Buffer { bytes: vec![0; BUFFER_LEN], used: 0 },
            opened: 0,
            sealed: 0,
            chunk: 0,
            block: 0,
            digest: hash::Digest::new(),
            hashed: 0,
            released: 0,
            finished: false,
        }
    }

    /// Bytes that complete the current chunk.
    pub(crate) fn needed(&self) -> usize {
        SEALED_CHUNK_LEN - self.sealed
    }

    /// Takes bytes of chunks from the beginning of `data`. Returns true when a block was verified,
    /// which is then [`Self::content`]; false when `data` is empty.
    ///
    /// After an error the caller MUST drop it.
    pub(crate) fn feed(&mut self, keys: &ChunkKeys, data: &mut &[u8]) -> Result<bool, OpenError> {
        self.forget_released();
        while self.opened < FULL_END {
            self.buffer.used = self.buffer.used.max(self.opened + SEALED_CHUNK_LEN);
            if self.sealed == 0
                && let Some((chunk, rest)) = data.split_first_chunk::<SEALED_CHUNK_LEN>()
            {
                let place = &mut self.buffer.bytes[self.opened..][..CHUNK_LEN];
                keys.open_chunk(self.chunk, chunk, place)?;
                self.end_chunk(CHUNK_LEN);
                *data = rest;
                continue;
            }
            let (head, rest) = data.split_at(data.len().min(self.needed()));
            self.buffer.bytes[self.opened + self.sealed..][..head.len()].copy_from_slice(head);
            self.sealed += head.len();
            *data = rest;
            if self.needed() > 0 {
                return Ok(false);
            }
            self.open_pending(keys)?;
        }
        self.release_full()
    }

    /// Takes the plaintext of the next chunk, which another AES-GCM has authenticated. Returns
    /// true when it completes a block, as [`Self::feed`] does.
    ///
    /// After an error the caller MUST drop it.
    pub(crate) fn take(&mut self, chunk: &[u8; CHUNK_LEN]) -> Result<bool, OpenError> {
        self.forget_released();
        self.copy(chunk)?;
        if self.opened < FULL_END { Ok(false) } else { self.release_full() }
    }

    fn copy(&mut self, chunk: &[u8]) -> Result<(), OpenError> {
        let end = self.opened + chunk.len();
        let place = self.buffer.bytes.get_mut(self.opened..end);
        let place = place.filter(|_| self.chunk < MAX_CHUNKS).ok_or(OpenError::Authentication)?;
        place.copy_from_slice(chunk);
        self.buffer.used = self.buffer.used.max(end);
        self.end_chunk(chunk.len());
        Ok(())
    }

    /// Verifies the block that is complete.
    fn release_full(&mut self) -> Result<bool, OpenError> {
        self.verify(PRELUDE_LEN, BLOCK_LEN, false)?;
        self.released = BLOCK_LEN;
        Ok(true)
    }

    /// Verifies what is left when no more bytes come. Afterwards it is [`Self::content`]: the last
    /// block, or the last two, if the last chunk has the end of one and the whole other.
    pub(crate) fn finish(&mut self, keys: &ChunkKeys) -> Result<(), OpenError> {
        self.forget_released();
        self.open_pending(keys)?;
        self.release_last()
    }

    /// [`Self::finish`] with the plaintext of the last chunk, as [`Self::take`] has the others.
    pub(crate) fn take_last(&mut self, chunk: &[u8]) -> Result<(), OpenError> {
        self.forget_released();
        if chunk.len() >= CHUNK_LEN {
            return Err(OpenError::Authentication);
        }
        self.copy(chunk)?;
        self.release_last()
    }

    fn release_last(&mut self) -> Result<(), OpenError> {
        let has_full = self.opened >= FULL_END;
        let (start, before) = if has_full { (FULL_END, BLOCK_LEN) } else { (PRELUDE_LEN, 0) };
        let len = self.opened.checked_sub(start + ed25519::Signature::LEN);
        let len = len.ok_or(OpenError::Authentication)?;
        if has_full {
            self.verify(PRELUDE_LEN, BLOCK_LEN, false)?;
        }
        self.verify(start, len, true)?;
        self.buffer.bytes.copy_within(start..start + len, PRELUDE_LEN + before);
        self.released = before + len;
        self.finished = true;
        Ok(())
    }

    /// Content that was verified by the last call.
    pub(crate) fn content(&self) -> &[u8] {
        &self.buffer.bytes[PRELUDE_LEN..][..self.released]
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.finished
    }

    /// Known once the first block was verified.
    pub(crate) fn info(&self) -> Option<&MessageInfo> {
        self.verified.as_ref().map(|(info, _)| info)
    }

    /// The last block, if [`Self::finish`] has verified it.
    pub(crate) fn into_last(self) -> Option<LastBlock> {
        let is_finished = self.is_finished();
        let (info, _) = self.verified.filter(|_| is_finished)?;
        Some(LastBlock { buffer: self.buffer, len: self.released, info })
    }

    /// Moves the start of the next block to where a block begins.
    fn forget_released(&mut self) {
        if self.released > 0 {
            self.buffer.bytes.copy_within(FULL_END..self.opened, PRELUDE_LEN);
            self.opened -= SIGNED_BLOCK_LEN;
            self.released = 0;
        }
    }

    /// Opens the chunk whose sealed bytes are in the buffer.
    fn open_pending(&mut self, keys: &ChunkKeys) -> Result<(), OpenError> {
        let sealed = self.opened..self.opened + self.sealed;
        let (index, to) = (self.chunk, self.opened);
        let len = keys.open_chunk_within(index, &mut self.buffer.bytes, sealed, to)?;
        self.sealed = 0;
        self.end_chunk(len);
        Ok(())
    }

    /// Counts a chunk that was opened to the end of the plaintext, and hashes whole pieces.
    fn end_chunk(&mut self, len: usize) {
        self.opened += len;
        self.chunk += 1;
        // The last bytes may be the signature of the last block.
        let not_content = PRELUDE_LEN + ed25519::Signature::LEN;
        let content = self.opened.saturating_sub(not_content).min(BLOCK_LEN);
        let ready = content - self.hashed;
        let whole = ready - ready % HASHED_LEN;
        self.digest.update(&self.buffer.bytes[PRELUDE_LEN + self.hashed..][..whole]);
        self.hashed += whole;
    }

    /// Verifies the block of `len` bytes at `start`, behind which is its signature. The policy
    /// judges the first block, and remembers the message with the last.
    fn verify(&mut self, start: usize, len: usize, last: bool) -> Result<(), OpenError> {
        let (block, rest) = self.buffer.bytes[start..].split_at(len);
        let (signature, _) = rest.split_first_chunk().ok_or(OpenError::Authentication)?;
        self.digest.update(&block[self.hashed..]);
        let digest = self.digest.finish();
        self.digest.reset();
        self.hashed = 0;
        let claim = |transcript: &Transcript| Claim {
            message: transcript.block(self.block, last, &digest),
            signature: ed25519::Signature::from_bytes(signature),
        };
        let info = match &self.verified {
            Some((info, transcript)) => {
                claim(transcript).check(&info.sender)?;
                *info
            }
            None => {
                let encoded = self.buffer.bytes.first_chunk().ok_or(OpenError::Authentication)?;
                let prelude = Prelude::parse(encoded);
                let Header { suite, commitment, .. } = &self.header;
                let transcript = Transcript::new(&self.header_digest, commitment, encoded);
                let sender = claim(&transcript).check_first(&prelude.sender)?;
                let info = MessageInfo::new(*suite, sender, &prelude);
                self.policy.judge(&info)?;
                self.verified.insert((info, transcript)).0
            }
        };
        self.block += 1;
        if last { self.policy.remember(&info) } else { Ok(()) }
    }
}

/// The end of an envelope that was opened in pieces: the last bytes of the content, which are
/// authentic. With them the content is complete. Wiped when dropped.
#[allow(missing_debug_implementations, reason = "holds plaintext")]
pub struct LastBlock {
    buffer: Buffer,
    len: usize,
    info: MessageInfo,
}

impl LastBlock {
    /// The content behind the blocks that were released before. It may be empty.
    #[must_use]
    pub fn content(&self) -> &[u8] {
        &self.buffer.bytes[PRELUDE_LEN..][..self.len]
    }

    /// Sender, message id, time and suite of the envelope.
    #[must_use]
    pub fn info(&self) -> &MessageInfo {
        &self.info
    }
}
