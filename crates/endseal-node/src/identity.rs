//! Identity files of the state directory: that of the root and that of the device.

use core::{error, fmt};
use std::path::PathBuf;

use endseal_keyring::IdentityFile;
use endseal_keyring::identity_file::{MAX_LEN, ParseIdentityFileError};

use crate::atomic::{Existing, Readers, write_file};
use crate::error::FileError;
use crate::home::{Home, HomeLock, keep_aside, read_private};

/// File name of the root identity.
const ROOT: &str = "identity.endseal";
/// File name of the device identity.
const DEVICE: &str = "device.endseal";

impl Home {
    /// Returns the path of the root's identity file, which need not exist.
    #[must_use]
    pub fn identity_path(&self) -> PathBuf {
        self.file(ROOT)
    }

    /// Returns the path of the device's identity file, which need not exist.
    #[must_use]
    pub fn device_path(&self) -> PathBuf {
        self.file(DEVICE)
    }

    /// Reads the identity file of the root.
    ///
    /// # Errors
    /// Returns [`IdentityError`] if the file is missing, damaged or accessible to others.
    pub fn identity(&self) -> Result<IdentityFile, IdentityError> {
        read(self.identity_path())
    }

    /// Reads the identity file of this device. The peer id and the store key are derived from it.
    ///
    /// # Errors
    /// Returns [`IdentityError`] if the file is missing, damaged or accessible to others.
    pub fn device(&self) -> Result<IdentityFile, IdentityError> {
        read(self.device_path())
    }

    /// Writes the device's identity file. An existing file is kept under the path that is returned.
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

    /// Replaces the identity file by one of the same identity under another passphrase. The file
    /// before is not kept: it would open with the old passphrase.
    ///
    /// # Errors
    /// [`IdentityError`] if the file is of another identity now, or cannot be read or written; it
    /// is the old one then.
    pub fn reseal_identity(
        &self,
        identity: &IdentityFile,
        _lock: &HomeLock,
    ) -> Result<(), IdentityError> {
        reseal(self.identity_path(), identity)
    }

    /// [`Self::reseal_identity`] for the device file.
    ///
    /// # Errors
    /// [`IdentityError`] if the file is of another device now, or cannot be read or written; it is
    /// the old one then.
    pub fn reseal_device(
        &self,
        device: &IdentityFile,
        _lock: &HomeLock,
    ) -> Result<(), IdentityError> {
        reseal(self.device_path(), device)
    }

    /// Writes the root's identity file. With [`Existing::Replace`], an existing file is kept under
    /// the path that is returned.
    ///
    /// # Errors
    /// Returns [`IdentityError::File`] if the file exists and must be kept, or cannot be written.
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

/// The caller has the lock, under which the file is compared: a renewal of the device, or another
/// identity, may have taken its place while a passphrase was typed.
fn reseal(path: PathBuf, file: &IdentityFile) -> Result<(), IdentityError> {
    let present = read(path.clone())?;
    if present.public() != file.public() {
        return Err(IdentityError::Replaced(path));
    }
    Ok(write_file(&path, file.as_bytes(), Existing::Replace, Readers::Owner)?)
}

pub(crate) fn read(path: PathBuf) -> Result<IdentityFile, IdentityError> {
    let Some(content) = read_private(&path, MAX_LEN)? else {
        return Err(IdentityError::Missing(path));
    };
    IdentityFile::parse(&content).map_err(|error| IdentityError::Parse { path, error })
}

/// Reason why an identity file was not read or written.
#[derive(Debug)]
#[non_exhaustive]
pub enum IdentityError {
    /// The file cannot be read or written.
    File(FileError),
    /// There is no identity file at this path.
    Missing(PathBuf),
    /// The file at this path is of another identity than before.
    Replaced(PathBuf),
    /// The file is damaged, or not an identity file.
    Parse {
        /// Path of the damaged file.
        path: PathBuf,
        /// Fault in the file.
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
            Self::Replaced(path) => {
                write!(f, "another command has replaced '{}' meanwhile", path.display())
            }
            Self::Parse { path, .. } => write!(f, "cannot use '{}'", path.display()),
        }
    }
}

impl error::Error for IdentityError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::File(error) => error.source(),
            Self::Missing(_) | Self::Replaced(_) => None,
            Self::Parse { error, .. } => Some(error),
        }
    }
}
