//! A string of JSON where it lies.

use core::fmt;

use super::{special, unescape};
use crate::output::{Output, OutputTooSmall, Sink as _};

/// A text: characters as they are, or the inside of a JSON string with escapes.
///
/// Two texts are equal if their characters are.
#[derive(Clone, Copy)]
#[allow(clippy::exhaustive_enums, reason = "there is no third form")]
pub enum Text<'a> {
    /// The characters themselves. A scanner gives this for a string without escapes.
    Plain(&'a str),
    /// A string with escapes, without its quotes.
    Escaped(Escaped<'a>),
}

/// The inside of a valid JSON string.
#[derive(Clone, Copy)]
pub struct Escaped<'a>(&'a str);

impl<'a> Escaped<'a> {
    /// Takes what lies between the quotes of a string that was found valid.
    pub(super) fn new(valid: &'a str) -> Self {
        Self(valid)
    }

    /// The inside of the string, escapes as they are.
    #[must_use]
    pub fn raw(&self) -> &'a str {
        self.0
    }
}

/// A part of a [`Text`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "a string consists of these")]
pub enum Piece<'a> {
    /// Characters that are written as they are.
    Run(&'a str),
    /// A character that was escaped.
    Char(char),
}

impl<'a> Text<'a> {
    /// Parts of the text in their order.
    #[must_use]
    pub fn pieces(&self) -> Pieces<'a> {
        match self {
            Self::Plain(text) => Pieces { rest: text, has_escapes: false },
            Self::Escaped(Escaped(text)) => Pieces { rest: text, has_escapes: true },
        }
    }

    /// Iterates over the characters, with escapes resolved.
    pub fn chars(&self) -> impl Iterator<Item = char> + use<'a> {
        self.pieces().flat_map(|piece| {
            let (run, single) = match piece {
                Piece::Run(run) => (run, None),
                Piece::Char(single) => ("", Some(single)),
            };
            run.chars().chain(single)
        })
    }

    /// Returns true if the text consists of these characters.
    #[must_use]
    pub fn is(&self, text: &str) -> bool {
        *self == Text::Plain(text)
    }

    /// Length in bytes of UTF-8 without escapes.
    #[must_use]
    pub fn unescaped_len(&self) -> usize {
        let len = |piece| match piece {
            Piece::Run(run) => run.len(),
            Piece::Char(single) => single.len_utf8(),
        };
        self.pieces().map(len).sum()
    }

    /// Copies the text without escapes to the front of `out`. Returns the copy, which is UTF-8.
    ///
    /// # Errors
    /// [`OutputTooSmall`]; `out` is wiped.
    pub fn unescape_into<'o>(&self, out: &'o mut [u8]) -> Result<&'o mut [u8], OutputTooSmall> {
        let mut out = Output::new(out);
        for piece in self.pieces() {
            match piece {
                Piece::Run(run) => out.put(run.as_bytes()),
                Piece::Char(single) => out.put(single.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        out.finish()
    }
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Self::Plain(text)
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Plain(a), Self::Plain(b)) => a == b,
            _ => self.chars().eq(other.chars()),
        }
    }
}

impl Eq for Text<'_> {}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pieces().try_for_each(|piece| match piece {
            Piece::Run(run) => f.write_str(run),
            Piece::Char(single) => fmt::Write::write_char(f, single),
        })
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, text) = match self {
            Self::Plain(text) => ("Plain", text),
            Self::Escaped(Escaped(text)) => ("Escaped", text),
        };
        f.debug_tuple(name).field(text).finish()
    }
}

impl fmt::Debug for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Escaped").field(&self.0).finish()
    }
}

/// Iterator over the parts of a [`Text`].
#[derive(Clone, Debug)]
pub struct Pieces<'a> {
    rest: &'a str,
    has_escapes: bool,
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        let bytes = self.rest.as_bytes();
        if !self.has_escapes || bytes.first() != Some(&b'\\') {
            let end = if self.has_escapes { special(bytes) } else { bytes.len() };
            let (run, rest) = self.rest.split_at_checked(end)?;
            self.rest = rest;
            return (!run.is_empty()).then_some(Piece::Run(run));
        }
        // The scanner accepts valid escapes only.
        let (single, len) = unescape::escape(bytes).ok()?;
        self.rest = self.rest.get(len..)?;
        Some(Piece::Char(single))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RAW: &str = r#"\u0061é\n\ud83d\ude00\/x\"\\"#;
    const TEXT: &str = "aé\n😀/x\"\\";

    #[test]
    fn an_escaped_text_equals_its_characters() {
        let escaped = Text::Escaped(Escaped::new(RAW));
        assert_eq!(escaped, Text::Plain(TEXT));
        assert_eq!(Text::Plain(TEXT), escaped);
        assert_ne!(escaped, Text::Plain("aé\n😀/x\""));
        assert!(escaped.is(TEXT) && !escaped.is(RAW));
        assert_eq!(escaped.to_string(), TEXT);
        assert_eq!(Text::Plain(RAW).to_string(), RAW);
        assert_eq!(escaped.unescaped_len(), TEXT.len());
    }

    #[test]
    fn pieces_are_runs_and_escaped_characters() {
        let pieces: Vec<_> = Text::Escaped(Escaped::new(r"ab\n\tc")).pieces().collect();
        let expected = [Piece::Run("ab"), Piece::Char('\n'), Piece::Char('\t'), Piece::Run("c")];
        assert_eq!(pieces, expected);
        assert_eq!(Text::Plain(r"a\n").pieces().collect::<Vec<_>>(), [Piece::Run(r"a\n")]);
        assert_eq!(Text::Plain("").pieces().next(), None);
        assert_eq!(Text::Escaped(Escaped::new("")).pieces().next(), None);
    }

    #[test]
    fn a_copy_needs_the_unescaped_length() {
        let escaped = Text::Escaped(Escaped::new(RAW));
        let mut out = [0xee; 64];
        assert_eq!(escaped.unescape_into(&mut out[..TEXT.len()]).unwrap(), TEXT.as_bytes());
        let error = escaped.unescape_into(&mut out[..TEXT.len() - 1]).unwrap_err();
        assert_eq!(error, OutputTooSmall { needed: TEXT.len() });
        assert_eq!(out[..TEXT.len() - 1], [0; TEXT.len() - 1]);
    }
}
