//! The identity of the state directory.

use core::{error, fmt};
use std::path::PathBuf;

use endseal_crypto::identity::Identity;
use endseal_crypto::random::Random;
use endseal_keyring::identity_file::{
    MAX_LEN, OpenIdentityFileError, ParseIdentityFileError, SealIdentityFileError,
};
use endseal_keyring::{IdentityFile, KdfParams, Passphrase};

use crate::atomic::{Existing, Readers, write_file};
use crate::error::FileError;
use crate::home::{Home, HomeLock, keep_aside, read_private};

/// Name of the identity file.
const NAME: &str = "identity.endseal";
/// Stands where a person wants no passphrase. It is public: only permissions protect such a file.
const NO_PASSPHRASE: &str = "endseal without passphrase";

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

/// An identity file that opens without a passphrase.
///
/// # Errors
/// Those of [`IdentityFile::seal`].
pub fn seal_without_passphrase(
    identity: &Identity,
    random: &mut impl Random,
) -> Result<IdentityFile, SealIdentityFileError> {
    IdentityFile::seal(identity, &no_passphrase(), KdfParams::MINIMUM, random)
}

/// Opens an identity file that was sealed without a passphrase. `None` if it has one.
///
/// # Errors
/// Those of [`IdentityFile::open`], but for a wrong passphrase.
pub fn open_without_passphrase(
    file: &IdentityFile,
) -> Result<Option<Identity>, OpenIdentityFileError> {
    if file.params() != KdfParams::MINIMUM {
        return Ok(None);
    }
    match file.open(&no_passphrase()) {
        Err(OpenIdentityFileError::Authentication) => Ok(None),
        other => other.map(Some),
    }
}

#[allow(clippy::expect_used)]
fn no_passphrase() -> Passphrase {
    Passphrase::new(NO_PASSPHRASE).expect("a constant that is not empty, short and printable")
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
        /// What is wrong with it.
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
