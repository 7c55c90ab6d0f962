//! Failures of a command: message, causes, hint and exit code.

use core::error::Error;
use core::fmt::Write as _;
use std::process::ExitCode;

use endseal_bench::words::tame;
use endseal_node::FileError;

/// Kind of a failure; each has its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The command worked and the answer is no: figures were skipped, or a file is not a record.
    Refused,
    /// The arguments are invalid or contradict each other.
    Usage,
    /// A file cannot be read or written, or a program is missing.
    Environment,
}

impl Kind {
    pub(crate) fn code(self) -> ExitCode {
        match self {
            Self::Refused => 1.into(),
            Self::Usage => 2.into(),
            Self::Environment => 3.into(),
        }
    }
}

/// Reason why a command did not do its work.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) kind: Kind,
    message: String,
    causes: Vec<String>,
    hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), causes: Vec::new(), hint: None }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, message)
    }

    /// Adds an error and all its sources as causes.
    pub(crate) fn because(mut self, error: &dyn Error) -> Self {
        let mut next = Some(error);
        while let Some(error) = next {
            self.causes.push(error.to_string());
            next = error.source();
        }
        self
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Formats the failure for people. Control characters in foreign text are escaped.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("error: {}\n", tame(&self.message));
        // Writing to a string cannot fail.
        for cause in &self.causes {
            let _ = writeln!(text, "  because: {}", tame(cause));
        }
        if let Some(hint) = &self.hint {
            let _ = writeln!(text, "hint: {}", tame(hint));
        }
        text
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        let own = Self::new(Kind::Environment, error.to_string());
        match error.source() {
            Some(source) => own.because(source),
            None => own,
        }
    }
}
