//! JSON (RFC 8259) read where it lies and written into buffers of the caller, without allocation.
//!
//! Strings stay where they are: [`Text`] refers to one, escaped or not, and streams its pieces. A
//! [`Scanner`](scan::Scanner) refuses what two readers could understand differently.

pub mod scan;
mod text;
pub mod unescape;
pub mod write;

use core::fmt;

pub use text::{Escaped, Piece, Pieces, Text};

/// Cause of a refusal of JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JsonError {
    /// The input is not UTF-8.
    Utf8,
    /// A byte that the grammar does not allow there, another type than the expected one, or the end
    /// of the input.
    Unexpected,
    /// More than [`scan::MAX_DEPTH`] objects and arrays within each other.
    Depth,
    /// An object that is read has more than [`scan::MAX_MEMBERS`] members.
    Members,
    /// An object that is read has two members of one name.
    Duplicate,
    /// A number that is negative, has a fraction or an exponent, or exceeds its maximum.
    Integer,
    /// An escaped surrogate without its other half.
    Surrogate,
    /// The input continues behind the end of the value.
    Trailing,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Utf8 => "the JSON is not UTF-8",
            Self::Unexpected => "the JSON is malformed, cut or has a value of another type",
            Self::Depth => "the JSON is nested too deeply",
            Self::Members => "an object of the JSON has too many members",
            Self::Duplicate => "an object of the JSON has a member twice",
            Self::Integer => "a number of the JSON is not an integer in its range",
            Self::Surrogate => "a string of the JSON has half a surrogate pair",
            Self::Trailing => "something follows the JSON",
        })
    }
}

impl core::error::Error for JsonError {}

/// Position of the first `"`, backslash or control character below 0x20; the length if there is
/// none.
fn special(bytes: &[u8]) -> usize {
    const WORD: usize = size_of::<usize>();
    const ONES: usize = usize::MAX / 255;
    const TOPS: usize = ONES << 7;
    let (words, rest) = bytes.as_chunks::<WORD>();
    for (i, word) in words.iter().enumerate() {
        let word = usize::from_le_bytes(*word);
        // The top bit of each byte that is below 0x20, or equal; a byte above the first hit may be
        // marked wrongly, as it lends to the subtraction.
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        let quote = word ^ (ONES * b'"' as usize);
        let backslash = word ^ (ONES * b'\\' as usize);
        let hits =
            control | quote.wrapping_sub(ONES) & !quote | backslash.wrapping_sub(ONES) & !backslash;
        if hits & TOPS != 0 {
            return i * WORD + (hits & TOPS).trailing_zeros() as usize / 8;
        }
    }
    let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
    let done = bytes.len() - rest.len();
    done + rest.iter().position(is_special).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::special;

    #[test]
    fn the_first_special_byte_is_found_at_every_place() {
        let is_special = |byte: u8| byte < 0x20 || byte == b'"' || byte == b'\\';
        for len in 0..20 {
            for at in 0..len {
                for byte in 0..=255 {
                    let mut bytes = [0x80; 20];
                    bytes[at] = byte;
                    // A second special character behind the first one changes nothing.
                    bytes[(at + 1).min(19)] = b'"';
                    let hit = if is_special(byte) { at } else { len.min(at + 1) };
                    assert_eq!(special(&bytes[..len]), hit.min(len), "{byte:02x} at {at} of {len}");
                }
            }
        }
    }

    #[test]
    fn words_give_what_bytes_give() {
        let mut random = endseal_testing::SplitMix64::new(7);
        for _ in 0..20_000 {
            let mut bytes = [0; 24];
            for byte in &mut bytes {
                // Mostly near the borders.
                *byte = *[0x1f, 0x20, 0x21, 0x22, 0x23, 0x5b, 0x5c, 0x5d, 0x7f, 0x80, 0xa2, 0xdc]
                    .get(random.below(16_usize))
                    .unwrap_or(&0x61);
            }
            let slow = bytes.iter().position(|b| *b < 0x20 || *b == b'"' || *b == b'\\');
            assert_eq!(special(&bytes), slow.unwrap_or(24), "{bytes:02x?}");
        }
    }
}
