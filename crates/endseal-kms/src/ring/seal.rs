//! A ring under a passphrase.

use base64ct::{Base64, Encoding as _};
use endseal_crypto::argon2id::{KdfParams, NoMemory};
use endseal_crypto::label;
use endseal_crypto::random::{Random, RandomError};
use endseal_crypto::segment::InputKey;
use endseal_keyring::Passphrase;
use endseal_keyring::protection::{self, OpenSecretError, ParseProtectionError, Protection};

use super::Ring;
use super::text::{FIRST, Lines, PROTECTION, ParseRingError, keys};

const SEALED: &str = "sealed ";

/// A sealed file whose form is right; only the passphrase can show that it is authentic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedRing {
    header: Box<str>,
    protection: Protection,
    sealed: Box<[u8]>,
}

impl SealedRing {
    pub(super) fn parse(protection: &str, mut lines: Lines<'_>) -> Result<Self, ParseRingError> {
        let protection = Protection::parse(protection).map_err(|error| match error {
            ParseProtectionError::Kdf(error) => ParseRingError::Kdf(error),
            _ => lines.form(),
        })?;
        let header = lines.before().into();
        let sealed = Base64::decode_vec(lines.field(SEALED)?).map_err(|_| lines.form())?;
        if !lines.at_end() {
            return Err(ParseRingError::Form { line: lines.line + 1 });
        }
        Ok(Self { header, protection, sealed: sealed.into() })
    }

    /// Returns the cost of one guess of the passphrase.
    #[must_use]
    pub fn params(&self) -> KdfParams {
        self.protection.params()
    }

    /// Opens the ring. It takes as long as [`Self::params`] say.
    ///
    /// # Errors
    /// [`OpenRingError`].
    pub fn open(&self, passphrase: &Passphrase) -> Result<Ring, OpenRingError> {
        let label = label::S3_KEY_RING_FILE;
        let text = self.protection.open_secret(passphrase, label, &self.header, &self.sealed)?;
        Lines::inner(&text).and_then(keys).map_err(OpenRingError::Parse)
    }
}

/// Reason why a sealed ring does not open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenRingError {
    /// The passphrase is wrong or the file was changed.
    #[error("the passphrase is wrong or the key ring was changed")]
    Authentication,
    /// The memory that the file asks for could not be had.
    #[error("not enough memory for Argon2id with these parameters")]
    NoMemory,
    /// The content that was sealed is no ring: its writer made a mistake.
    #[error("in the sealed keys: {0}")]
    Parse(ParseRingError),
}

impl From<OpenSecretError> for OpenRingError {
    fn from(error: OpenSecretError) -> Self {
        match error {
            OpenSecretError::NoMemory => Self::NoMemory,
            _ => Self::Authentication,
        }
    }
}

impl Ring {
    /// The file of this ring, sealed under a passphrase with fresh salts. It takes as long as
    /// `params` say.
    ///
    /// # Errors
    /// [`SealRingError`].
    pub fn seal(
        &self,
        passphrase: &Passphrase,
        params: KdfParams,
        random: &mut impl Random,
    ) -> Result<String, SealRingError> {
        let protection = Protection::generate(params, random)?;
        self.seal_under(passphrase, &protection, |key, secret| {
            Ok(protection::seal_secret(key, secret, random)?)
        })
    }

    /// The file under that protection, its secret sealed by `seal_secret`.
    pub(super) fn seal_under(
        &self,
        passphrase: &Passphrase,
        protection: &Protection,
        seal_secret: impl FnOnce(&InputKey, &[u8]) -> Result<Vec<u8>, SealRingError>,
    ) -> Result<String, SealRingError> {
        let header = format!("{FIRST}{PROTECTION}{protection}\n");
        let key = protection.file_key(passphrase, label::S3_KEY_RING_FILE, &header)?;
        let sealed = seal_secret(&key, self.key_lines().as_bytes())?;
        Ok(format!("{header}{SEALED}{}\n", Base64::encode_string(&sealed)))
    }
}

/// Reason why a ring could not be sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SealRingError {
    /// The memory that the parameters ask for could not be had.
    #[error("not enough memory for Argon2id with these parameters")]
    NoMemory,
    /// The source of randomness failed.
    #[error("the source of randomness failed")]
    Random,
}

impl From<NoMemory> for SealRingError {
    fn from(_: NoMemory) -> Self {
        Self::NoMemory
    }
}

impl From<RandomError> for SealRingError {
    fn from(_: RandomError) -> Self {
        Self::Random
    }
}
