//! A stream sealed as it is written.

use std::io::{self, Write};

use super::{InputKey, SealKeys, StreamSealer};
use crate::random::Random;

/// Seals what is written to it, 16 KiB at a time.
///
/// The caller MUST call [`finish`](Self::finish): a stream that is dropped before is truncated and
/// does not open. After an error of any call but [`flush`](Write::flush) every later call fails: a
/// chunk is sealed once, and part of it may have been written.
/// [`ErrorKind::Interrupted`](io::ErrorKind::Interrupted) is retried within.
#[allow(missing_debug_implementations, reason = "holds keys and plaintext")]
pub struct SealWriter<W: Write> {
    pub(super) stream: StreamSealer,
    inner: W,
}

impl<W: Write> SealWriter<W> {
    /// Begins a stream: draws a salt and writes the prefix.
    ///
    /// # Errors
    /// Those of `random` and `inner`.
    pub fn new(
        key: &InputKey,
        context: &[u8],
        mut inner: W,
        random: &mut impl Random,
    ) -> io::Result<Self> {
        let (keys, prefix) = SealKeys::generate(key, context, random).map_err(io::Error::other)?;
        inner.write_all(&prefix)?;
        Ok(Self::from_keys(keys, inner))
    }

    /// Begins with the first chunk, where a format has the prefix elsewhere.
    #[must_use]
    pub fn from_keys(keys: SealKeys, inner: W) -> Self {
        Self { stream: StreamSealer::new(keys), inner }
    }

    /// Seals the last chunk and gives back the inner writer, which is not flushed.
    ///
    /// # Errors
    /// Those of the inner writer; also if an earlier call failed.
    pub fn finish(mut self) -> io::Result<W> {
        self.stream.finish(&mut |sealed| self.inner.write_all(sealed))?;
        Ok(self.inner)
    }
}

impl<W: Write> Write for SealWriter<W> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.stream.push(data, &mut |sealed| self.inner.write_all(sealed))?;
        Ok(data.len())
    }

    /// Flushes whole chunks only; a part of one cannot be sealed yet.
    fn flush(&mut self) -> io::Result<()> {
        self.stream.check()?;
        self.inner.flush()
    }
}
