//! Hexadecimal digits of 32 bytes.

use super::uri;

/// Returns the lower-case digits of `bytes` as text.
pub(super) fn hex(bytes: &[u8; 32]) -> String {
    // Digits are UTF-8.
    str::from_utf8(&hex_digits(bytes)).unwrap_or_default().to_owned()
}

/// Returns the lower-case digits of `bytes`.
pub(super) fn hex_digits(bytes: &[u8; 32]) -> [u8; 64] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut out = [0; 64];
    for (pair, byte) in out.as_chunks_mut().0.iter_mut().zip(bytes) {
        *pair = [byte >> 4, byte & 15].map(|half| DIGITS[usize::from(half)]);
    }
    out
}

/// Value of each hexadecimal digit; 0xff for other bytes.
const HALVES: [u8; 256] = {
    let mut halves = [0xff; 256];
    let mut byte = u8::MIN;
    while byte < u8::MAX {
        if let Some(half) = uri::digit(byte) {
            halves[byte as usize] = half;
        }
        byte += 1;
    }
    halves
};

/// Reads 64 hexadecimal digits of either case.
pub(crate) fn digest(text: &[u8]) -> Option<[u8; 32]> {
    let digits: &[u8; 64] = text.try_into().ok()?;
    let mut out = [0; 32];
    let mut all = 0;
    for (byte, pair) in out.iter_mut().zip(digits.as_chunks().0) {
        let [high, low] = pair.map(|digit| HALVES[usize::from(digit)]);
        *byte = high << 4 | low & 15;
        all |= high | low;
    }
    (all < 16).then_some(out)
}
