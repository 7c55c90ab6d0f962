//! Base64 (RFC 4648, section 4) of public data, in buffers of the caller: padded, and canonical or
//! refused.
//!
//! Time and addresses depend on the data. Keys and other secrets MUST NOT be encoded or decoded
//! here. Works without an allocator.

use core::fmt;

/// base64url (section 5) without padding, canonical or refused, for callers with an allocator.
pub use base64_simd::URL_SAFE_NO_PAD;
use base64_simd::{AsOut as _, STANDARD};

use super::buffer::BufferTooSmall;

#[cfg(test)]
mod tests;

/// Number of characters that encode `len` bytes: `4 ⌈len / 3⌉`.
#[must_use]
pub const fn encoded_len(len: usize) -> usize {
    // It saturates where no slice is as long.
    len.div_ceil(3).saturating_mul(4)
}

/// Encodes `data` into the beginning of `out` and returns that text, of [`encoded_len`] characters.
///
/// Data may be encoded piece by piece. The texts of pieces whose lengths are multiples of 3, and of
/// a last piece of any length, form one behind the other the text of the whole.
///
/// # Errors
/// [`BufferTooSmall`] if the text does not fit.
pub fn encode<'o>(data: &[u8], out: &'o mut [u8]) -> Result<&'o str, BufferTooSmall> {
    if out.len() < encoded_len(data.len()) {
        return Err(BufferTooSmall);
    }
    Ok(STANDARD.encode_as_str(data, out.as_out()))
}

/// Decodes the text that `buffer` holds into the beginning of `buffer`, and returns the number of
/// bytes.
///
/// Accepts what [`encode`] writes and nothing else: a length that is a multiple of 4, one or two
/// `=` at the end alone, zeros in the bits that they leave over, no blanks.
///
/// # Errors
/// [`InvalidBase64`]; `buffer` is then all zero.
pub fn decode_in_place(buffer: &mut [u8]) -> Result<usize, InvalidBase64> {
    let decoded = STANDARD.decode_inplace(buffer).map(|bytes| bytes.len());
    decoded.map_err(|_| {
        buffer.fill(0);
        InvalidBase64
    })
}

/// Text is not the Base64 that [`encode`] writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidBase64;

impl fmt::Display for InvalidBase64 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not canonical Base64")
    }
}

impl core::error::Error for InvalidBase64 {}
