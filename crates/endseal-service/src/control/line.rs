//! JSON objects on the socket, one a line. Buffers are wiped when they grow and when they end.

use core::fmt;
use std::io::{self, Write};

use endseal_crypto::secret::Zeroizing;
use serde::Serialize;

/// Maximum length in bytes of a line, with its end: 8 MiB.
pub const MAX_CONTROL_LINE: usize = 8 << 20;

/// Reason why a line could not be read or written.
#[derive(Debug)]
#[non_exhaustive]
pub enum ControlLineError {
    /// Reading from or writing to the socket failed.
    Io(io::Error),
    /// A line is longer than [`MAX_CONTROL_LINE`].
    Length,
    /// The JSON is malformed or does not have the expected structure.
    Json(serde_json::Error),
}

impl From<io::Error> for ControlLineError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<serde_json::Error> for ControlLineError {
    fn from(error: serde_json::Error) -> Self {
        Self::Json(error)
    }
}

impl fmt::Display for ControlLineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Length => f.write_str("a line on the socket is too long"),
            Self::Json(error) => write!(f, "a line on the socket is malformed: {error}"),
        }
    }
}

impl core::error::Error for ControlLineError {}

/// Encodes a value as JSON with a line end.
///
/// # Errors
/// [`ControlLineError`] if the value has no JSON, or the line is longer than [`MAX_CONTROL_LINE`].
pub fn to_line(value: &impl Serialize) -> Result<Zeroizing<Vec<u8>>, ControlLineError> {
    let mut line = LineBuffer::default();
    serde_json::to_writer(&mut line, value)?;
    line.write_all(b"\n")?;
    if line.bytes.len() > MAX_CONTROL_LINE {
        return Err(ControlLineError::Length);
    }
    Ok(line.bytes)
}

/// Bytes of lines, of which the last may be incomplete.
#[derive(Default)]
pub(crate) struct LineBuffer {
    bytes: Zeroizing<Vec<u8>>,
    /// Number of bytes at the start that are known to contain no line end.
    scanned: usize,
}

impl LineBuffer {
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the bytes, behind which there is room for at least `len` more. The caller MUST NOT
    /// append more than fit into the capacity, because then a copy would stay in memory.
    pub(crate) fn with_room(&mut self, len: usize) -> &mut Vec<u8> {
        if self.bytes.capacity() - self.bytes.len() < len {
            let capacity = (2 * (self.bytes.len() + len)).max(4096);
            let mut longer = Zeroizing::new(Vec::with_capacity(capacity));
            longer.extend_from_slice(&self.bytes);
            self.bytes = longer;
        }
        &mut self.bytes
    }

    /// Removes the first line and returns it without its end. `None` if it is not complete.
    ///
    /// # Errors
    /// [`ControlLineError::Length`] if it is longer than [`MAX_CONTROL_LINE`].
    pub(crate) fn next(&mut self) -> Result<Option<Zeroizing<Vec<u8>>>, ControlLineError> {
        let end = self.bytes[self.scanned..].iter().position(|byte| *byte == b'\n');
        let end = end.map(|end| self.scanned + end);
        if end.unwrap_or(self.bytes.len()) >= MAX_CONTROL_LINE {
            return Err(ControlLineError::Length);
        }
        let Some(end) = end else {
            self.scanned = self.bytes.len();
            return Ok(None);
        };
        let rest = Zeroizing::new(self.bytes[end + 1..].to_vec());
        let mut line = core::mem::replace(&mut self.bytes, rest);
        self.scanned = 0;
        line.truncate(end);
        Ok(Some(line))
    }
}

impl Write for LineBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.with_room(bytes.len()).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
