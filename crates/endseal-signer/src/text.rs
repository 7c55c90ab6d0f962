//! Texts of limited length in records.

use core::fmt;

use crate::error::RecordError;

/// Maximum length of a name or label in bytes.
pub const MAX_NAME: usize = 64;
/// Maximum length in bytes of other texts: a relay, a URL, the text of a rule.
pub const MAX_TEXT: usize = 255;

/// Text of at most `MAX` bytes. `MAX` is at most 255.
///
/// The text may come from an app: a caller that shows it MUST replace control characters.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BoundedText<const MAX: usize>(Box<str>);

impl<const MAX: usize> BoundedText<MAX> {
    /// Copies a text of at most `MAX` bytes.
    ///
    /// # Errors
    /// [`TextTooLong`] if the text has more than `MAX` bytes.
    pub fn new(text: &str) -> Result<Self, TextTooLong> {
        const { assert!(MAX <= MAX_TEXT, "the length is one byte") };
        if text.len() > MAX { Err(TextTooLong) } else { Ok(Self(text.into())) }
    }

    /// Copies as many characters from the start of `text` as fit into `MAX` bytes.
    #[must_use]
    pub fn cut(text: &str) -> Self {
        const { assert!(MAX <= MAX_TEXT, "the length is one byte") };
        let mut ends = (0..=MAX.min(text.len())).rev();
        let end = ends.find(|end| text.is_char_boundary(*end)).unwrap_or_default();
        Self(text[..end].into())
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn len_byte(&self) -> u8 {
        self.0.len().to_le_bytes()[0]
    }

    /// Returns an error if the text is empty.
    pub(crate) fn filled(self) -> Result<Self, RecordError> {
        if self.0.is_empty() { Err(RecordError::Value) } else { Ok(self) }
    }
}

impl<const MAX: usize> fmt::Display for BoundedText<MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Error of [`BoundedText::new`]: the text has more bytes than its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("the text is too long")]
pub struct TextTooLong;
