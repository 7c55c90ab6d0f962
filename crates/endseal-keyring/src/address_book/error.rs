//! Errors of reading and changing an address book.

use core::fmt;

use super::{Listed, MAX_ENTRIES, MAX_LEN};
use crate::name::{InvalidName, Name};

/// Reason why bytes are not an address book.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseBookError<T: Listed> {
    /// A line that is no entry, or one that contradicts an earlier one.
    Line {
        /// Number of the line, counted from 1.
        line: usize,
        /// Reason why this line was refused.
        problem: EntryProblem<T>,
    },
    /// The file is longer than [`MAX_LEN`] bytes.
    TooLong,
    /// The file has more than [`MAX_ENTRIES`] entries.
    TooMany,
}

/// Fault of a line of an address book.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EntryProblem<T: Listed> {
    /// The entry stands in an earlier line under another name.
    DuplicateEntry {
        /// Name under which an earlier line has the entry.
        name: Name,
    },
    /// The name stands in an earlier line.
    DuplicateName,
    /// The second word is not an entry of the kind that the book lists.
    Entry(T::Error),
    /// The first word is not a name.
    Name(InvalidName),
    /// The line is not UTF-8 text.
    NotUtf8,
    /// The line does not consist of two words, a name and an entry.
    Words,
}

/// Reason why an address book was not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangeBookError {
    /// The book has the entry already, under the same or another name.
    DuplicateEntry {
        /// Name under which the book has the entry.
        name: Name,
    },
    /// The book has an entry of that name already.
    DuplicateName,
    /// The book would have more than [`MAX_ENTRIES`] entries, or be longer than [`MAX_LEN`].
    Full,
    /// There is no entry of that name.
    Unknown,
}

impl<T: Listed> EntryProblem<T> {
    pub(super) fn at(self, line: usize) -> ParseBookError<T> {
        ParseBookError::Line { line, problem: self }
    }
}

impl<T: Listed> fmt::Display for ParseBookError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { line, problem } => write!(f, "line {line}: {problem}"),
            Self::TooLong => write!(f, "the address book is longer than {MAX_LEN} bytes"),
            Self::TooMany => write!(f, "the address book has more than {MAX_ENTRIES} entries"),
        }
    }
}

impl<T: Listed> core::error::Error for ParseBookError<T> {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Line { problem: EntryProblem::Entry(error), .. } => Some(error),
            Self::Line { problem: EntryProblem::Name(error), .. } => Some(error),
            _ => None,
        }
    }
}

impl<T: Listed> fmt::Display for EntryProblem<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DuplicateEntry { name } => {
                write!(f, "it is there already, as {name}")
            }
            Self::DuplicateName => f.write_str("the name is there already"),
            Self::Entry(error) => error.fmt(f),
            Self::Name(error) => error.fmt(f),
            Self::NotUtf8 => f.write_str("not text in UTF-8"),
            Self::Words => write!(f, "expected a name, a space and {}", T::NOUN),
        }
    }
}

impl fmt::Display for ChangeBookError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DuplicateEntry { name } => {
                write!(f, "it is there already, as {name}")
            }
            Self::DuplicateName => f.write_str("the name is there already"),
            Self::Full => f.write_str("the address book is full"),
            Self::Unknown => f.write_str("there is no entry of that name"),
        }
    }
}

impl core::error::Error for ChangeBookError {}
