//! Faults of a damaged store.

use core::fmt;

/// One thing that is wrong with a store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding {
    /// The database is not a store's: its application id or version is another.
    Foreign,
    /// Message of SQLite or SQLCipher. It names tables, pages and rows, and no content.
    Engine(String),
    /// A page, counted from 1, that is not authentic.
    Page(u32),
    /// Rows that break a rule of the format.
    Rows {
        /// The rule, as a sentence about a row.
        rule: &'static str,
        /// Number of rows that break it.
        count: u64,
    },
}

/// Rule of messages in the inbox and of those delivered before.
pub(crate) const NUMBER_ABOVE: &str = "a message with a number that was not given out";

impl Finding {
    /// Returns the finding for one message that breaks [`NUMBER_ABOVE`].
    pub(crate) fn number_above() -> Self {
        Self::Rows { rule: NUMBER_ABOVE, count: 1 }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign => f.write_str("the database is not a store's"),
            Self::Engine(text) => f.write_str(text),
            Self::Page(page) => write!(f, "page {page} is not authentic"),
            Self::Rows { rule, count } => write!(f, "{rule} ({count})"),
        }
    }
}
