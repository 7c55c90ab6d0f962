//! Keys as text: hexadecimal digits, `npub` and `nsec`.
//!
//! Functions of secret keys take the same time for all of them, and look nothing up by their bytes.
//! Texts of secret keys are the caller's, who MUST wipe them.

use core::fmt;

pub use endseal_crypto::secp256k1::{PublicKey, SecretKey, SigningKey};
use endseal_crypto::secret::Zeroizing;

use crate::bech32::{self, Bech32Error};
use crate::hex;
use crate::output::{Output, OutputTooSmall};

/// Prefix of a public key in bech32.
pub(crate) const NPUB: &str = "npub";
/// Prefix of a secret key in bech32.
pub(crate) const NSEC: &str = "nsec";

/// Length of a key in hexadecimal digits.
pub const HEX_LEN: usize = 64;
/// Length of `npub…` and `nsec…` in characters.
pub const BECH32_LEN: usize = 63;

/// Parses 64 lower-case hexadecimal digits.
///
/// # Errors
/// [`KeyError`].
pub fn secret_from_hex(text: &str) -> Result<SecretKey, KeyError> {
    let mut bytes = Zeroizing::new([0; SecretKey::LEN]);
    if !hex::decode(text.as_bytes(), &mut bytes[..]) {
        return Err(KeyError::Hex);
    }
    SecretKey::from_bytes(&bytes).map_err(|_| KeyError::Value)
}

/// Writes 64 lower-case hexadecimal digits, which the caller MUST wipe.
pub fn secret_to_hex(key: &SecretKey, out: &mut [u8; HEX_LEN]) {
    write_hex(key.expose_secret(), out);
}

/// Parses a secret key as text, `nsec1…` (NIP-19).
///
/// # Errors
/// [`KeyError`].
pub fn secret_from_nsec(text: &str) -> Result<SecretKey, KeyError> {
    let mut bytes = Zeroizing::new([0; SecretKey::LEN]);
    from_bech32(NSEC, text, &mut bytes)?;
    SecretKey::from_bytes(&bytes).map_err(|_| KeyError::Value)
}

/// Writes `nsec…` (NIP-19) to the front of `out`, which the caller MUST wipe.
///
/// # Errors
/// [`OutputTooSmall`], below [`BECH32_LEN`] bytes.
pub fn secret_to_nsec<'o>(key: &SecretKey, out: &'o mut [u8]) -> Result<&'o str, OutputTooSmall> {
    to_bech32(NSEC, key.expose_secret(), out)
}

/// Parses 64 lower-case hexadecimal digits.
///
/// # Errors
/// [`KeyError`].
pub fn public_from_hex(text: &str) -> Result<PublicKey, KeyError> {
    let bytes = hex::array(text).ok_or(KeyError::Hex)?;
    PublicKey::from_bytes(&bytes).map_err(|_| KeyError::Value)
}

/// Lower-case hexadecimal digits of a key.
#[must_use]
pub fn public_to_hex(key: &PublicKey) -> [u8; HEX_LEN] {
    let mut out = [0; HEX_LEN];
    write_hex(&key.to_bytes(), &mut out);
    out
}

/// Parses a public key as text, `npub1…` (NIP-19).
///
/// # Errors
/// [`KeyError`].
pub fn public_from_npub(text: &str) -> Result<PublicKey, KeyError> {
    let mut bytes = [0; PublicKey::LEN];
    from_bech32(NPUB, text, &mut bytes)?;
    PublicKey::from_bytes(&bytes).map_err(|_| KeyError::Value)
}

/// Writes `npub…` (NIP-19) to the front of `out`.
///
/// # Errors
/// [`OutputTooSmall`], below [`BECH32_LEN`] bytes.
pub fn public_to_npub<'o>(key: &PublicKey, out: &'o mut [u8]) -> Result<&'o str, OutputTooSmall> {
    to_bech32(NPUB, &key.to_bytes(), out)
}

fn write_hex(bytes: &[u8; 32], out: &mut [u8; HEX_LEN]) {
    // The buffer has the length of the digits.
    let _ = base16ct::lower::encode(bytes, out);
}

fn from_bech32(prefix: &str, text: &str, out: &mut [u8; 32]) -> Result<(), KeyError> {
    // The length comes first, so that nothing else is longer or shorter.
    if text.len() != BECH32_LEN {
        return Err(KeyError::Bech32(Bech32Error::Length));
    }
    if !bech32::prefix(text)?.eq_ignore_ascii_case(prefix) {
        return Err(KeyError::Prefix);
    }
    bech32::decode(text, out).map(drop).map_err(KeyError::Bech32)
}

/// Writes the text of a key with a prefix to the front of `out`.
pub(crate) fn to_bech32<'o>(
    prefix: &str,
    bytes: &[u8; 32],
    out: &'o mut [u8],
) -> Result<&'o str, OutputTooSmall> {
    let mut out = Output::new(out);
    let mut encoder = bech32::encoder(prefix, &mut out);
    encoder.put(bytes);
    encoder.finish();
    out.finish_text()
}

/// Cause why a text is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyError {
    /// The text is not 64 lower-case hexadecimal digits.
    Hex,
    /// The text is not bech32 of the length of a key.
    Bech32(Bech32Error),
    /// The text is bech32 with another prefix.
    Prefix,
    /// A secret key is zero or not below the order of the curve, or a public key is not the
    /// x-coordinate of a point.
    Value,
}

impl From<Bech32Error> for KeyError {
    fn from(error: Bech32Error) -> Self {
        Self::Bech32(error)
    }
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hex => f.write_str("the key is not 64 lower-case hexadecimal digits"),
            Self::Bech32(error) => error.fmt(f),
            Self::Prefix => f.write_str("the text is not a key of this kind"),
            Self::Value => f.write_str("the key is not in its range or not on the curve"),
        }
    }
}

impl core::error::Error for KeyError {}
