//! Errors of file operations.

use core::{error, fmt};
use std::io;
use std::path::{Path, PathBuf};

/// Reason why a file was not read or written. The file is absent or unchanged.
#[derive(Debug)]
#[non_exhaustive]
pub enum FileError {
    /// A file with this path exists already, and must not be replaced.
    Exists(PathBuf),
    /// The file system reported a failure.
    Io {
        /// The operation as a verb, for example "read", "create" or "write".
        action: &'static str,
        /// Path of the file or folder.
        path: PathBuf,
        /// The failure that the file system reported.
        source: io::Error,
    },
    /// Group or others have permissions on a private file or folder.
    Loose {
        /// Path of the file or folder.
        path: PathBuf,
        /// Its permissions, as `st_mode`.
        mode: u32,
    },
    /// The path is not a regular file but, for example, a folder or a device.
    NotARegularFile(PathBuf),
    /// The file is longer than a file of its kind can be.
    TooLong {
        /// Path of the file.
        path: PathBuf,
        /// Limit in bytes.
        limit: u64,
    },
}

impl FileError {
    /// Makes an error from a failure of the file system. `action` is a verb. A failure of kind
    /// `AlreadyExists` becomes [`Self::Exists`].
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
                "'{}' is accessible to other users (mode {:04o})",
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
