//! Errors of an identity file.

use core::fmt;

use endseal_crypto::random::RandomError;

use crate::identity_text::ParseIdentityError;
use crate::lines::{Malformed, OpenLinesError};
use crate::protection::OpenSecretError;
use endseal_crypto::argon2id::{InvalidKdfParams, NoMemory};

/// Reason why bytes are not an identity file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseIdentityFileError {
    /// The work that the file asks for is out of bounds. None was done.
    Kdf(InvalidKdfParams),
    /// The file is damaged, cut, extended, or no identity file at all.
    Malformed(Malformed),
    /// The public identity in it is not one.
    Public(ParseIdentityError),
    /// The file is longer than [`MAX_LEN`](super::MAX_LEN) bytes.
    TooLong,
    /// The file was written by a newer version of the program.
    Version,
}

/// Reason why an identity file does not open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenIdentityFileError {
    /// The passphrase is wrong or the file was changed.
    Authentication,
    /// The memory that the file asks for could not be had.
    NoMemory,
    /// The seeds are not those of the public identity in the file: it was made to deceive.
    OtherIdentity,
}

/// Reason why an identity file could not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SealIdentityFileError {
    /// The memory that the parameters ask for could not be had.
    NoMemory,
    /// The source of randomness failed.
    Random,
}

impl From<OpenLinesError> for ParseIdentityFileError {
    fn from(error: OpenLinesError) -> Self {
        match error {
            OpenLinesError::Malformed(malformed) => Self::Malformed(malformed),
            OpenLinesError::Version => Self::Version,
        }
    }
}

impl From<Malformed> for ParseIdentityFileError {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

impl From<ParseIdentityError> for ParseIdentityFileError {
    fn from(error: ParseIdentityError) -> Self {
        Self::Public(error)
    }
}

impl From<InvalidKdfParams> for ParseIdentityFileError {
    fn from(error: InvalidKdfParams) -> Self {
        Self::Kdf(error)
    }
}

impl From<OpenSecretError> for OpenIdentityFileError {
    fn from(error: OpenSecretError) -> Self {
        match error {
            OpenSecretError::Authentication => Self::Authentication,
            OpenSecretError::NoMemory => Self::NoMemory,
        }
    }
}

impl From<NoMemory> for SealIdentityFileError {
    fn from(_: NoMemory) -> Self {
        Self::NoMemory
    }
}

impl From<RandomError> for SealIdentityFileError {
    fn from(_: RandomError) -> Self {
        Self::Random
    }
}

impl fmt::Display for ParseIdentityFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kdf(error) => write!(f, "the identity file asks for {error}"),
            Self::Malformed(malformed) => write!(f, "not an identity file: {malformed}"),
            Self::Public(error) => write!(f, "the identity file's public identity: {error}"),
            Self::TooLong => f.write_str("too long for an identity file"),
            Self::Version => f.write_str("the identity file has an unknown version"),
        }
    }
}

impl core::error::Error for ParseIdentityFileError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Kdf(error) => Some(error),
            Self::Malformed(malformed) => Some(malformed),
            Self::Public(error) => Some(error),
            Self::TooLong | Self::Version => None,
        }
    }
}

impl fmt::Display for OpenIdentityFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Authentication => "the passphrase is wrong or the identity file was changed",
            Self::NoMemory => NO_MEMORY,
            Self::OtherIdentity => "the identity file holds the keys of another identity",
        })
    }
}

impl core::error::Error for OpenIdentityFileError {}

impl fmt::Display for SealIdentityFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoMemory => f.write_str(NO_MEMORY),
            Self::Random => f.write_str("the source of randomness failed"),
        }
    }
}

impl core::error::Error for SealIdentityFileError {}

const NO_MEMORY: &str = "not enough memory for Argon2id with these parameters";
