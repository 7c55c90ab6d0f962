//! Texts of an input.

use core::fmt;
use std::error;
use std::io::{self, BufRead as _, BufReader, Read};

use endseal_crypto::secret::Zeroizing;
use endseal_session::{EngineError, MAX_PLAINTEXT_LEN, SendError};

/// The texts of an input: the whole input as one text, or one text a line. The buffer is wiped on
/// drop.
#[allow(missing_debug_implementations, reason = "it holds what is secret")]
pub struct Texts<R> {
    input: BufReader<R>,
    lines: bool,
    pub(crate) number: u64,
    text: Zeroizing<Vec<u8>>,
}

impl<R: Read> Texts<R> {
    /// Reads the whole input as one text.
    #[must_use]
    pub fn whole(input: R) -> Self {
        Self::new(input, false)
    }

    /// Reads each line of the input as a text, without its end (LF or CR LF).
    #[must_use]
    pub fn lines(input: R) -> Self {
        Self::new(input, true)
    }

    fn new(input: R, lines: bool) -> Self {
        // The buffer is never reallocated, so that no copy stays in memory.
        let text = Zeroizing::new(Vec::with_capacity(MAX_PLAINTEXT_LEN + 3));
        Self { input: BufReader::with_capacity(1 << 16, input), lines, number: 0, text }
    }

    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>, TextError> {
        self.text.clear();
        let limit = MAX_PLAINTEXT_LEN as u64 + 2;
        let mut rest = (&mut self.input).take(limit);
        let read = if self.lines {
            rest.read_until(b'\n', &mut self.text)
        } else if self.number == 0 {
            rest.read_to_end(&mut self.text)
        } else {
            return Ok(None);
        };
        let read = read.map_err(TextError::Input)?;
        if read == 0 && self.lines {
            return Ok(None);
        }
        self.number += 1;
        let mut text = self.text.as_slice();
        if self.lines
            && let Some(line) = text.strip_suffix(b"\n")
        {
            text = line.strip_suffix(b"\r").unwrap_or(line);
        }
        if text.len() > MAX_PLAINTEXT_LEN {
            return Err(TextError::TooLong(self.number));
        }
        Ok(Some(text))
    }
}

/// Reason why texts were not encrypted. None of them was.
#[derive(Debug)]
#[non_exhaustive]
pub enum TextError {
    /// The input cannot be read.
    Input(io::Error),
    /// The text with this number, counted from 1, is longer than a message may be.
    TooLong(u64),
    /// The session or the store failed.
    Send(SendError),
}

impl From<EngineError> for TextError {
    fn from(error: EngineError) -> Self {
        Self::Send(error.into())
    }
}

impl From<SendError> for TextError {
    fn from(error: SendError) -> Self {
        Self::Send(error)
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(_) => f.write_str("cannot read the texts"),
            Self::TooLong(number) => write!(f, "text {number} is longer than a message may be"),
            Self::Send(error) => error.fmt(f),
        }
    }
}

impl error::Error for TextError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Input(error) => Some(error),
            Self::Send(error) => error.source(),
            Self::TooLong(_) => None,
        }
    }
}
