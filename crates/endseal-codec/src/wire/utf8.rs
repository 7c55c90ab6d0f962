//! UTF-8: the larger part of what decoding a text costs.

use crate::error::DecodeError;

/// The bytes as text (RFC 3629).
#[inline]
pub(crate) fn validate(bytes: &[u8]) -> Result<&str, DecodeError> {
    simdutf8::basic::from_utf8(bytes).map_err(|_| DecodeError::Utf8)
}
