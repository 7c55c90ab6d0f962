//! Layout of a payload.
//!
//! ```text
//!  offset   size  field
//!  0        1     version, 02
//!  1        32    nonce
//!  33       n     ciphertext of prefix, plaintext and padding
//!  33 + n   32    MAC
//! ```

use core::fmt;

use endseal_crypto::{base64, sha256};

use super::padding::{MAX_PLAINTEXT, Prefix, padded_len};

/// The version that is written.
pub(super) const VERSION: u8 = 2;
/// Length of a nonce in bytes.
pub(super) const NONCE_LEN: usize = 32;
/// Bytes before the ciphertext. Base64 of it ends on a full group.
pub(super) const HEAD_LEN: usize = 1 + NONCE_LEN;
/// Length of the MAC in bytes.
pub(super) const MAC_LEN: usize = sha256::LEN;
/// Shortest payload in bytes, before Base64.
pub(super) const MIN_LEN: usize = HEAD_LEN + Prefix::SHORT_LEN + 32 + MAC_LEN;

/// Length in characters of the shortest payload.
pub const MIN_PAYLOAD: u64 = encoded(MIN_LEN as u64);
/// Length in characters of the longest payload.
pub const MAX_PAYLOAD: u64 =
    encoded((HEAD_LEN + Prefix::EXTENDED_LEN + MAC_LEN) as u64 + padded_len(MAX_PLAINTEXT));

/// Length of the Base64 of `len` bytes.
pub(super) const fn encoded(len: u64) -> u64 {
    len.div_ceil(3) * 4
}

/// Characters that hold the version.
const FIRST_GROUP: usize = 4;

/// Algorithms by the payload's first byte.
pub(super) enum Version {
    /// Version 2. Version 3, a draft, would stand beside it.
    Two,
}

/// The version of a payload whose lengths are possible. Nothing was changed or decoded but the
/// first group.
///
/// # Errors
/// [`OpenError::UnsupportedVersion`] also for `#`, which is no character of Base64;
/// [`OpenError::Length`]; [`OpenError::Encoding`] of the first group.
pub(super) fn version(payload: &[u8]) -> Result<Version, OpenError> {
    if payload.first() == Some(&b'#') {
        return Err(OpenError::UnsupportedVersion);
    }
    check_len(payload.len() as u64)?;
    let mut group = [0; FIRST_GROUP];
    group.copy_from_slice(payload.get(..FIRST_GROUP).ok_or(OpenError::Length)?);
    base64::decode_in_place(&mut group).map_err(|_| OpenError::Encoding)?;
    match group[0] {
        VERSION => Ok(Version::Two),
        _ => Err(OpenError::UnsupportedVersion),
    }
}

fn check_len(len: u64) -> Result<(), OpenError> {
    if (MIN_PAYLOAD..=MAX_PAYLOAD).contains(&len) { Ok(()) } else { Err(OpenError::Length) }
}

/// Error of opening: the reason why a payload was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenError {
    /// A version of NIP-44 other than 2, or an encoding other than Base64 (`#`): made by newer
    /// software, or NIP-04.
    UnsupportedVersion,
    /// Fewer than 132 characters or 99 bytes, or more than the format allows: truncated.
    Length,
    /// The payload is not canonical Base64.
    Encoding,
    /// Sealed in another conversation, changed, or padded in another way than the NIP says.
    Authentication,
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnsupportedVersion => "the version of the encrypted payload is not supported",
            Self::Length => "the length of the encrypted payload is impossible",
            Self::Encoding => "the encrypted payload is not canonical Base64",
            Self::Authentication => "the encrypted payload does not authenticate",
        })
    }
}

impl core::error::Error for OpenError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_those_of_the_nip() {
        assert_eq!(MIN_LEN, 99);
        assert_eq!(MIN_PAYLOAD, 132);
        // 65 bytes around a prefix of 6 and 2^32 bytes.
        assert_eq!(MAX_PAYLOAD, encoded(4_294_967_367));
    }

    #[test]
    fn lengths_are_checked_before_anything_is_decoded() {
        for len in [0, 1, 131, MAX_PAYLOAD + 1, u64::MAX] {
            assert_eq!(check_len(len), Err(OpenError::Length), "{len}");
        }
        for len in [132, 133, MAX_PAYLOAD] {
            assert_eq!(check_len(len), Ok(()), "{len}");
        }
    }

    #[test]
    fn the_first_byte_decides_the_version() {
        for version in 0..=u8::MAX {
            let mut payload = [b'A'; 132];
            let mut group = [0; FIRST_GROUP];
            base64::encode(&[version, 0, 0], &mut group).unwrap();
            payload[..FIRST_GROUP].copy_from_slice(&group);
            assert_eq!(super::version(&payload).is_ok(), version == 2, "{version}");
        }
        assert!(matches!(version(&[b'#'; 3]), Err(OpenError::UnsupportedVersion)));
        assert!(matches!(version(&[b'!'; 132]), Err(OpenError::Encoding)));
        assert!(matches!(version(b""), Err(OpenError::Length)));
    }
}
