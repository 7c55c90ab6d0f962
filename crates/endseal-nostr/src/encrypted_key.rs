//! Secret keys under a password: `ncryptsec` (NIP-49). Needs an allocator.
//!
//! Without the feature `std` the caller MUST pass passwords in NFKC.
//!
//! ```text
//! ncryptsec = Bech32("ncryptsec", 02 || log_n || salt || nonce || handling || ciphertext || tag)
//! key       = scrypt(NFKC(password), salt, N = 2^log_n, r = 8, p = 1)
//! ```
//!
//! The ciphertext is XChaCha20-Poly1305 of the secret key's 32 bytes with `handling` as associated
//! data. The layout and the limits are in `docs/spec/nostr.md`.

use core::fmt;

use endseal_crypto::random::Random;
use endseal_crypto::scrypt;
pub use endseal_crypto::scrypt::Stretched;
use endseal_crypto::secret_bytes;
use endseal_crypto::xchacha20poly1305::{self as aead, NONCE_LEN, TAG_LEN};

use crate::bech32::{self, Bech32Error};
use crate::key::SecretKey;
use crate::output::{Output, OutputTooSmall};

mod password;

pub use password::MAX_PASSWORD;

use password::Password;

/// Length of an encrypted key in bytes.
pub const LEN: usize = 91;
/// Length as text in characters.
pub const TEXT_LEN: usize = 162;

/// Cost that is recommended for sealing: 64 MiB and about 100 ms.
pub const DEFAULT_LOG_N: u8 = 16;
/// Greatest cost that is recommended for opening a text from elsewhere: 256 MiB.
pub const DEFAULT_MAX_LOG_N: u8 = 18;
/// Greatest cost that the format allows: 4 GiB of memory.
pub const MAX_LOG_N: u8 = 22;

const PREFIX: &str = "ncryptsec";
const VERSION: u8 = 2;
/// Length of a salt in bytes.
pub const SALT_LEN: usize = 16;
/// Parameter of scrypt: blocks of 1 KiB.
const R: u32 = 8;
/// Parameter of scrypt: the degree of parallelism.
const P: u32 = 1;

/// Treatment of a secret key before it was encrypted, as its owner's client knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "NIP-49 has these")]
pub enum Handling {
    /// The key is known to have been stored or copied unencrypted.
    KnownInsecure,
    /// The key is not known to have been.
    NotKnownInsecure,
    /// The client does not track this.
    Untracked,
}

impl Handling {
    const fn to_byte(self) -> u8 {
        match self {
            Self::KnownInsecure => 0,
            Self::NotKnownInsecure => 1,
            Self::Untracked => 2,
        }
    }

    const fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(Self::KnownInsecure),
            1 => Some(Self::NotKnownInsecure),
            2 => Some(Self::Untracked),
            _ => None,
        }
    }
}

/// An encrypted secret key, well-formed and not yet authenticated. It is no secret, but with it the
/// password can be guessed as fast as scrypt allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncryptedKey {
    log_n: u8,
    salt: [u8; SALT_LEN],
    nonce: [u8; NONCE_LEN],
    handling: Handling,
    ciphertext: [u8; SecretKey::LEN],
    tag: [u8; TAG_LEN],
}

secret_bytes! {
    /// A secret key that is encrypted or decrypted where it lies.
    inline struct Plain[32];
}

impl EncryptedKey {
    /// Encrypts `key` under a password, which is brought into NFKC. `random` gives salt and nonce.
    ///
    /// `log_n` is [`DEFAULT_LOG_N`] to [`MAX_LOG_N`]: scrypt takes `2^log_n` KiB and as much time.
    ///
    /// # Errors
    /// [`SealError`].
    pub fn seal(
        key: &SecretKey,
        password: &str,
        log_n: u8,
        handling: Handling,
        random: &mut impl Random,
    ) -> Result<Self, SealError> {
        let cost = ScryptInput::new(log_n, random)?;
        let mut nonce = [0; NONCE_LEN];
        random.fill(&mut nonce).map_err(|_| SealError::Random)?;
        let stretched = cost.stretch(password).map_err(|error| match error {
            StretchError::Password => SealError::Password,
            StretchError::Memory => SealError::Memory,
        })?;
        Ok(Self::seal_at(key, &cost, &stretched, handling, nonce))
    }

    /// Encrypts `key` as [`EncryptedKey::seal`] does, under a password that was stretched with
    /// `cost`, for example on another thread. Each `cost` MUST be used once.
    ///
    /// # Errors
    /// [`SealError::Random`].
    pub fn seal_stretched(
        key: &SecretKey,
        cost: &ScryptInput,
        stretched: &Stretched,
        handling: Handling,
        random: &mut impl Random,
    ) -> Result<Self, SealError> {
        let mut nonce = [0; NONCE_LEN];
        random.fill(&mut nonce).map_err(|_| SealError::Random)?;
        Ok(Self::seal_at(key, cost, stretched, handling, nonce))
    }

    fn seal_at(
        key: &SecretKey,
        &ScryptInput { log_n, salt }: &ScryptInput,
        stretched: &Stretched,
        handling: Handling,
        nonce: [u8; NONCE_LEN],
    ) -> Self {
        let mut ciphertext = *key.expose_secret();
        let data = [handling.to_byte()];
        let tag = aead::seal(stretched.expose_secret(), &nonce, &data, &mut ciphertext);
        Self { log_n, salt, nonce, handling, ciphertext, tag }
    }

    /// Decrypts the key, if its cost is at most `max_log_n`; [`DEFAULT_MAX_LOG_N`] is recommended.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open(&self, password: &str, max_log_n: u8) -> Result<SecretKey, OpenError> {
        let stretched =
            self.scrypt_input(max_log_n)?.stretch(password).map_err(|error| match error {
                // No longer password seals anything.
                StretchError::Password => OpenError::Authentication,
                StretchError::Memory => OpenError::Memory,
            })?;
        self.open_stretched(&stretched)
    }

    /// Returns the cost of the password, with which [`ScryptInput::stretch`] prepares
    /// [`EncryptedKey::open_stretched`], for example on another thread.
    ///
    /// # Errors
    /// [`OpenError::Cost`] if it is above `max_log_n`.
    pub const fn scrypt_input(&self, max_log_n: u8) -> Result<ScryptInput, OpenError> {
        if self.log_n > max_log_n {
            return Err(OpenError::Cost);
        }
        Ok(ScryptInput { log_n: self.log_n, salt: self.salt })
    }

    /// Decrypts the key with a password that was stretched.
    ///
    /// # Errors
    /// [`OpenError::Authentication`], [`OpenError::Key`].
    pub fn open_stretched(&self, stretched: &Stretched) -> Result<SecretKey, OpenError> {
        let (key, data) = (stretched.expose_secret(), [self.handling.to_byte()]);
        let plain = Plain::try_init_with(|text| {
            text.copy_from_slice(&self.ciphertext);
            aead::open(key, &self.nonce, &data, text, &self.tag)
        });
        let plain = plain.map_err(|_| OpenError::Authentication)?;
        SecretKey::from_bytes(plain.expose_secret()).map_err(|_| OpenError::Key)
    }

    /// Parses the text of an encrypted key, `ncryptsec1…` (NIP-49).
    ///
    /// # Errors
    /// [`ParseError`].
    pub fn from_text(text: &str) -> Result<Self, ParseError> {
        if text.len() != TEXT_LEN {
            return Err(ParseError::Length);
        }
        if !bech32::prefix(text)?.eq_ignore_ascii_case(PREFIX) {
            return Err(ParseError::Prefix);
        }
        let mut bytes = [0; LEN];
        bech32::decode(text, &mut bytes)?;
        Self::from_bytes(&bytes)
    }

    /// Writes `ncryptsec1…` to the front of `out` and returns it: [`TEXT_LEN`] characters.
    ///
    /// # Errors
    /// [`OutputTooSmall`].
    pub fn write_text<'o>(&self, out: &'o mut [u8]) -> Result<&'o str, OutputTooSmall> {
        let mut out = Output::new(out);
        let mut encoder = bech32::encoder(PREFIX, &mut out);
        encoder.put(&[VERSION, self.log_n]);
        encoder.put(&self.salt);
        encoder.put(&self.nonce);
        encoder.put(&[self.handling.to_byte()]);
        encoder.put(&self.ciphertext);
        encoder.put(&self.tag);
        encoder.finish();
        out.finish_text()
    }

    fn from_bytes(bytes: &[u8; LEN]) -> Result<Self, ParseError> {
        let [version, log_n, rest @ ..] = bytes;
        if *version != VERSION {
            return Err(ParseError::UnsupportedVersion);
        }
        if !(1..=MAX_LOG_N).contains(log_n) {
            return Err(ParseError::Cost);
        }
        let (salt, rest) = rest.split_first_chunk().ok_or(ParseError::Length)?;
        let (nonce, rest) = rest.split_first_chunk().ok_or(ParseError::Length)?;
        let ([handling], rest) = rest.split_first_chunk().ok_or(ParseError::Length)?;
        let (ciphertext, rest) = rest.split_first_chunk().ok_or(ParseError::Length)?;
        let tag = rest.first_chunk().ok_or(ParseError::Length)?;
        Ok(Self {
            log_n: *log_n,
            salt: *salt,
            nonce: *nonce,
            handling: Handling::from_byte(*handling).ok_or(ParseError::Handling)?,
            ciphertext: *ciphertext,
            tag: *tag,
        })
    }

    /// Cost: scrypt takes `2^log_n` KiB.
    #[must_use]
    pub const fn log_n(&self) -> u8 {
        self.log_n
    }

    /// Treatment of the key before it was encrypted. Authenticated by opening alone.
    #[must_use]
    pub const fn handling(&self) -> Handling {
        self.handling
    }
}

/// Salt and cost of scrypt, which are public.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "callers pass it to other threads")]
pub struct ScryptInput {
    /// Cost: 1 to [`MAX_LOG_N`]. scrypt takes `2^log_n` KiB and as much time.
    pub log_n: u8,
    /// Salt, which the key's owner chose at random.
    pub salt: [u8; SALT_LEN],
}

impl ScryptInput {
    /// Chooses a salt for a new key. `log_n` is [`DEFAULT_LOG_N`] to [`MAX_LOG_N`].
    ///
    /// # Errors
    /// [`SealError::Cost`], [`SealError::Random`].
    pub fn new(log_n: u8, random: &mut impl Random) -> Result<Self, SealError> {
        if !(DEFAULT_LOG_N..=MAX_LOG_N).contains(&log_n) {
            return Err(SealError::Cost);
        }
        let mut salt = [0; SALT_LEN];
        random.fill(&mut salt).map_err(|_| SealError::Random)?;
        Ok(Self { log_n, salt })
    }

    /// Stretches a password: `scrypt(NFKC(password), salt, N = 2^log_n, r = 8, p = 1)`.
    ///
    /// # Errors
    /// [`StretchError`].
    pub fn stretch(&self, password: &str) -> Result<Stretched, StretchError> {
        let mut own = Password::EMPTY;
        own.fill(password).ok_or(StretchError::Password)?;
        let memory = scrypt::memory(self.log_n, R, P).ok_or(StretchError::Memory)?;
        // If the cost is in range, nothing else can fail.
        scrypt::derive(own.as_bytes(), &self.salt, self.log_n, R, P, memory)
            .map_err(|_| StretchError::Memory)
    }
}

/// A password was not stretched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StretchError {
    /// The password has more than [`MAX_PASSWORD`] bytes, in NFKC or before.
    Password,
    /// There is not as much memory as scrypt needs, or the cost is out of its range.
    Memory,
}

impl fmt::Display for StretchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Password => "the password is too long",
            Self::Memory => "there is not as much memory as scrypt needs",
        })
    }
}

impl core::error::Error for StretchError {}

/// Error of encryption: the reason why there is no encrypted key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SealError {
    /// `log_n` is out of its range.
    Cost,
    /// The password has more than [`MAX_PASSWORD`] bytes, in NFKC or before.
    Password,
    /// There is not as much memory as scrypt needs.
    Memory,
    /// The source of randomness failed.
    Random,
}

impl fmt::Display for SealError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cost => "the cost of the password is out of its range",
            Self::Password => "the password is too long",
            Self::Memory => "there is not as much memory as scrypt needs",
            Self::Random => "the source of randomness failed",
        })
    }
}

impl core::error::Error for SealError {}

/// A key was not decrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenError {
    /// The cost is greater than the caller allows: a hostile text, or one of a large machine.
    Cost,
    /// There is not as much memory as scrypt needs.
    Memory,
    /// Another password, or the text was changed.
    Authentication,
    /// The text is authentic and holds no secret key.
    Key,
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cost => "the cost of the password is greater than is allowed",
            Self::Memory => "there is not as much memory as scrypt needs",
            Self::Authentication => "the password is wrong, or the encrypted key was changed",
            Self::Key => "the decrypted content is not a secret key",
        })
    }
}

impl core::error::Error for OpenError {}

/// A text is no encrypted key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseError {
    /// The text has another length than an encrypted key.
    Length,
    /// The text is bech32 with another prefix than `ncryptsec`.
    Prefix,
    /// The text is not bech32, for example because of a typing error.
    Bech32(Bech32Error),
    /// Another version than 2: made by newer software.
    UnsupportedVersion,
    /// The cost is 0 or above [`MAX_LOG_N`].
    Cost,
    /// The byte of [`Handling`] is none of three.
    Handling,
}

impl From<Bech32Error> for ParseError {
    fn from(error: Bech32Error) -> Self {
        match error {
            Bech32Error::Prefix => Self::Prefix,
            error => Self::Bech32(error),
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Length => "the encrypted key has a wrong length",
            Self::Prefix => "the text is not an encrypted key: it lacks the prefix ncryptsec",
            Self::Bech32(error) => return error.fmt(f),
            Self::UnsupportedVersion => "the version of the encrypted key is not supported",
            Self::Cost => "the cost of the encrypted key is out of its range",
            Self::Handling => "the byte for the handling of the encrypted key is not 0, 1 or 2",
        })
    }
}

impl core::error::Error for ParseError {}
