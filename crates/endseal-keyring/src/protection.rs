//! Protection of a secret in a file of text by a passphrase: a line with Argon2id's parameters and
//! salt, and one message of C2SP chunked encryption. Identity files and key rings have it in
//! common; the label and the lines before the secret are their own.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use base64ct::{Base64, Encoding as _};
use endseal_crypto::argon2id::{self, InvalidKdfParams, KdfParams, NoMemory, Stretched};
use endseal_crypto::label::Label;
use endseal_crypto::random::{Random, RandomError};
use endseal_crypto::secret::Zeroizing;
use endseal_crypto::segment::{self, InputKey, KeySource, SliceSealer};
use endseal_crypto::{hash, hazmat};

use crate::numerals::decimal;
use crate::passphrase::Passphrase;

const ARGON2ID: &str = "argon2id";

/// Cost of one guess of a passphrase, and the salt: `argon2id <KiB> <passes> <lanes> <salt>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protection {
    params: KdfParams,
    salt: [u8; argon2id::SALT_LEN],
}

impl Protection {
    /// A protection with those parameters and a fresh random salt.
    ///
    /// # Errors
    /// [`RandomError`] if the source fails.
    pub fn generate(params: KdfParams, random: &mut impl Random) -> Result<Self, RandomError> {
        let mut salt = [0; argon2id::SALT_LEN];
        random.fill(&mut salt)?;
        Ok(Self { params, salt })
    }

    /// [`Self::generate`] with a given salt, exported under `hazmat`.
    pub(crate) const fn with_salt(params: KdfParams, salt: [u8; argon2id::SALT_LEN]) -> Self {
        Self { params, salt }
    }

    /// Reads what `Display` writes, and nothing else.
    ///
    /// # Errors
    /// [`ParseProtectionError`]. No work was done that the text asks for.
    pub fn parse(text: &str) -> Result<Self, ParseProtectionError> {
        let (params, salt) = fields(text).ok_or(ParseProtectionError::Form)?;
        let params =
            KdfParams::new(params[0], params[1], params[2]).map_err(ParseProtectionError::Kdf)?;
        Ok(Self { params, salt })
    }

    /// Returns the cost of one guess of the passphrase.
    #[must_use]
    pub fn params(&self) -> KdfParams {
        self.params
    }

    /// `BLAKE3-derive(label, Argon2id(passphrase, salt) || header)`, with the lines before the
    /// secret as the header. It takes as long as [`Self::params`] say.
    ///
    /// # Errors
    /// [`NoMemory`].
    pub fn file_key(
        &self,
        passphrase: &Passphrase,
        label: Label,
        header: &str,
    ) -> Result<InputKey, NoMemory> {
        self.key_of(passphrase.expose_secret(), label, header)
    }

    /// Opens a secret of [`seal_secret`]. If the passphrase was not entered in its normal form and
    /// the secret does not open under that, the text as it was entered is tried: this takes the
    /// time of [`Self::params`] once more.
    ///
    /// # Errors
    /// [`OpenSecretError`].
    pub fn open_secret(
        &self,
        passphrase: &Passphrase,
        label: Label,
        header: &str,
        sealed: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, OpenSecretError> {
        for form in passphrase.expose_forms() {
            let key = self.key_of(form, label, header)?;
            if let Ok(secret) = segment::open(&key, &[], sealed) {
                return Ok(Zeroizing::new(secret));
            }
        }
        Err(OpenSecretError::Authentication)
    }

    fn key_of(&self, bytes: &[u8], label: Label, header: &str) -> Result<InputKey, NoMemory> {
        let stretched = self.stretch(bytes)?;
        Ok(InputKey::init_with(|out| {
            let parts: [&[u8]; 2] = [stretched.expose_secret(), header.as_bytes()];
            hash::derive_into(label, &parts, out);
        }))
    }

    pub(crate) fn stretch(&self, passphrase: &[u8]) -> Result<Stretched, NoMemory> {
        self.params.stretch(passphrase, &self.salt)
    }
}

impl fmt::Display for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (m, t, p) = (self.params.memory_kib(), self.params.passes(), self.params.lanes());
        write!(f, "{ARGON2ID} {m} {t} {p} {}", Base64::encode_string(&self.salt))
    }
}

/// Reason why a text is no protection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseProtectionError {
    /// The text is damaged, cut or extended: it does not have the form of a protection.
    Form,
    /// The work that it asks for is out of bounds.
    Kdf(InvalidKdfParams),
}

impl fmt::Display for ParseProtectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Form => f.write_str("the description of the passphrase protection is malformed"),
            Self::Kdf(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ParseProtectionError {}

/// Reason why a secret under a passphrase does not open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenSecretError {
    /// The passphrase is wrong, or the secret or its header was changed.
    Authentication,
    /// The memory that Argon2id needs could not be had.
    NoMemory,
}

impl From<NoMemory> for OpenSecretError {
    fn from(_: NoMemory) -> Self {
        Self::NoMemory
    }
}

impl fmt::Display for OpenSecretError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Authentication => "the passphrase is wrong or the secret was changed",
            Self::NoMemory => "not enough memory for Argon2id with these parameters",
        })
    }
}

impl core::error::Error for OpenSecretError {}

/// Seals a secret under the key of a file: what `segment::open` opens without a context.
///
/// # Errors
/// [`RandomError`] if the source fails.
pub fn seal_secret(
    key: &InputKey,
    secret: &[u8],
    random: &mut impl Random,
) -> Result<Vec<u8>, RandomError> {
    let mut chunk_salt = [0; segment::SALT_LEN];
    random.fill(&mut chunk_salt)?;
    Ok(seal_secret_with_salt(key, &chunk_salt, secret))
}

/// [`seal_secret`] with a given salt, exported under `hazmat`.
pub(crate) fn seal_secret_with_salt(
    key: &InputKey,
    chunk_salt: &[u8; segment::SALT_LEN],
    secret: &[u8],
) -> Vec<u8> {
    let (keys, commitment) = hazmat::seal_keys(&KeySource::new(key), chunk_salt, &[]);
    let chunks = secret.len() / segment::CHUNK_LEN + 1;
    let mut sealed = vec![0; segment::PREFIX_LEN + secret.len() + chunks * segment::TAG_LEN];
    sealed[..segment::SALT_LEN].copy_from_slice(chunk_salt);
    sealed[segment::SALT_LEN..segment::PREFIX_LEN].copy_from_slice(&commitment);
    let mut sealer = SliceSealer::new(keys, &mut sealed[segment::PREFIX_LEN..]);
    sealer.push(secret);
    sealer.finish();
    sealed
}

/// Parameters, not yet checked, and salt.
fn fields(text: &str) -> Option<([u32; 3], [u8; argon2id::SALT_LEN])> {
    let mut words = text.split(' ');
    if words.next() != Some(ARGON2ID) {
        return None;
    }
    let mut params = [0; 3];
    for param in &mut params {
        // A number beyond 32 bits is beyond every bound as well, so the greatest one stands for it.
        *param = u32::try_from(decimal(words.next()?)?).unwrap_or(u32::MAX);
    }
    let mut salt = [0; argon2id::SALT_LEN];
    let len = Base64::decode(words.next()?, &mut salt).ok()?.len();
    if len == argon2id::SALT_LEN && words.next().is_none() { Some((params, salt)) } else { None }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::*;

    #[test]
    fn what_is_written_is_read_and_nothing_else() {
        let protection = Protection::with_salt(KdfParams::MINIMUM, [7; argon2id::SALT_LEN]);
        let text = protection.to_string();
        assert_eq!(text, "argon2id 8192 1 1 BwcHBwcHBwcHBwcHBwcHBw==");
        assert_eq!(Protection::parse(&text), Ok(protection));
        for (from, to) in [
            ("argon2id", "argon2i"),
            ("8192", "08192"),
            ("8192", "+8192"),
            (" 1 1", "  1 1"),
            (" 1 1", " 1"),
            ("==", ""),
            ("Bw==", "Bx=="),
            ("==", "== "),
            ("BwcH", ""),
        ] {
            let wrong = text.replacen(from, to, 1);
            assert_eq!(Protection::parse(&wrong), Err(ParseProtectionError::Form), "{wrong}");
        }
        for beyond in ["8191", "99999999999", "1048577"] {
            let wrong = text.replacen("8192", beyond, 1);
            let refused = Protection::parse(&wrong);
            assert!(matches!(refused, Err(ParseProtectionError::Kdf(_))), "{wrong}");
        }
    }
}
