//! Names of contacts, members and groups.

use alloc::boxed::Box;
use core::fmt;
use core::str::FromStr;

use crate::identity_text;

/// A name: 1 to 64 characters of `a-z`, `0-9`, `.`, `_` and `-`, the first a letter, digit or `_`.
///
/// A name can stand on a command line or be the name of a file, and none can be taken for an
/// identity. Letters that look like others are few (`l` and `1`, `0` and `o`), as all are ASCII in
/// lower case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Box<str>);

impl Name {
    /// Greatest length of a name in bytes.
    pub const MAX_LEN: usize = 64;

    /// Makes a name of a text, which must satisfy the rules of [`Name`].
    ///
    /// # Errors
    /// [`InvalidName`], which says what is wrong with it.
    pub fn new(text: &str) -> Result<Self, InvalidName> {
        for c in text.chars() {
            match c {
                'a'..='z' | '0'..='9' | '.' | '_' | '-' => {}
                'A'..='Z' => return Err(InvalidName::UpperCase),
                _ if c.is_ascii() => return Err(InvalidName::Character(c)),
                _ => return Err(InvalidName::NotAscii(c)),
            }
        }
        if text.is_empty() {
            return Err(InvalidName::Empty);
        }
        if text.len() > Self::MAX_LEN {
            return Err(InvalidName::TooLong);
        }
        if text.starts_with(['-', '.']) {
            return Err(InvalidName::Start);
        }
        if identity_text::looks_like_one(text) {
            return Err(InvalidName::LooksLikeIdentity);
        }
        Ok(Self(text.into()))
    }

    /// The name as text, exactly as it was checked.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Name {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        Self::new(text)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl AsRef<str> for Name {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl core::borrow::Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// Reason why a text is not a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidName {
    /// A character that names do not have, often a space.
    Character(char),
    /// The text is empty; a name has at least one character.
    Empty,
    /// The text begins like a public identity or a secret: the arguments are in the wrong order.
    LooksLikeIdentity,
    /// A letter beyond ASCII; many of these look like others.
    NotAscii(char),
    /// The first character is `-` (an option of a command) or `.` (a hidden file).
    Start,
    /// The text has more than [`Name::MAX_LEN`] characters.
    TooLong,
    /// Capital letters; names are in lower case.
    UpperCase,
}

impl fmt::Display for InvalidName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Character(c) => {
                write!(f, "a name has only a-z, 0-9, '.', '_' and '-', not {c:?}")
            }
            Self::Empty => f.write_str("the name is empty"),
            Self::LooksLikeIdentity => f.write_str("that is an identity, not a name"),
            Self::NotAscii(c) => write!(
                f,
                "a name has only a-z, 0-9, '.', '_' and '-', not U+{:04X} (letters that look alike \
                 could be confused)",
                u32::from(*c)
            ),
            Self::Start => f.write_str("a name begins with a letter, a digit or '_'"),
            Self::TooLong => write!(f, "a name has at most {} characters", Name::MAX_LEN),
            Self::UpperCase => f.write_str("a name is in lower case"),
        }
    }
}

impl core::error::Error for InvalidName {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_right_form_are_taken() {
        for good in ["a", "bob", "0", "_", "bob.smith-2_x", &"z".repeat(64)] {
            assert_eq!(Name::new(good).unwrap().as_str(), good);
        }
    }

    #[test]
    fn other_names_are_refused_with_the_reason() {
        for (bad, why) in [
            ("", InvalidName::Empty),
            (&"z".repeat(65), InvalidName::TooLong),
            ("-r", InvalidName::Start),
            ("..", InvalidName::Start),
            ("Bob", InvalidName::UpperCase),
            ("bob smith", InvalidName::Character(' ')),
            ("bob\n", InvalidName::Character('\n')),
            ("a/b", InvalidName::Character('/')),
            ("b\u{f6}b", InvalidName::NotAscii('\u{f6}')),
            ("b\u{43e}b", InvalidName::NotAscii('\u{43e}')),
            ("endseal1qqq", InvalidName::LooksLikeIdentity),
            ("endsealpq1qqq", InvalidName::LooksLikeIdentity),
        ] {
            assert_eq!(Name::new(bad).unwrap_err(), why, "{bad:?}");
        }
    }
}
