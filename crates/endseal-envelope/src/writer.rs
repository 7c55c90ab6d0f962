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
use crate::steps::unmarked;

impl<'a> Sealer<'a> {
    /// Begins an envelope on `inner`: writes header and slots, then seals all bytes that are
    /// written to it.
    ///
    /// The hedge of the randomness does not cover the content, which is not known yet: a source of
    /// randomness that repeats itself gives two streams of one sender to the same recipients the
    /// same keys, if their [times](Sealer::time), suites and contexts are equal.
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
        let headed = self.begin(&secrets, &mut start, &mut unmarked).map_err(invalid)?;
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
            failed: false,
        })
    }
}

fn invalid(error: SealError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, error)
}

/// Seals the bytes that are written to it. Holds one chunk of 16 KiB; pieces of at least that size
/// are fastest.
///
/// The caller MUST call [`finish`](Self::finish): an envelope that is dropped before does not open.
/// After an error it is not known which bytes the inner writer has written, so every later call
/// fails.
#[allow(missing_debug_implementations, reason = "holds keys and plaintext")]
pub struct SealWriter<'a, W: Write> {
    sealer: Sealer<'a>,
    segments: segment::SealWriter<W>,
    transcript: Transcript,
    digest: hash::Digest,
    index: u64,
    /// Bytes of the current block.
    filled: usize,
    /// True while a call runs; it stays true after an error, so that later calls fail.
    failed: bool,
}

impl<W: Write> SealWriter<'_, W> {
    /// Signs the last block and gives back the inner writer, which is not flushed.
    ///
    /// # Errors
    /// Those of the inner writer; an error of kind `Other` after one of them.
    pub fn finish(mut self) -> io::Result<W> {
        self.guarded(|writer| writer.sign_block(true))?;
        self.segments.finish()
    }

    /// Runs `call` if none has failed before.
    fn guarded<T>(&mut self, call: impl FnOnce(&mut Self) -> io::Result<T>) -> io::Result<T> {
        if self.failed {
            return Err(io::Error::other("the envelope cannot be continued after an error"));
        }
        self.failed = true;
        let outcome = call(self)?;
        self.failed = false;
        Ok(outcome)
    }

    fn write_some(&mut self, data: &[u8]) -> io::Result<usize> {
        let room = data.len().min(BLOCK_LEN - self.filled);
        // Bytes are hashed while they are in the cache.
        let len = self.segments.write(&data[..room])?;
        self.digest.update(&data[..len]);
        self.filled += len;
        if self.filled == BLOCK_LEN {
            self.sign_block(false)?;
        }
        Ok(len)
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
        self.guarded(|writer| writer.write_some(data))
    }

    /// Flushes whole chunks only; a part of one cannot be sealed yet.
    fn flush(&mut self) -> io::Result<()> {
        self.guarded(|writer| writer.segments.flush())
    }
}
