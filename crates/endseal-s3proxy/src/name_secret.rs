//! The file with the secret that names are encrypted under (docs/spec/s3-object.md, "Name secret").

use core::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use endseal_crypto::random::{Random, RandomError};
use endseal_kms::key_file;
use endseal_s3_format::names::{MAX_SECRET_TEXT, NameSecret, NameSecretError};

/// The file of a name secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameSecretFile(PathBuf);

impl NameSecretFile {
    /// The file at `path`, which need not exist.
    #[must_use]
    pub fn at(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// Draws a secret and writes it to a new file, mode 0600. When it returns, the file is on the
    /// disk.
    ///
    /// # Errors
    /// [`CreateNameSecretError::Exists`] if there is something of that name already.
    pub fn create(&self, random: &mut impl Random) -> Result<NameSecret, CreateNameSecretError> {
        let secret = NameSecret::try_init_with(|out| random.fill(out))?;
        key_file::create(&self.0, &secret.to_text()).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => CreateNameSecretError::Exists,
            _ => CreateNameSecretError::Io(error),
        })?;
        Ok(secret)
    }

    /// Reads the secret.
    ///
    /// # Errors
    /// [`LoadNameSecretError`].
    pub fn load(&self) -> Result<NameSecret, LoadNameSecretError> {
        let file = File::open(&self.0).map_err(LoadNameSecretError::Io)?;
        let bytes = key_file::read(&file, MAX_SECRET_TEXT).map_err(LoadNameSecretError::Io)?;
        NameSecret::parse(&bytes).map_err(LoadNameSecretError::Parse)
    }
}

/// Why there is no new file.
#[derive(Debug)]
#[non_exhaustive]
pub enum CreateNameSecretError {
    /// Something of that name is there. It was not touched.
    Exists,
    /// The file system's.
    Io(io::Error),
    /// The source of randomness failed.
    Random,
}

impl From<RandomError> for CreateNameSecretError {
    fn from(_: RandomError) -> Self {
        Self::Random
    }
}

impl fmt::Display for CreateNameSecretError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exists => f.write_str("there is a file of that name already"),
            Self::Io(error) => write!(f, "the name secret could not be written: {error}"),
            Self::Random => f.write_str("the source of randomness failed"),
        }
    }
}

impl core::error::Error for CreateNameSecretError {}

/// Why a secret could not be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum LoadNameSecretError {
    /// The file system's.
    Io(io::Error),
    /// It is no name secret.
    Parse(NameSecretError),
}

impl fmt::Display for LoadNameSecretError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "the name secret could not be read: {error}"),
            Self::Parse(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for LoadNameSecretError {}
