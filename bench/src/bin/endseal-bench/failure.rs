//! Failures of a command: message, causes, hint and exit code.

use core::error::Error;
use std::process::ExitCode;

use endseal_bench::words::tame;
use endseal_node::FileError;

/// Kind of a failure; each has its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The command worked and the answer is no: figures were skipped, or a file is not a record.
    Refused = 1,
    /// The arguments are invalid or contradict each other.
    Usage = 2,
    /// A file cannot be read or written, or a program is missing.
    Environment = 3,
}

/// Reason why a command did not do its work.
#[derive(Debug)]
pub(crate) struct Failure {
    kind: Kind,
    text: String,
}

impl Failure {
    pub(crate) fn new(kind: Kind, message: impl AsRef<str>) -> Self {
        Self { kind, text: format!("error: {}\n", tame(message.as_ref())) }
    }

    pub(crate) fn usage(message: impl AsRef<str>) -> Self {
        Self::new(Kind::Usage, message)
    }

    /// Adds an error and all its sources as causes.
    pub(crate) fn because(mut self, error: &dyn Error) -> Self {
        let mut next = Some(error);
        while let Some(error) = next {
            self.text += &format!("  because: {}\n", tame(&error.to_string()));
            next = error.source();
        }
        self
    }

    pub(crate) fn hint(mut self, hint: impl AsRef<str>) -> Self {
        self.text += &format!("hint: {}\n", tame(hint.as_ref()));
        self
    }

    pub(crate) fn code(&self) -> ExitCode {
        ExitCode::from(self.kind as u8)
    }

    /// Returns the failure as text for people. Control characters in foreign text are escaped.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        Self::new(Kind::Environment, "a file of the results cannot be written").because(&error)
    }
}
