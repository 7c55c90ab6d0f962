//! Lower-case hexadecimal digits, in constant time: keys are among what is read and written.

/// `0xff` if `a < b`, otherwise 0.
pub(crate) const fn below(a: u8, b: u8) -> u8 {
    (a as u16).wrapping_sub(b as u16).to_be_bytes()[0]
}

/// Two digits of a byte.
pub(crate) const fn encode(byte: u8) -> [u8; 2] {
    let (high, low) = (byte >> 4, byte & 15);
    [letter(high), letter(low)]
}

const fn letter(nibble: u8) -> u8 {
    b'0' + nibble + ((b'a' - b'0' - 10) & !below(nibble, 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_two_digits() {
        for byte in 0..=255 {
            let digits = encode(byte);
            assert_eq!(digits, *format!("{byte:02x}").as_bytes());
        }
    }
}
