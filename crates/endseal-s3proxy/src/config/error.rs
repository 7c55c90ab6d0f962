//! Error of a configuration.

use core::fmt;

/// Entry of a configuration that is missing or invalid. The error contains no secret of the file,
/// only names of entries, choices and files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    entry: String,
    message: String,
}

impl ConfigError {
    pub(super) fn of(entry: impl Into<String>, message: impl Into<String>) -> Self {
        Self { entry: entry.into(), message: message.into() }
    }

    /// Creates an error with the line and column of byte `start` of `text`.
    pub(super) fn at(text: &str, start: usize, message: &str) -> Self {
        let before = text.get(..start).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|character| *character != '\n').count() + 1;
        Self::of("", format!("line {line}, column {column}: {message}"))
    }

    /// Returns the name of the invalid entry. It is empty if the message has line and column
    /// instead.
    #[must_use]
    pub fn entry(&self) -> &str {
        &self.entry
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.entry.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.entry, self.message)
        }
    }
}

impl core::error::Error for ConfigError {}
