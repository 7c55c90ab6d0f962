//! Texts of records.

use core::fmt;

use crate::error::RecordError;

/// Longest name or label in bytes.
pub const MAX_NAME: usize = 64;
/// Longest text in bytes: a relay, a URL, the text of a rule.
pub const MAX_TEXT: usize = 255;

/// A text of at most `MAX` bytes, which is at most 255.
///
/// It may come from an app: a caller that shows it MUST replace control characters.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BoundedText<const MAX: usize>(Box<str>);

impl<const MAX: usize> BoundedText<MAX> {
    /// Copies a text.
    ///
    /// # Errors
    /// [`TextTooLong`].
    pub fn new(text: &str) -> Result<Self, TextTooLong> {
        const { assert!(MAX <= MAX_TEXT, "the length is one byte") };
        if text.len() > MAX { Err(TextTooLong) } else { Ok(Self(text.into())) }
    }

    /// Copies the characters at the front of `text` that fit.
    #[must_use]
    pub fn cut(text: &str) -> Self {
        const { assert!(MAX <= MAX_TEXT, "the length is one byte") };
        Self(text[..text.floor_char_boundary(MAX)].into())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn len_byte(&self) -> u8 {
        self.0.len().to_le_bytes()[0]
    }

    /// Refuses an empty text.
    pub(crate) fn filled(self) -> Result<Self, RecordError> {
        if self.0.is_empty() { Err(RecordError::Value) } else { Ok(self) }
    }
}

impl<const MAX: usize> fmt::Display for BoundedText<MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A text is longer than its place in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TextTooLong;

impl fmt::Display for TextTooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the text is too long")
    }
}

impl core::error::Error for TextTooLong {}
