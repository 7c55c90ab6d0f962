//! Destinations of written bytes: a buffer of the caller, or a digest.

#[cfg(feature = "std")]
use alloc::vec::Vec;
use core::fmt;

use endseal_crypto::secret::Zeroize as _;
use endseal_crypto::sha256::Digest;

/// Takes bytes one piece after the other. It never fails: a buffer that is too small reports that
/// at its end.
pub trait Sink {
    /// Appends the bytes to the output.
    fn put(&mut self, bytes: &[u8]);
}

impl Sink for Digest {
    fn put(&mut self, bytes: &[u8]) {
        self.update(bytes);
    }
}

#[cfg(feature = "std")]
impl Sink for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// A buffer of the caller that is filled from its start.
#[derive(Debug)]
pub struct Output<'o> {
    buffer: &'o mut [u8],
    /// Bytes put so far, also those that found no space.
    len: usize,
}

impl<'o> Output<'o> {
    /// Starts at the front of `buffer`.
    #[must_use]
    pub fn new(buffer: &'o mut [u8]) -> Self {
        Self { buffer, len: 0 }
    }

    /// Returns the bytes that were written, at the front of the buffer.
    ///
    /// # Errors
    /// [`OutputTooSmall`]; the buffer is wiped.
    pub fn finish(self) -> Result<&'o mut [u8], OutputTooSmall> {
        if self.len > self.buffer.len() {
            self.buffer.zeroize();
            return Err(OutputTooSmall { needed: self.len });
        }
        Ok(&mut self.buffer[..self.len])
    }

    /// Ends the output as [`Output::finish`] does, if only whole texts were written to it.
    pub(crate) fn finish_text(self) -> Result<&'o str, OutputTooSmall> {
        let bytes: &'o [u8] = self.finish()?;
        #[allow(clippy::expect_used, reason = "callers put texts only")]
        Ok(str::from_utf8(bytes).expect("texts are UTF-8"))
    }
}

impl fmt::Write for Output<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.put(text.as_bytes());
        Ok(())
    }
}

impl Sink for Output<'_> {
    fn put(&mut self, bytes: &[u8]) {
        let end = self.len.saturating_add(bytes.len());
        if let Some(space) = self.buffer.get_mut(self.len..end) {
            space.copy_from_slice(bytes);
        }
        self.len = end;
    }
}

/// A buffer of the caller has less than the needed space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutputTooSmall {
    /// Bytes that the whole output takes.
    pub needed: usize,
}

impl fmt::Display for OutputTooSmall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the buffer is too small: {} bytes are needed", self.needed)
    }
}

impl core::error::Error for OutputTooSmall {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_takes_exactly_its_length() {
        let mut buffer = [0xee; 5];
        let mut output = Output::new(&mut buffer);
        output.put(b"abc");
        output.put(b"");
        output.put(b"de");
        assert_eq!(output.finish().unwrap(), b"abcde");
    }

    #[test]
    fn a_buffer_that_is_too_small_is_wiped_and_says_the_length() {
        let mut buffer = [0xee; 5];
        let mut output = Output::new(&mut buffer);
        output.put(b"abcd");
        output.put(b"efg");
        output.put(b"h");
        assert_eq!(output.finish(), Err(OutputTooSmall { needed: 8 }));
        assert_eq!(buffer, [0; 5]);
    }
}
