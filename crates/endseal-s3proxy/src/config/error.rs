//! Errors of a configuration.

use core::fmt;

/// An entry of a configuration that cannot be used. It holds no secret of the file: names of
/// entries, of choices and of files may stand in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    entry: String,
    message: String,
}

impl ConfigError {
    pub(super) fn of(entry: impl Into<String>, message: impl Into<String>) -> Self {
        Self { entry: entry.into(), message: message.into() }
    }

    /// An error at byte `start` of `text`.
    pub(super) fn at(text: &str, start: usize, message: &str) -> Self {
        let before = text.get(..start).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|character| *character != '\n').count() + 1;
        Self::of("", format!("line {line}, column {column}: {message}"))
    }

    /// The entry that is wrong; empty if the message has its line and column.
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
