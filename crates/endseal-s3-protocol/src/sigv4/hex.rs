//! Hexadecimal digits of 32 bytes.

pub(super) use base16ct::lower::encode_string as hex;

/// Returns the lower-case digits of `bytes`.
pub(super) fn hex_digits(bytes: &[u8; 32]) -> [u8; 64] {
    let mut out = [0; 64];
    // The buffer has the length of the digits.
    let _ = base16ct::lower::encode(bytes, &mut out);
    out
}

/// Reads 64 hexadecimal digits of either case.
pub(crate) fn digest(text: &[u8]) -> Option<[u8; 32]> {
    let mut out = [0; 32];
    let len = base16ct::mixed::decode(text, &mut out).ok()?.len();
    (len == out.len()).then_some(out)
}
