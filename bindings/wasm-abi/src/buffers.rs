//! The buffers through which bytes go.

use endseal_facade::Error;

/// Result of a call: a number, which is never negative.
pub type Answer = Result<i32, Error>;

/// Input and output of a call.
#[allow(missing_debug_implementations, reason = "has secrets")]
pub struct Buffers {
    /// Values that JavaScript wrote for the next call, without anything in between. Its arguments
    /// have the lengths of all but the last.
    pub input: Vec<u8>,
    /// Bytes that the last call returns, or code and text of its error: `header: not a …`.
    pub output: Vec<u8>,
}

impl Buffers {
    /// Makes empty buffers.
    #[allow(clippy::new_without_default, reason = "a static needs a constant")]
    pub const fn new() -> Self {
        Self { input: Vec::new(), output: Vec::new() }
    }

    /// Makes the input buffer, and returns its address; 0 if there is not so much memory.
    pub fn reserve(&mut self, len: usize) -> usize {
        self.input = Vec::new();
        if self.input.try_reserve_exact(len).is_err() {
            return 0;
        }
        // Optimised for size, `resize` writes byte by byte.
        while self.input.len() < len {
            let zeros = &[0; 4_096][..(len - self.input.len()).min(4_096)];
            self.input.extend_from_slice(zeros);
        }
        self.input.as_ptr() as usize
    }

    /// Frees both buffers, which wipes them.
    pub fn release(&mut self) {
        (self.input, self.output) = (Vec::new(), Vec::new());
    }

    /// Returns the number of an answer, or -1, and then the error is the output.
    pub fn settle(&mut self, answer: Answer) -> i32 {
        answer.unwrap_or_else(|error| {
            self.output = format!("{}: {error}", error.code()).into_bytes();
            -1
        })
    }

    /// Splits the input behind the first value.
    ///
    /// # Errors
    /// `argument` if the input is shorter.
    pub fn split(&self, len: usize) -> Result<(&[u8], &[u8]), Error> {
        split(&self.input, len)
    }
}

/// Splits bytes of the input behind a value.
///
/// # Errors
/// `argument` if there are not as many.
pub fn split(input: &[u8], len: usize) -> Result<(&[u8], &[u8]), Error> {
    input.split_at_checked(len).ok_or_else(|| Error::argument("the input is too short"))
}

/// Reads a text.
///
/// # Errors
/// `argument` if it is not UTF-8.
pub fn text(bytes: &[u8]) -> Result<&str, Error> {
    std::str::from_utf8(bytes).map_err(|_| Error::argument("the text is not UTF-8"))
}

/// Texts, each behind its length in four bytes.
#[must_use]
pub fn joined(texts: impl IntoIterator<Item = String>) -> Vec<u8> {
    let mut joined = Vec::new();
    for text in texts {
        let len = u32::try_from(text.len()).unwrap_or(u32::MAX);
        joined.extend(len.to_le_bytes());
        joined.extend(text.into_bytes());
    }
    joined
}
