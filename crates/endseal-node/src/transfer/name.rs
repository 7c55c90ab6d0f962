//! Name of a file in transit.

use core::fmt;
use core::str::FromStr;

/// A file name that is never a path, so that it can safely be joined to a folder even if an
/// attacker chose it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileName(Box<str>);

impl FileName {
    /// Limit on the name in bytes of UTF-8.
    pub const MAX_LEN: usize = 255;

    /// Checks a name: 1 to 255 bytes, no slash, backslash or control character, no dot at the
    /// start.
    ///
    /// # Errors
    /// Returns [`InvalidFileName`], which names the first fault.
    pub fn new(text: &str) -> Result<Self, InvalidFileName> {
        if text.is_empty() {
            return Err(InvalidFileName::Empty);
        }
        if text.len() > Self::MAX_LEN {
            return Err(InvalidFileName::TooLong);
        }
        if text.contains(['/', '\\']) {
            return Err(InvalidFileName::Path);
        }
        if text.starts_with('.') {
            return Err(InvalidFileName::Hidden);
        }
        if text.chars().any(char::is_control) {
            return Err(InvalidFileName::Control);
        }
        Ok(Self(text.into()))
    }

    /// Returns the name as text. It may still contain characters that mislead a reader, for example
    /// those that change the direction of writing.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for FileName {
    type Err = InvalidFileName;

    fn from_str(text: &str) -> Result<Self, InvalidFileName> {
        Self::new(text)
    }
}

/// Reason why a text is not the name of a file in transit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidFileName {
    /// The name contains a control character.
    Control,
    /// The name is empty.
    Empty,
    /// The name begins with a dot: it is `..`, or a hidden file that programs may read as settings.
    Hidden,
    /// The name contains a slash or backslash.
    Path,
    /// The name is longer than [`FileName::MAX_LEN`].
    TooLong,
}

impl fmt::Display for InvalidFileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Control => f.write_str("the name of a file contains a control character"),
            Self::Empty => f.write_str("the name of a file is empty"),
            Self::Hidden => f.write_str("the name of a file begins with a dot"),
            Self::Path => f.write_str("the name of a file contains a slash or backslash"),
            Self::TooLong => {
                write!(f, "the name of a file is longer than {} bytes", FileName::MAX_LEN)
            }
        }
    }
}

impl core::error::Error for InvalidFileName {}
