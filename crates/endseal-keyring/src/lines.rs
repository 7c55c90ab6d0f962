//! The line format that identity files and rosters share (docs/spec/identity.md, "Line format").
//!
//! `endseal <kind> v<version>`, then `<field> <value>` lines in a fixed order, each ended by one
//! line feed; printable ASCII only.

use core::fmt;

use crate::numerals;

/// Reads fields one by one.
pub(crate) struct Lines<'a> {
    text: &'a str,
    offset: usize,
    line: usize,
}

/// Errors that occur before the first line is read.
pub(crate) enum OpenLinesError {
    Malformed(Malformed),
    Version,
}

impl<'a> Lines<'a> {
    /// Checks the first line, and that all bytes are of the format. `magic` is the first line
    /// without its `v1`.
    #[allow(clippy::expect_used)]
    pub(crate) fn open(
        bytes: &'a [u8],
        magic: &'static str,
        version: &str,
    ) -> Result<Self, OpenLinesError> {
        let first = bytes.split(|byte| *byte == b'\n').next().expect("no byte is one line");
        let found = first
            .strip_prefix(magic.as_bytes())
            .and_then(|rest| rest.strip_prefix(b" v"))
            .filter(|found| numerals::is_decimal(found));
        match found {
            Some(found) if found == version.as_bytes() => {}
            Some(_) => return Err(OpenLinesError::Version),
            None => return Err(Malformed::new(1, LineProblem::Expected(magic)).into()),
        }
        let own = |byte: &u8| matches!(byte, b'\n' | b' '..=b'~');
        if let Some(at) = bytes.iter().position(|byte| !own(byte)) {
            let line = 1 + bytes[..at].iter().filter(|byte| **byte == b'\n').count();
            let problem = match bytes[at] {
                b'\r' => LineProblem::CarriageReturn,
                _ => LineProblem::Character,
            };
            return Err(Malformed::new(line, problem).into());
        }
        let text = core::str::from_utf8(bytes).expect("all bytes are ASCII");
        let mut lines = Self { text, offset: 0, line: 0 };
        lines.next()?;
        Ok(lines)
    }

    /// The value of the next line, which must be of that field.
    pub(crate) fn field(&mut self, field: &'static str) -> Result<&'a str, Malformed> {
        let line = self.next()?;
        line.strip_prefix(field)
            .and_then(|rest| rest.strip_prefix(' '))
            .ok_or_else(|| self.malformed(LineProblem::Expected(field)))
    }

    /// The value of the next line if it is of that field. Another line is left for the next call.
    pub(crate) fn optional(&mut self, field: &'static str) -> Result<Option<&'a str>, Malformed> {
        let rest = self.text[self.offset..].strip_prefix(field);
        if rest.is_some_and(|rest| rest.starts_with(' ')) {
            return self.field(field).map(Some);
        }
        Ok(None)
    }

    /// Checks that no text follows the last line that was read.
    pub(crate) fn end(self) -> Result<(), Malformed> {
        if self.offset == self.text.len() {
            return Ok(());
        }
        Err(Malformed::new(self.line + 1, LineProblem::Trailing))
    }

    /// Returns the text that was read so far.
    pub(crate) fn before(&self) -> &'a str {
        &self.text[..self.offset]
    }

    /// Number of the line that was read last, from 1.
    pub(crate) fn line(&self) -> usize {
        self.line
    }

    /// Makes an error about the line that was read last.
    pub(crate) fn malformed(&self, problem: LineProblem) -> Malformed {
        Malformed::new(self.line, problem)
    }

    fn next(&mut self) -> Result<&'a str, Malformed> {
        self.line += 1;
        let (line, _) = self.text[self.offset..]
            .split_once('\n')
            .ok_or_else(|| self.malformed(LineProblem::Truncated))?;
        self.offset += line.len() + 1;
        Ok(line)
    }
}

impl From<Malformed> for OpenLinesError {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

/// A line that is not what the format has there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Malformed {
    /// Number of the line, from 1.
    pub line: usize,
    /// Reason why this line was refused.
    pub problem: LineProblem,
}

impl Malformed {
    pub(crate) fn new(line: usize, problem: LineProblem) -> Self {
        Self { line, problem }
    }
}

/// Reason why a line was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LineProblem {
    /// A carriage return: an editor or a mail program changed the line ends.
    CarriageReturn,
    /// A byte that is not printable ASCII.
    Character,
    /// Another field, or none, where this one should be.
    Expected(&'static str),
    /// Something after the last line.
    Trailing,
    /// The end of the file in the middle of a line, or before it.
    Truncated,
    /// The value of this field is not in its canonical form.
    Value(&'static str),
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: ", self.line)?;
        match self.problem {
            LineProblem::CarriageReturn => {
                f.write_str("carriage return: the line ends were converted")
            }
            LineProblem::Character => f.write_str("a byte that is not printable ASCII"),
            LineProblem::Expected(field) => write!(f, "expected \"{field}\""),
            LineProblem::Trailing => f.write_str("something follows the last line"),
            LineProblem::Truncated => f.write_str("the file ends too early"),
            LineProblem::Value(field) => write!(f, "the value of \"{field}\" is not canonical"),
        }
    }
}

impl core::error::Error for Malformed {}
