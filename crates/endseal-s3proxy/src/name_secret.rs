//! File with the secret that encrypts object names (docs/spec/s3-object.md, "Name secret").

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use endseal_crypto::random::{Random, RandomError};
use endseal_kms::key_file;
use endseal_s3_format::names::{MAX_SECRET_TEXT, NameSecret, NameSecretError};

/// File of a name secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameSecretFile(PathBuf);

impl NameSecretFile {
    /// Refers to the file at `path`, which need not exist.
    #[must_use]
    pub fn at(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// Generates a secret and writes it to a new file with mode 0600. The file has been written to
    /// disk when this returns.
    ///
    /// # Errors
    /// [`CreateNameSecretError::Exists`] if the path already exists; other variants if writing or
    /// the random source fails.
    pub fn create(&self, random: &mut impl Random) -> Result<NameSecret, CreateNameSecretError> {
        let secret = NameSecret::try_init_with(|out| random.fill(out))?;
        key_file::create(&self.0, &secret.to_text()).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => CreateNameSecretError::Exists,
            _ => CreateNameSecretError::Io(error),
        })?;
        Ok(secret)
    }

    /// Reads the secret from the file.
    ///
    /// # Errors
    /// [`LoadNameSecretError`] if the file cannot be read or contains no name secret.
    pub fn load(&self) -> Result<NameSecret, LoadNameSecretError> {
        let file = File::open(&self.0).map_err(LoadNameSecretError::Io)?;
        let bytes = key_file::read(&file, MAX_SECRET_TEXT).map_err(LoadNameSecretError::Io)?;
        NameSecret::parse(&bytes).map_err(LoadNameSecretError::Parse)
    }
}

/// Reason why no file was created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CreateNameSecretError {
    /// The path already exists and was not changed.
    #[error("a file with this name already exists")]
    Exists,
    /// The file could not be written.
    #[error("the name secret could not be written: {0}")]
    Io(io::Error),
    /// The operating system returned no random bytes.
    #[error("the source of randomness failed")]
    Random,
}

impl From<RandomError> for CreateNameSecretError {
    fn from(_: RandomError) -> Self {
        Self::Random
    }
}

/// Reason why a secret could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadNameSecretError {
    /// The file could not be read.
    #[error("the name secret could not be read: {0}")]
    Io(io::Error),
    /// The file contains no valid name secret.
    #[error("{0}")]
    Parse(NameSecretError),
}
