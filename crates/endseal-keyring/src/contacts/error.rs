//! What can go wrong with an address book.

use core::fmt;

use super::{MAX_ENTRIES, MAX_LEN};
use crate::identity_text::ParseIdentityError;
use crate::name::{InvalidName, Name};

/// Why bytes are not an address book.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseContactsError {
    /// A line that is no entry, or one that contradicts an earlier one.
    Line {
        /// Its number, from 1.
        line: usize,
        /// What is wrong with it.
        problem: ContactProblem,
    },
    /// Longer than [`MAX_LEN`].
    TooLong,
    /// More than [`MAX_ENTRIES`].
    TooMany,
}

/// What is wrong with a line of an address book.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ContactProblem {
    /// The identity stands in an earlier line under another name.
    DuplicateIdentity {
        /// The other name.
        name: Name,
    },
    /// The name stands in an earlier line.
    DuplicateName,
    /// The second word is not a public identity.
    Identity(ParseIdentityError),
    /// The first word is not a name.
    Name(InvalidName),
    /// Not text.
    NotUtf8,
    /// Not two words.
    Words,
}

/// Why an address book was not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangeContactsError {
    /// The identity is there already.
    DuplicateIdentity {
        /// Under this name.
        name: Name,
    },
    /// The name is there already.
    DuplicateName,
    /// It would have more than [`MAX_ENTRIES`], or be longer than [`MAX_LEN`].
    Full,
    /// There is no entry of that name.
    Unknown,
}

impl ContactProblem {
    pub(super) fn at(self, line: usize) -> ParseContactsError {
        ParseContactsError::Line { line, problem: self }
    }
}

impl fmt::Display for ParseContactsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { line, problem } => write!(f, "line {line}: {problem}"),
            Self::TooLong => write!(f, "the address book is longer than {MAX_LEN} bytes"),
            Self::TooMany => write!(f, "the address book has more than {MAX_ENTRIES} entries"),
        }
    }
}

impl core::error::Error for ParseContactsError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Line { problem: ContactProblem::Identity(error), .. } => Some(error),
            Self::Line { problem: ContactProblem::Name(error), .. } => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for ContactProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DuplicateIdentity { name } => {
                write!(f, "the identity is there already, as {name}")
            }
            Self::DuplicateName => f.write_str("the name is there already"),
            Self::Identity(error) => error.fmt(f),
            Self::Name(error) => error.fmt(f),
            Self::NotUtf8 => f.write_str("not text in UTF-8"),
            Self::Words => f.write_str("expected a name, a space and an identity"),
        }
    }
}

impl fmt::Display for ChangeContactsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DuplicateIdentity { name } => {
                write!(f, "the identity is there already, as {name}")
            }
            Self::DuplicateName => f.write_str("the name is there already"),
            Self::Full => f.write_str("the address book is full"),
            Self::Unknown => f.write_str("there is no contact of that name"),
        }
    }
}

impl core::error::Error for ChangeContactsError {}
