//! An envelope sealed as its content is written.

use alloc::vec::Vec;
use std::io::{self, Write};

use endseal_crypto::ed25519::SigningKey;
use endseal_crypto::random::Random;

use crate::seal::Sealer;
use crate::seal_stream::{SealStream, chunks_here};

impl<'a> Sealer<'a> {
    /// Begins an envelope on `inner`: writes header and slots, then seals all bytes that are
    /// written to it. The hedge of the randomness is that of [`stream`](Self::stream).
    ///
    /// # Errors
    /// Those of `inner`; [`SealError`](crate::SealError) inside an error of kind `InvalidInput`.
    pub fn writer<W: Write>(
        &self,
        mut inner: W,
        random: &mut impl Random,
    ) -> io::Result<SealWriter<'a, W>> {
        let mut start = Vec::new();
        let stream = self.stream_signed(self.sender.signing(), chunks_here, random, &mut start)?;
        inner.write_all(&start)?;
        Ok(SealWriter { stream, inner, failed: false })
    }
}

/// Seals the bytes that are written to it. Holds one chunk of 16 KiB; pieces of 256 KiB are
/// fastest.
///
/// The caller MUST call [`finish`](Self::finish): an envelope that is dropped before does not open.
/// After an error it is not known which bytes the inner writer has written, so every later call
/// fails.
#[allow(missing_debug_implementations, reason = "holds keys and plaintext")]
pub struct SealWriter<'a, W: Write> {
    stream: SealStream<&'a SigningKey>,
    inner: W,
    /// True while a call runs; it stays true after an error, so that later calls fail.
    failed: bool,
}

impl<'a, W: Write> SealWriter<'a, W> {
    /// Signs the last block and gives back the inner writer, which is not flushed.
    ///
    /// # Errors
    /// Those of the inner writer; an error of kind `Other` after one of them.
    pub fn finish(mut self) -> io::Result<W> {
        self.guarded(|_, _| Ok(()))?;
        self.stream.finish_to(&mut |sealed| self.inner.write_all(sealed))?;
        Ok(self.inner)
    }

    /// Runs `call` if none has failed before.
    fn guarded(
        &mut self,
        call: impl FnOnce(&mut SealStream<&'a SigningKey>, &mut W) -> io::Result<()>,
    ) -> io::Result<()> {
        if self.failed {
            return Err(io::Error::other("the envelope cannot be continued after an error"));
        }
        self.failed = true;
        call(&mut self.stream, &mut self.inner)?;
        self.failed = false;
        Ok(())
    }
}

impl<W: Write> Write for SealWriter<'_, W> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.guarded(|stream, inner| stream.push_to(data, &mut |sealed| inner.write_all(sealed)))?;
        Ok(data.len())
    }

    /// Flushes whole chunks only; a part of one cannot be sealed yet.
    fn flush(&mut self) -> io::Result<()> {
        self.guarded(|_, inner| inner.flush())
    }
}
