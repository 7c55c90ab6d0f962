//! Numbers and digests as text, in one form only.

/// A decimal number without sign and leading zeros.
pub(crate) fn decimal(text: &str) -> Option<u64> {
    if is_decimal(text.as_bytes()) { text.parse().ok() } else { None }
}

/// Returns true for a decimal number of any length, without sign and leading zeros.
pub(crate) fn is_decimal(text: &[u8]) -> bool {
    match text {
        [b'0'] => true,
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

/// Lower-case hexadecimal of exactly N bytes.
pub(crate) fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut out = [0; N];
    let len = base16ct::lower::decode(text, &mut out).ok()?.len();
    (len == N).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_have_one_form() {
        assert_eq!(decimal("0"), Some(0));
        assert_eq!(decimal("18446744073709551615"), Some(u64::MAX));
        for bad in ["", "00", "01", "+1", "-1", "1 ", "1_0", "18446744073709551616", "1a"] {
            assert_eq!(decimal(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn hexadecimal_has_one_form() {
        assert_eq!(from_hex("00ff"), Some([0, 255]));
        for bad in ["", "00", "00f", "00FF", "00ff00", "0x00", "00 f"] {
            assert_eq!(from_hex::<2>(bad), None, "{bad:?}");
        }
    }
}
