//! The identities of the state directory: root and device.

use core::{error, fmt};
use std::path::PathBuf;

use endseal_keyring::IdentityFile;
use endseal_keyring::identity_file::{MAX_LEN, ParseIdentityFileError};

use crate::atomic::{Existing, Readers, write_file};
use crate::error::FileError;
use crate::home::{Home, HomeLock, keep_aside, read_private};

/// Name of the root's identity file.
const ROOT: &str = "identity.endseal";
/// Name of the device's identity file.
const DEVICE: &str = "device.endseal";

impl Home {
    /// Where the identity file is.
    #[must_use]
    pub fn identity_path(&self) -> PathBuf {
        self.file(ROOT)
    }

    /// Where the device file is.
    #[must_use]
    pub fn device_path(&self) -> PathBuf {
        self.file(DEVICE)
    }

    /// Reads the identity file, which holds the root.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub fn identity(&self) -> Result<IdentityFile, IdentityError> {
        read(self.identity_path())
    }

    /// Reads the device file, which holds the identity of this device: peer id and store key follow
    /// from it.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub fn device(&self) -> Result<IdentityFile, IdentityError> {
        read(self.device_path())
    }

    /// Writes the device file. An old one is kept under the name that is given back.
    pub(crate) fn store_device(
        &self,
        device: &IdentityFile,
        _lock: &HomeLock,
    ) -> Result<Option<PathBuf>, FileError> {
        let path = self.device_path();
        let aside = keep_aside(&path)?;
        write_file(&path, device.as_bytes(), Existing::Replace, Readers::Owner)?;
        Ok(aside)
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

fn read(path: PathBuf) -> Result<IdentityFile, IdentityError> {
    let Some(content) = read_private(&path, MAX_LEN)? else {
        return Err(IdentityError::Missing(path));
    };
    IdentityFile::parse(&content).map_err(|error| IdentityError::Parse { path, error })
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
