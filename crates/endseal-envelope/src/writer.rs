//! An envelope sealed as its content is written.

use alloc::vec;
use std::io::{self, Write};

use endseal_crypto::hash;
use endseal_crypto::random::Random;
use endseal_crypto::segment;

use crate::error::SealError;
use crate::header::HEADER_LEN;
use crate::prelude::{BLOCK_LEN, Transcript};
use crate::seal::Sealer;

impl<'a> Sealer<'a> {
    /// Begins an envelope on `inner`: writes header and slots, then seals what is written.
    ///
    /// Randomness is not hedged by the content, which is not known yet.
    ///
    /// # Errors
    /// Those of `inner`; [`SealError`] inside an error of kind `InvalidInput`.
    pub fn writer<W: Write>(
        &self,
        mut inner: W,
        random: &mut impl Random,
    ) -> io::Result<SealWriter<'a, W>> {
        let secrets = self.secrets(random, &[0; hash::LEN], u64::MAX).map_err(invalid)?;
        let mut start = vec![0; HEADER_LEN + self.total_slots() * self.suite.slot_len()];
        let headed = self.begin(&secrets, &mut start).map_err(invalid)?;
        inner.write_all(&start)?;
        let mut segments = segment::SealWriter::from_keys(headed.keys, inner);
        segments.write_all(&headed.prelude)?;
        Ok(SealWriter {
            sealer: *self,
            segments,
            transcript: headed.transcript,
            digest: hash::Digest::new(),
            index: 0,
            filled: 0,
        })
    }
}

fn invalid(error: SealError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, error)
}

/// Seals what is written to it. Holds one chunk of 16 KiB; pieces of at least that size are fastest.
///
/// The caller MUST call [`finish`](Self::finish): what is dropped before does not open.
#[allow(missing_debug_implementations, reason = "holds keys and plaintext")]
pub struct SealWriter<'a, W: Write> {
    sealer: Sealer<'a>,
    segments: segment::SealWriter<W>,
    transcript: Transcript,
    digest: hash::Digest,
    index: u64,
    /// Bytes of the current block.
    filled: usize,
}

impl<W: Write> SealWriter<'_, W> {
    /// Signs the last block and gives back the inner writer, which is not flushed.
    ///
    /// # Errors
    /// Those of the inner writer.
    pub fn finish(mut self) -> io::Result<W> {
        self.sign_block(true)?;
        self.segments.finish()
    }

    fn sign_block(&mut self, last: bool) -> io::Result<()> {
        let message = self.transcript.block(self.index, last, &self.digest.finish());
        self.segments.write_all(self.sealer.sender.signing().sign(&message).as_bytes())?;
        self.digest.reset();
        self.index += 1;
        self.filled = 0;
        Ok(())
    }
}

impl<W: Write> Write for SealWriter<'_, W> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let wanted = data.len().min(BLOCK_LEN - self.filled);
        // What the segments take is hashed while it is in the cache.
        let taken = self.segments.write(&data[..wanted])?;
        self.digest.update(&data[..taken]);
        self.filled += taken;
        if self.filled == BLOCK_LEN {
            self.sign_block(false)?;
        }
        Ok(taken)
    }

    /// Flushes whole chunks only; a part of one cannot be sealed yet.
    fn flush(&mut self) -> io::Result<()> {
        self.segments.flush()
    }
}
