//! Inputs and outputs of commands: standard streams, and files that appear complete or not at all.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use endseal_node::{AtomicFile, Existing, FileError, Readers};

use crate::ctx::Ctx;
use crate::failure::{Failure, Kind};

/// Argument that stands for a standard stream.
pub(crate) const DASH: &str = "-";

/// Input of a command, and its length in bytes if it is known.
pub(crate) struct Input {
    pub(crate) reader: Box<dyn Read + Send>,
    pub(crate) len: Option<u64>,
}

impl Input {
    /// Opens a file. Uses standard input for `None` and `-`.
    pub(crate) fn open(path: Option<&Path>, ctx: &mut Ctx) -> Result<Self, Failure> {
        let Some(path) = path.filter(|path| path.as_os_str() != DASH) else {
            if ctx.stdin_is_terminal {
                ctx.note("reading from the terminal; end with ^D");
            }
            let reader = core::mem::replace(&mut ctx.stdin, Box::new(io::empty()));
            return Ok(Self { reader, len: None });
        };
        ctx.detail(&format!("reading '{}'", path.display()));
        let failed = |source| FileError::io("read", path, source);
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(folder(path));
        }
        let len = Some(metadata.len()).filter(|_| metadata.is_file());
        Ok(Self { reader: Box::new(file), len })
    }
}

/// Makes the failure for a folder that is given where content belongs.
fn folder(path: &Path) -> Failure {
    let shown = path.display();
    Failure::new(Kind::Environment, format!("'{shown}' is a folder"))
        .hint(format!("pack it, and give the command no file name: tar c '{shown}' | endseal ..."))
}

/// Creates a folder and its parents, unless it exists.
pub(crate) fn make_folder(path: &Path) -> Result<(), FileError> {
    fs::create_dir_all(path).map_err(|error| {
        let is_file = error.kind() == io::ErrorKind::AlreadyExists;
        let error = if is_file { io::ErrorKind::NotADirectory.into() } else { error };
        FileError::io("use the folder", path, error)
    })
}

/// Output of a command.
pub(crate) enum Output {
    File {
        file: AtomicFile,
        /// Path as it was given in the arguments.
        path: PathBuf,
    },
    Stdout(Stdout),
}

impl Output {
    /// Opens a file, or standard output for `None` and `-`. This is done before any other work, so
    /// that an existing file is refused early.
    pub(crate) fn create(
        path: Option<&Path>,
        force: bool,
        terminal: AtTerminal,
        ctx: &mut Ctx,
    ) -> Result<Self, Failure> {
        let existing = if force { Existing::Replace } else { Existing::Keep };
        match path {
            Some(path) if path.as_os_str() != DASH => {
                ctx.detail(&format!("writing '{}'", path.display()));
                let file = AtomicFile::create(path, existing, Readers::Umask)?;
                Ok(Self::File { file, path: path.to_owned() })
            }
            explicit => {
                // `-o -` is an explicit choice.
                let guarded = ctx.stdout_is_terminal && explicit.is_none();
                if guarded && terminal == AtTerminal::Refuse {
                    return Err(binary());
                }
                let inner = core::mem::replace(&mut ctx.stdout, Box::new(io::sink()));
                Ok(Self::Stdout(Stdout { inner, guarded, last: 0 }))
            }
        }
    }

    /// Returns true for standard output.
    pub(crate) fn is_stdout(&self) -> bool {
        matches!(self, Self::Stdout(_))
    }

    /// Returns the path of the file as it was given; `None` for standard output.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        match self {
            Self::File { path, .. } => Some(path.clone()),
            Self::Stdout(_) => None,
        }
    }

    /// Gives the file its name, and makes the name survive a power failure.
    pub(crate) fn commit_durably(self) -> Result<(), Failure> {
        match self {
            Self::File { file, .. } => Ok(file.commit_durably()?),
            Self::Stdout(_) => Ok(()),
        }
    }

    /// Gives the file its name. Does nothing for standard output.
    pub(crate) fn commit(self) -> Result<(), Failure> {
        match self {
            Self::File { file, .. } => Ok(file.commit()?),
            Self::Stdout(_) => Ok(()),
        }
    }
}

impl Write for Output {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        match self {
            Self::File { file, .. } => file.write(data),
            Self::Stdout(stdout) => stdout.write(data),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File { file, .. } => file.flush(),
            Self::Stdout(stdout) => stdout.inner.flush(),
        }
    }
}

/// Behaviour if standard output is a terminal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum AtTerminal {
    /// Binary output is refused.
    Refuse,
    /// Only text is written. Other content is refused.
    TextOnly,
}

/// Standard output. If it is a terminal, only text is written to it.
pub(crate) struct Stdout {
    inner: Box<dyn Write>,
    guarded: bool,
    /// Last byte that was written: a harmful sequence may be split in two writes.
    last: u8,
}

impl Write for Stdout {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        if self.guarded && !is_harmless(self.last, data) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, NotText));
        }
        let len = self.inner.write(data)?;
        self.last = data[..len].last().copied().unwrap_or(self.last);
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Returns true if no byte could control a terminal. Harmful are the control characters of ASCII
/// except white space, and those that UTF-8 encodes as `c2 80` to `c2 9f`.
fn is_harmless(mut before: u8, data: &[u8]) -> bool {
    data.iter().all(|byte| {
        let harmless = match byte {
            b'\t' | b'\n' | b'\r' | b' '..=b'~' | 0xa0.. => true,
            0x80..0xa0 => before != 0xc2,
            _ => false,
        };
        before = *byte;
        harmless
    })
}

/// Error for content that is not text on a terminal.
#[derive(Debug)]
pub(crate) struct NotText;

impl core::fmt::Display for NotText {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the content is not text, and standard output is a terminal")
    }
}

impl core::error::Error for NotText {}

/// Makes the failure for binary data on a terminal.
pub(crate) fn binary() -> Failure {
    Failure::usage("binary data is not written to a terminal")
        .hint("name a file with -o FILE, redirect with > FILE, or insist with -o -")
}

#[cfg(test)]
mod tests {
    use super::is_harmless;

    #[test]
    fn what_commands_a_terminal_is_not_harmless() {
        assert!(is_harmless(0, "a line\r\n\tand \u{e9}, \u{1f43b}\n".as_bytes()));
        for bad in ["\u{1b}[2J", "\0", "\u{7f}", "\u{9b}2J", "\u{8}"] {
            let bytes = bad.as_bytes();
            assert!(!is_harmless(0, bytes), "{bad:?}");
            let (first, rest) = bytes.split_first().unwrap();
            let halves = is_harmless(0, &[*first]) && is_harmless(*first, rest);
            assert!(!halves, "{bad:?} in two writes");
        }
    }
}
