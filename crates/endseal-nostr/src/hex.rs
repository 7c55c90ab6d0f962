//! Lower-case hexadecimal digits, in constant time: keys are among what is read and written.

use endseal_crypto::secret::declassify;

/// `0xff` if `a < b`, otherwise 0.
pub(crate) const fn below(a: u8, b: u8) -> u8 {
    (a as u16).wrapping_sub(b as u16).to_be_bytes()[0]
}

/// Writes the bytes of digits to all of `out`; returns false if `text` is something else. Upper
/// case is refused. The time depends on the length of `text` alone. `out` is written in any case.
pub(crate) fn decode(text: &[u8], out: &mut [u8]) -> bool {
    let (pairs, rest) = text.as_chunks::<2>();
    if !rest.is_empty() || pairs.len() != out.len() {
        return false;
    }
    let mut valid = 0xff;
    for (byte, [high, low]) in out.iter_mut().zip(pairs) {
        let (high, low) = (digit(*high), digit(*low));
        valid &= high.1 & low.1;
        *byte = high.0 << 4 | low.0;
    }
    declassify(valid) == 0xff
}

/// Value of a digit, and `0xff` if it is one.
const fn digit(c: u8) -> (u8, u8) {
    let (number, letter) = (c.wrapping_sub(b'0'), c.wrapping_sub(b'a'));
    let (is_number, is_letter) = (below(number, 10), below(letter, 6));
    (number & is_number | letter.wrapping_add(10) & is_letter, is_number | is_letter)
}

/// Two digits of a byte.
pub(crate) const fn encode(byte: u8) -> [u8; 2] {
    let (high, low) = (byte >> 4, byte & 15);
    [letter(high), letter(low)]
}

const fn letter(nibble: u8) -> u8 {
    b'0' + nibble + ((b'a' - b'0' - 10) & !below(nibble, 10))
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
    fn every_byte_is_read_as_it_was_written() {
        for byte in 0..=255 {
            let digits = encode(byte);
            assert_eq!(digits, *format!("{byte:02x}").as_bytes());
            assert_eq!(array(str::from_utf8(&digits).unwrap()), Some([byte]));
        }
    }

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
