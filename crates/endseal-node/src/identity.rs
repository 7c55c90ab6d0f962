//! The identity of the state directory.

use core::{error, fmt};
use std::path::PathBuf;

use endseal_keyring::IdentityFile;
use endseal_keyring::identity_file::{MAX_LEN, ParseIdentityFileError};

use crate::atomic::{Existing, Readers, write_file};
use crate::error::FileError;
use crate::home::{Home, HomeLock, keep_aside, read_private};

/// Name of the identity file.
const NAME: &str = "identity.endseal";

impl Home {
    /// Where the identity file is.
    #[must_use]
    pub fn identity_path(&self) -> PathBuf {
        self.file(NAME)
    }

    /// Reads the identity file.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub fn identity(&self) -> Result<IdentityFile, IdentityError> {
        let path = self.identity_path();
        let Some(content) = read_private(&path, MAX_LEN)? else {
            return Err(IdentityError::Missing(path));
        };
        IdentityFile::parse(&content).map_err(|error| IdentityError::Parse { path, error })
    }

    /// Writes the identity file. If it may replace one, the old one is kept under the name that is
    /// given back.
    ///
    /// # Errors
    /// [`IdentityError::File`].
    pub fn store_identity(
        &self,
        identity: &IdentityFile,
        existing: Existing,
        _lock: &HomeLock,
    ) -> Result<Option<PathBuf>, IdentityError> {
        let path = self.identity_path();
        let aside = match existing {
            Existing::Keep => None,
            Existing::Replace => keep_aside(&path)?,
        };
        write_file(&path, identity.as_bytes(), existing, Readers::Owner)?;
        Ok(aside)
    }
}

/// Why there is no identity.
#[derive(Debug)]
#[non_exhaustive]
pub enum IdentityError {
    /// The file cannot be read or written.
    File(FileError),
    /// There is none yet.
    Missing(PathBuf),
    /// The file is damaged, or not an identity file.
    Parse {
        /// Which file.
        path: PathBuf,
        /// Fault of the file.
        error: ParseIdentityFileError,
    },
}

impl From<FileError> for IdentityError {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

impl fmt::Display for IdentityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => error.fmt(f),
            Self::Missing(path) => write!(f, "there is no identity '{}'", path.display()),
            Self::Parse { path, .. } => write!(f, "cannot use '{}'", path.display()),
        }
    }
}

impl error::Error for IdentityError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::File(error) => error.source(),
            Self::Missing(_) => None,
            Self::Parse { error, .. } => Some(error),
        }
    }
}
