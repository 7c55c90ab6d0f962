//! The name of a file on its way.

use core::fmt;
use core::str::FromStr;

/// A name and never a path: it can be joined to a folder whoever chose it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileName(Box<str>);

impl FileName {
    /// Longest name in bytes of UTF-8.
    pub const MAX_LEN: usize = 255;

    /// Checks and takes a name.
    ///
    /// # Errors
    /// [`InvalidFileName`], which says what is wrong with it.
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

    /// The name as text. It may still hold what confuses a reader: characters that change the
    /// direction of writing, for example.
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

/// Why a text is not the name of a file on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidFileName {
    /// A control character.
    Control,
    /// Nothing at all.
    Empty,
    /// It begins with a dot: a hidden file, which programs read as their settings, or `..`.
    Hidden,
    /// It has a slash or backslash.
    Path,
    /// Longer than [`FileName::MAX_LEN`].
    TooLong,
}

impl fmt::Display for InvalidFileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Control => f.write_str("a control character in the name of a file"),
            Self::Empty => f.write_str("the name of a file is empty"),
            Self::Hidden => f.write_str("the name of a file begins with a dot"),
            Self::Path => f.write_str("a path in the place of the name of a file"),
            Self::TooLong => {
                write!(f, "the name of a file is longer than {} bytes", FileName::MAX_LEN)
            }
        }
    }
}

impl core::error::Error for InvalidFileName {}
