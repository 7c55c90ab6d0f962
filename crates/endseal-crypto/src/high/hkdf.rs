//! HKDF with SHA-512 (RFC 5869), which derives several keys from one secret.

pub use super::hkdf_sha256::OutputTooLong;
use crate::mid::hkdf_sha512::ExpandKey;

/// Longest output of [`expand`]: 255 hash lengths (RFC 5869, 2.3).
pub const MAX_OUTPUT: usize = 255 * 64;

/// `HKDF-Expand-SHA-512(prk, info, out.len())`.
///
/// `prk` MUST be uniformly random, for example a key, of 64 bytes at most (checked when compiled);
/// use [`extract_and_expand`] for anything else.
///
/// # Errors
/// [`OutputTooLong`] beyond [`MAX_OUTPUT`].
pub fn expand<const N: usize>(
    prk: &[u8; N],
    info: &[&[u8]],
    out: &mut [u8],
) -> Result<(), OutputTooLong> {
    const { assert!(N <= 64, "longer input is no key: extract it") }
    if out.len() > MAX_OUTPUT {
        return Err(OutputTooLong);
    }
    ExpandKey::new(prk).expand(info, out);
    Ok(())
}

/// Computes `HKDF-Expand-SHA-512(HKDF-Extract-SHA-512(salt, secret), info, out.len())` into `out`.
///
/// # Errors
/// [`OutputTooLong`] beyond [`MAX_OUTPUT`].
pub fn extract_and_expand(
    salt: &[u8],
    secret: &[u8],
    info: &[&[u8]],
    out: &mut [u8],
) -> Result<(), OutputTooLong> {
    if out.len() > MAX_OUTPUT {
        return Err(OutputTooLong);
    }
    ExpandKey::extract(salt, secret).expand(info, out);
    Ok(())
}
