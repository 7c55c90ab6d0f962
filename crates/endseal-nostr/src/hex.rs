//! Lower-case hexadecimal digits, in constant time: keys are among what is read and written.

/// Writes the bytes of digits to all of `out`; returns false if `text` is something else. Upper
/// case is refused. The time depends on the length of `text` and the verdict alone. `out` is
/// written in any case.
pub(crate) fn decode(text: &[u8], out: &mut [u8]) -> bool {
    text.len() == 2 * out.len() && base16ct::lower::decode(text, out).is_ok()
}

/// Parses public digits: lower case, two for each byte of the array.
#[must_use]
pub fn array<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut out = [0; N];
    decode(text.as_bytes(), &mut out).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_the_sixteen_digits_are_refused() {
        for byte in 0..=255_u8 {
            let is_digit = matches!(byte, b'0'..=b'9' | b'a'..=b'f');
            let mut out = [0; 1];
            assert_eq!(decode(&[b'0', byte], &mut out), is_digit, "{byte:02x}");
            assert_eq!(decode(&[byte, b'0'], &mut out), is_digit, "{byte:02x}");
        }
        assert_eq!(array::<2>("abc"), None);
        assert_eq!(array::<2>("abcde"), None);
        assert_eq!(array::<2>("abcdef"), None);
        assert_eq!(array::<0>(""), Some([]));
    }
}
