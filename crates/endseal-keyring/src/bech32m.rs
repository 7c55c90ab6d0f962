//! Bech32m (BIP 350) for payloads of a known length, in one case only.
//!
//! Own code, because the lengths here are beyond what BIP 350 allows, each form has exactly one
//! case, and secrets pass through it: no branch and no address depends on a payload. The error of a
//! text that is refused shows the place of one wrong character, and nothing of the others.

use alloc::string::String;
use core::hint::black_box;

use endseal_crypto::secret::{Zeroize, declassify};

/// Number of characters of a checksum (BIP-350).
const CHECKSUM_LEN: usize = 6;
/// The constant that tells Bech32m from Bech32.
const BECH32M: u32 = 0x2bc8_30a3;
const GENERATOR: [u32; 5] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
const ALPHABET: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";

/// The case of a text form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    Lower,
    Upper,
}

/// Reason why a text is not the encoding of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DecodeError {
    /// A letter has the other case.
    Case,
    /// Position of a character that is not of the alphabet.
    Character(usize),
    Checksum,
    /// The text has another number of characters than this one.
    Length(usize),
    /// Bits beyond the payload are set.
    Padding,
}

/// Characters of the encoding of `payload` bytes, without the prefix.
pub(crate) const fn data_len(payload: usize) -> usize {
    (payload * 8).div_ceil(5) + CHECKSUM_LEN
}

/// Bytes of the payload of an encoding of `data` characters without the prefix. `None` if no
/// payload has that many.
pub(crate) fn payload_len(data: usize) -> Option<usize> {
    let len = data.checked_sub(CHECKSUM_LEN)? * 5 / 8;
    (data_len(len) == data).then_some(len)
}

/// Appends data part and checksum of `payload` to `out`. `prefix` is the human-readable part in
/// lower case, without the separator.
pub(crate) fn encode(prefix: &str, payload: &[u8], case: Case, out: &mut String) {
    let mut checksum = Checksum::new(prefix);
    let mut push = |value: u8| out.push(char::from(character(value, case)));
    let (mut bits, mut pending) = (0_u16, 0);
    for byte in payload {
        bits = bits << 8 | u16::from(*byte);
        pending += 8;
        while pending >= 5 {
            pending -= 5;
            let value = low5(bits >> pending);
            checksum.add(value);
            push(value);
        }
    }
    if pending > 0 {
        let value = low5(bits << (5 - pending));
        checksum.add(value);
        push(value);
    }
    bits.zeroize();
    for value in checksum.finish() {
        push(value);
    }
}

/// Decodes data part and checksum into `payload`, whose length is that of the form.
///
/// On error `payload` may hold a part of it.
pub(crate) fn decode(
    prefix: &str,
    data: &str,
    case: Case,
    payload: &mut [u8],
) -> Result<(), DecodeError> {
    if let Some((at, c)) = data.bytes().enumerate().find(|(_, c)| !is_of_case(*c, case)) {
        let letter = c.is_ascii_alphabetic();
        return Err(if letter { DecodeError::Case } else { DecodeError::Character(at) });
    }
    if data.len() != data_len(payload.len()) {
        return Err(DecodeError::Length(data_len(payload.len())));
    }
    let mut checksum = Checksum::new(prefix);
    let mut out = payload.iter_mut();
    let (mut bits, mut pending) = (0_u16, 0);
    let body = data.len() - CHECKSUM_LEN;
    for (at, c) in data.bytes().enumerate() {
        let value = value(c).ok_or(DecodeError::Character(at))?;
        checksum.add(value);
        if at < body {
            bits = bits << 5 | u16::from(value);
            pending += 5;
            if pending >= 8 {
                pending -= 8;
                if let Some(byte) = out.next() {
                    *byte = (bits >> pending).to_le_bytes()[0];
                }
            }
        }
    }
    let padding = bits & ((1 << pending) - 1);
    bits.zeroize();
    if declassify(checksum.0 != BECH32M) {
        return Err(DecodeError::Checksum);
    }
    if declassify(padding != 0) {
        return Err(DecodeError::Padding);
    }
    Ok(())
}

/// The remainder of a polynomial over GF(32).
struct Checksum(u32);

impl Checksum {
    fn new(prefix: &str) -> Self {
        let mut own = Self(1);
        prefix.bytes().for_each(|c| own.add(c >> 5));
        own.add(0);
        prefix.bytes().for_each(|c| own.add(c & 31));
        own
    }

    fn add(&mut self, value: u8) {
        let top = self.0 >> 25;
        self.0 = (self.0 & 0x01ff_ffff) << 5 ^ u32::from(value);
        for (i, generator) in GENERATOR.iter().enumerate() {
            // A mask instead of a branch: the values may be secret.
            self.0 ^= generator & 0_u32.wrapping_sub(top >> i & 1);
        }
    }

    fn finish(mut self) -> [u8; CHECKSUM_LEN] {
        (0..CHECKSUM_LEN).for_each(|_| self.add(0));
        let remainder = self.0 ^ BECH32M;
        [25, 20, 15, 10, 5, 0].map(|shift| (remainder >> shift).to_le_bytes()[0] & 31)
    }
}

fn low5(bits: u16) -> u8 {
    bits.to_le_bytes()[0] & 31
}

/// Returns true if a byte is an ASCII digit or a letter of that case.
fn is_of_case(c: u8, case: Case) -> bool {
    let first_letter = if case == Case::Upper { b'A' } else { b'a' };
    let digit = is_below(c.wrapping_sub(b'0'), 10);
    let letter = is_below(c.wrapping_sub(first_letter), 26);
    declassify(black_box(digit | letter) == 1)
}

/// 1 if `a < b`, otherwise 0.
fn is_below(a: u8, b: u8) -> u8 {
    (u16::from(a).wrapping_sub(u16::from(b)) >> 15).to_le_bytes()[0]
}

/// The character of a value below 32.
///
/// The black box keeps the shift apart from the mask. Without it the compiler joins them to a bit
/// test, which valgrind reports as a table access at a secret index.
fn character(value: u8, case: Case) -> u8 {
    let shifted = |i: usize| black_box(CHARACTER_BITS[i].wrapping_shr(value.into()));
    let bit = |i: usize| (shifted(i) & 1).to_le_bytes()[0] << i;
    let c = (0..CHARACTER_BITS.len()).fold(0, |c, i| c | bit(i));
    // Bit 6 tells a letter from a digit, and bit 5 a small letter from a capital one.
    if case == Case::Upper { c & !(c >> 1 & 0x20) } else { c }
}

/// The value of an ASCII digit or letter, if it is of the alphabet.
fn value(c: u8) -> Option<u8> {
    let index = c & 0x1f | c >> 1 & 0x20;
    let shifted = |i: usize| black_box(VALUE_BITS[i].wrapping_shr(index.into()));
    let bit = |i: usize| (shifted(i) & 1).to_le_bytes()[0] << i;
    let value = (0..VALUE_BITS.len()).fold(0, |value, i| value | bit(i));
    declassify(black_box(value) & HAS_VALUE != 0).then_some(value & 0x1f)
}

/// Bit `value` of number i is bit i of the value's character, in lower case. Shifts take the same
/// time for all values; look-ups in [`ALPHABET`] need not.
const CHARACTER_BITS: [u32; 7] = {
    let mut bits = [0; 7];
    let mut value = 0;
    while value < 32 {
        let mut i = 0;
        while i < 7 {
            bits[i] |= (ALPHABET[value] as u32 >> i & 1) << value;
            i += 1;
        }
        value += 1;
    }
    bits
};

/// Bit `index` of number i is bit i of the value of a character, [`HAS_VALUE`] included. The index
/// is the character's five lower bits and its bit 6.
const VALUE_BITS: [u64; 6] = {
    let mut bits = [0; 6];
    let mut value = 0;
    while value < 32 {
        let c = ALPHABET[value];
        let mut i = 0;
        while i < 6 {
            bits[i] |= ((value as u64 | HAS_VALUE as u64) >> i & 1) << (c & 0x1f | c >> 1 & 0x20);
            i += 1;
        }
        value += 1;
    }
    bits
};
const HAS_VALUE: u8 = 0x20;

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    fn text(prefix: &str, payload: &[u8]) -> String {
        let mut out = String::new();
        encode(prefix, payload, Case::Lower, &mut out);
        out
    }

    /// Decodes the part after the last separator of `text`, as many bytes as its length can hold.
    fn payload_of(text: &str) -> Result<alloc::vec::Vec<u8>, DecodeError> {
        let (prefix, data) = text.rsplit_once('1').unwrap();
        let upper = text.bytes().any(|c| c.is_ascii_uppercase());
        let case = if upper { Case::Upper } else { Case::Lower };
        let mut payload = alloc::vec![0; data.len().saturating_sub(CHECKSUM_LEN) * 5 / 8];
        decode(&prefix.to_lowercase(), data, case, &mut payload).map(|()| payload)
    }

    /// BIP 350, "Test vectors for Bech32m", all valid ones.
    #[test]
    fn the_valid_strings_of_bip_350_have_the_right_checksum() {
        for (text, len) in [
            ("A1LQFN3A", 0),
            ("a1lqfn3a", 0),
            (
                "an83characterlonghumanreadablepartthatcontainsthetheexcludedcharactersbioandnumber1\
                 1sg7hg6",
                0,
            ),
            ("abcdef1l7aum6echk45nj3s0wdvt2fg8x9yrzpqzd3ryx", 20),
            ("split1checkupstagehandshakeupstreamerranterredcaperredlc445v", 30),
            ("?1v759aa", 0),
        ] {
            let payload = payload_of(text).unwrap();
            assert_eq!(payload.len(), len, "{text}");
            let (prefix, _) = text.rsplit_once('1').unwrap();
            let again = format!("{prefix}1{}", self::text(&prefix.to_lowercase(), &payload));
            assert_eq!(again.to_lowercase(), text.to_lowercase());
        }
        // 82 times 31: two bits beyond 51 bytes are set. The checksum is compared before them.
        let ones = format!("11{}ludsr8", "l".repeat(82));
        assert_eq!(payload_of(&ones), Err(DecodeError::Padding));
    }

    /// The invalid ones whose fault is in what is decoded here. Prefixes are constants of this
    /// crate, so that those with a wrong prefix have no counterpart, and lengths are those of the
    /// forms.
    #[test]
    fn the_invalid_strings_of_bip_350_are_refused() {
        for (text, error) in [
            // A wrong character alone, which is no payload: the length is checked before.
            ("y1b0jsk6g", DecodeError::Length(6)),
            ("lt1igcx5c0", DecodeError::Length(6)),
            ("in1muywd", DecodeError::Length(6)),
            ("mm1crxm3i", DecodeError::Character(5)),
            ("au1s5cgom", DecodeError::Character(4)),
            ("M1VUXWEZ", DecodeError::Checksum),
        ] {
            assert_eq!(payload_of(text), Err(error), "{text}");
        }
    }

    #[test]
    fn every_character_is_that_of_the_alphabet() {
        for (i, c) in (0..32).zip(ALPHABET) {
            assert_eq!(character(i, Case::Lower), *c);
            assert_eq!(character(i, Case::Upper), c.to_ascii_uppercase());
        }
        for c in 0..=255_u8 {
            let (upper, lower) = (c.is_ascii_uppercase(), c.is_ascii_lowercase());
            assert_eq!(is_of_case(c, Case::Upper), upper || c.is_ascii_digit());
            assert_eq!(is_of_case(c, Case::Lower), lower || c.is_ascii_digit());
            if c.is_ascii_alphanumeric() {
                let found = ALPHABET.iter().position(|of| *of == c.to_ascii_lowercase());
                assert_eq!(value(c).map(usize::from), found);
            }
        }
    }

    #[test]
    fn bech32_without_m_is_refused() {
        // BIP 173: a12uel5l.
        assert_eq!(decode("a", "2uel5l", Case::Lower, &mut []), Err(DecodeError::Checksum));
    }

    #[test]
    fn every_length_round_trips_in_both_cases() {
        for len in 0..70_u8 {
            let payload: alloc::vec::Vec<u8> = (0..len).map(|i| i.wrapping_mul(37) ^ len).collect();
            for case in [Case::Lower, Case::Upper] {
                let mut out = String::new();
                encode("test", &payload, case, &mut out);
                assert_eq!(out.len(), data_len(payload.len()));
                let mut back = alloc::vec![0; payload.len()];
                decode("test", &out, case, &mut back).unwrap();
                assert_eq!(back, payload);
            }
        }
    }

    #[test]
    fn every_single_substitution_is_found() {
        let good = text("test", &[0xa5; 32]);
        for at in 0..good.len() {
            for c in ALPHABET {
                let mut bad = good.clone().into_bytes();
                if bad[at] == *c {
                    continue;
                }
                bad[at] = *c;
                let bad = String::from_utf8(bad).unwrap();
                assert_eq!(
                    decode("test", &bad, Case::Lower, &mut [0; 32]),
                    Err(DecodeError::Checksum)
                );
            }
        }
    }

    #[test]
    fn padding_must_be_zero() {
        // 32 bytes are 51.2 characters: the last of 52 has four bits of padding.
        let mut checksum = Checksum::new("test");
        let mut data = String::new();
        for value in [0; 51].into_iter().chain([1]) {
            checksum.add(value);
            data.push(char::from(ALPHABET[usize::from(value)]));
        }
        checksum.finish().iter().for_each(|v| data.push(char::from(ALPHABET[usize::from(*v)])));
        assert_eq!(decode("test", &data, Case::Lower, &mut [0; 32]), Err(DecodeError::Padding));
    }
}
