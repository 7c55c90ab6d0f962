//! A ring under a passphrase.

use core::fmt;

use base64ct::{Base64, Encoding as _};
use endseal_crypto::argon2id::{self, KdfParams, NoMemory, Stretched};
use endseal_crypto::random::{Random, RandomError};
use endseal_crypto::secret::Zeroizing;
use endseal_crypto::segment::{self, ChunkKeys, InputKey, SliceSealer, Unauthentic};
use endseal_crypto::{hash, label};
use endseal_keyring::Passphrase;

use super::Ring;
use super::text::{FIRST, Lines, PROTECTION, ParseRingError, decimal, keys};

const ARGON2ID: &str = "argon2id";
const SEALED: &str = "sealed ";

/// A sealed file whose form is right; only the passphrase can show that it is authentic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedRing {
    header: Box<str>,
    params: KdfParams,
    salt: [u8; argon2id::SALT_LEN],
    sealed: Box<[u8]>,
}

impl SealedRing {
    pub(super) fn parse(protection: &str, mut lines: Lines<'_>) -> Result<Self, ParseRingError> {
        let (params, salt) = parse_kdf(protection).ok_or(lines.form())?;
        let params =
            KdfParams::new(params[0], params[1], params[2]).map_err(ParseRingError::Kdf)?;
        let header = lines.before().into();
        let sealed = Base64::decode_vec(lines.field(SEALED)?).map_err(|_| lines.form())?;
        if !lines.at_end() {
            return Err(ParseRingError::Form { line: lines.line + 1 });
        }
        Ok(Self { header, params, salt, sealed: sealed.into() })
    }

    /// What one guess of the passphrase costs.
    #[must_use]
    pub fn params(&self) -> KdfParams {
        self.params
    }

    /// Opens the ring. It takes as long as [`Self::params`] say.
    ///
    /// # Errors
    /// [`OpenRingError`].
    pub fn open(&self, passphrase: &Passphrase) -> Result<Ring, OpenRingError> {
        let stretched = self.params.stretch(passphrase.expose_secret(), &self.salt)?;
        let key = file_key(&stretched, &self.header);
        let text = Zeroizing::new(segment::open(&key, &[], &self.sealed)?);
        Lines::inner(&text).and_then(keys).map_err(OpenRingError::Parse)
    }
}

/// Why a sealed ring does not open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenRingError {
    /// The passphrase is wrong or the file was changed.
    Authentication,
    /// The memory that the file asks for could not be had.
    NoMemory,
    /// What was sealed is no ring: its writer made a mistake.
    Parse(ParseRingError),
}

impl fmt::Display for OpenRingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Authentication => {
                f.write_str("the passphrase is wrong or the key ring was changed")
            }
            Self::NoMemory => f.write_str(NO_MEMORY),
            Self::Parse(error) => write!(f, "in the sealed keys: {error}"),
        }
    }
}

impl core::error::Error for OpenRingError {}

impl From<Unauthentic> for OpenRingError {
    fn from(_: Unauthentic) -> Self {
        Self::Authentication
    }
}

impl From<NoMemory> for OpenRingError {
    fn from(_: NoMemory) -> Self {
        Self::NoMemory
    }
}

impl Ring {
    /// The file of this ring, sealed under a passphrase with fresh salts. It takes as long as `params`
    /// say.
    ///
    /// # Errors
    /// [`SealRingError`].
    pub fn seal(
        &self,
        passphrase: &Passphrase,
        params: KdfParams,
        random: &mut impl Random,
    ) -> Result<String, SealRingError> {
        let (mut salt, mut chunk_salt) = ([0; argon2id::SALT_LEN], [0; segment::SALT_LEN]);
        random.fill(&mut salt)?;
        random.fill(&mut chunk_salt)?;
        self.seal_with(passphrase, params, &salt, &chunk_salt)
    }

    /// [`Self::seal`] with given salts.
    pub(super) fn seal_with(
        &self,
        passphrase: &Passphrase,
        params: KdfParams,
        salt: &[u8; argon2id::SALT_LEN],
        chunk_salt: &[u8; segment::SALT_LEN],
    ) -> Result<String, SealRingError> {
        let (m, t, p) = (params.memory_kib(), params.passes(), params.lanes());
        let salt_text = Base64::encode_string(salt);
        let header = format!("{FIRST}{PROTECTION}{ARGON2ID} {m} {t} {p} {salt_text}\n");
        let stretched = params.stretch(passphrase.expose_secret(), salt)?;
        let (keys, commitment) = ChunkKeys::derive(&file_key(&stretched, &header), chunk_salt, &[]);
        let plaintext = self.key_lines();
        let chunks = plaintext.len() / segment::CHUNK_LEN + 1;
        let mut sealed = vec![0; segment::PREFIX_LEN + plaintext.len() + chunks * segment::TAG_LEN];
        sealed[..segment::SALT_LEN].copy_from_slice(chunk_salt);
        sealed[segment::SALT_LEN..segment::PREFIX_LEN].copy_from_slice(&commitment);
        let mut sealer = SliceSealer::new(keys, &mut sealed[segment::PREFIX_LEN..]);
        sealer.push(plaintext.as_bytes());
        sealer.finish();
        Ok(format!("{header}{SEALED}{}\n", Base64::encode_string(&sealed)))
    }
}

/// `BLAKE3-derive(label, stretched || header)`.
fn file_key(stretched: &Stretched, header: &str) -> InputKey {
    InputKey::init_with(|out| {
        let parts: [&[u8]; 2] = [stretched.expose_secret(), header.as_bytes()];
        hash::derive_into(label::S3_KEY_RING_FILE, &parts, out);
    })
}

/// Parameters, not yet checked, and salt.
fn parse_kdf(value: &str) -> Option<([u32; 3], [u8; argon2id::SALT_LEN])> {
    let mut words = value.split(' ');
    if words.next() != Some(ARGON2ID) {
        return None;
    }
    let mut params = [0; 3];
    for param in &mut params {
        // What is beyond 32 bits is beyond every bound as well.
        *param = u32::try_from(decimal(words.next()?)?).unwrap_or(u32::MAX);
    }
    let mut salt = [0; argon2id::SALT_LEN];
    let len = Base64::decode(words.next()?, &mut salt).ok()?.len();
    if len == argon2id::SALT_LEN && words.next().is_none() { Some((params, salt)) } else { None }
}

/// Why a ring could not be sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SealRingError {
    /// The memory that the parameters ask for could not be had.
    NoMemory,
    /// The source of randomness failed.
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

impl fmt::Display for SealRingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoMemory => NO_MEMORY,
            Self::Random => "the source of randomness failed",
        })
    }
}

impl core::error::Error for SealRingError {}

const NO_MEMORY: &str = "not enough memory for Argon2id with these parameters";
