//! Errors of files.

use core::{error, fmt};
use std::io;
use std::path::{Path, PathBuf};

/// Why a file was not read or written. It is absent or as it was.
#[derive(Debug)]
#[non_exhaustive]
pub enum FileError {
    /// There is one already.
    Exists(PathBuf),
    /// The file system refused.
    Io {
        /// The verb: "read", "create", "write".
        action: &'static str,
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Group or others can read or write it.
    Loose {
        /// Which file or folder.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// A folder or a device.
    NotARegularFile(PathBuf),
    /// Longer than such a file can be.
    TooLong {
        /// Which file.
        path: PathBuf,
        /// Most bytes that it may have.
        limit: u64,
    },
}

impl FileError {
    /// From an error of the file system.
    #[must_use]
    pub fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        if source.kind() == io::ErrorKind::AlreadyExists {
            return Self::Exists(path.to_owned());
        }
        Self::Io { action, path: path.to_owned(), source }
    }

    /// Returns true if the file does not exist.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exists(path) => write!(f, "'{}' exists already", path.display()),
            Self::Io { action, path, .. } => write!(f, "cannot {action} '{}'", path.display()),
            Self::Loose { path, mode } => write!(
                f,
                "others than its owner can use '{}' (mode {:04o})",
                path.display(),
                mode & 0o7777
            ),
            Self::NotARegularFile(path) => {
                write!(f, "'{}' is not a regular file", path.display())
            }
            Self::TooLong { path, limit } => {
                write!(f, "'{}' is longer than {limit} bytes", path.display())
            }
        }
    }
}

impl error::Error for FileError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
