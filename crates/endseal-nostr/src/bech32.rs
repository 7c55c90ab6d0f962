//! Bech32 (BIP-173) with up to 5,000 characters, as NIP-19 has it.
//!
//! Secret keys pass through here: no step depends on the values of the characters behind the
//! prefix, except by the one verdict at the end.

use core::fmt;

use endseal_crypto::secret::{Zeroize as _, declassify};

use crate::hex::below;
use crate::output::{Output, OutputTooSmall, Sink as _};

/// Most characters of a text (NIP-19).
pub const MAX_LEN: usize = 5_000;

const CHARSET: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
const CHECKSUM_LEN: usize = 6;

/// Cause why a text is not bech32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Bech32Error {
    /// The text has more than [`MAX_LEN`] characters or too few, or another number than a key.
    Length,
    /// The text has no separator `1`, or the part before it is empty or has other characters than
    /// ASCII letters.
    Prefix,
    /// A character behind the separator is none of the 32, or upper and lower case are mixed.
    Character,
    /// The checksum is wrong: a typing error, or another format (bech32m).
    Checksum,
    /// The bits that fill the last character are more than four or not 0.
    Padding,
    /// The buffer is too small.
    Output(OutputTooSmall),
}

impl fmt::Display for Bech32Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Length => "the text has a wrong length",
            Self::Prefix => "the text has no prefix",
            Self::Character => "the text has a character that is not allowed",
            Self::Checksum => "the checksum of the text is wrong",
            Self::Padding => "the text ends with bits that are not 0",
            Self::Output(error) => return error.fmt(f),
        })
    }
}

impl core::error::Error for Bech32Error {}

/// The part before the separator, as it is written.
///
/// # Errors
/// [`Bech32Error::Prefix`].
pub(crate) fn prefix(text: &str) -> Result<&str, Bech32Error> {
    // The first `1`, as no prefix of ours has one: the search ends before the data begin.
    match text.split_once('1') {
        Some((prefix, _))
            if !prefix.is_empty() && prefix.bytes().all(|b| b.is_ascii_alphabetic()) =>
        {
            Ok(prefix)
        }
        _ => Err(Bech32Error::Prefix),
    }
}

/// Decodes the data behind the prefix to the front of `out`.
///
/// # Errors
/// [`Bech32Error`]; `out` is wiped.
pub(crate) fn decode<'o>(text: &str, out: &'o mut [u8]) -> Result<&'o mut [u8], Bech32Error> {
    if text.len() > MAX_LEN {
        return Err(Bech32Error::Length);
    }
    let prefix = prefix(text)?;
    let characters = &text.as_bytes()[prefix.len() + 1..];
    let values = characters.len().checked_sub(CHECKSUM_LEN).ok_or(Bech32Error::Length)?;
    let needed = values * 5 / 8;
    if out.len() < needed {
        return Err(Bech32Error::Output(OutputTooSmall { needed }));
    }
    let data = &mut out[..needed];
    decode_values(prefix, characters, data).inspect_err(|_| data.zeroize())?;
    Ok(&mut out[..needed])
}

fn decode_values(prefix: &str, characters: &[u8], out: &mut [u8]) -> Result<(), Bech32Error> {
    let mut case = Case::default();
    for character in prefix.bytes() {
        case.lower(character);
    }
    let mut checksum = Checksum::new(prefix);
    let mut invalid = 0;
    let (mut bits, mut count) = (0_u16, 0);
    let (data, tail) = characters.split_at(characters.len() - CHECKSUM_LEN);
    let mut out = out.iter_mut();
    for character in data {
        let (value, is_invalid) = value(case.lower(*character));
        invalid |= is_invalid;
        checksum.put(value);
        bits = (bits & 0xff) << 5 | u16::from(value);
        count += 5;
        if count >= 8 {
            count -= 8;
            if let Some(byte) = out.next() {
                *byte = (bits >> count).to_be_bytes()[1];
            }
        }
    }
    for character in tail {
        let (value, is_invalid) = value(case.lower(*character));
        invalid |= is_invalid;
        checksum.put(value);
    }
    let padding = count > 4 || declassify(bits & ((1 << count) - 1)) != 0;
    if declassify(invalid | case.mixed()) != 0 {
        Err(Bech32Error::Character)
    } else if declassify(checksum.0) != 1 {
        Err(Bech32Error::Checksum)
    } else if padding {
        Err(Bech32Error::Padding)
    } else {
        Ok(())
    }
}

/// Value of a lower-case character, and `0xff` if it has none. All 32 are compared.
fn value(character: u8) -> (u8, u8) {
    let (mut value, mut found) = (0, 0);
    for (i, candidate) in (0..).zip(CHARSET) {
        let is_equal = below(candidate ^ character, 1);
        value |= i & is_equal;
        found |= is_equal;
    }
    (value, !found)
}

/// Character of a value below 32. All 32 are read.
fn character(value: u8) -> u8 {
    let mut character = 0;
    for (i, candidate) in (0..).zip(CHARSET) {
        character |= candidate & below(value ^ i, 1);
    }
    character
}

/// Both cases that were met, each as a mask.
#[derive(Default)]
struct Case {
    upper: u8,
    lower: u8,
}

impl Case {
    /// The character in lower case.
    fn lower(&mut self, character: u8) -> u8 {
        let is_upper = below(character.wrapping_sub(b'A'), 26);
        self.upper |= is_upper;
        self.lower |= below(character.wrapping_sub(b'a'), 26);
        character | 0x20 & is_upper
    }

    fn mixed(&self) -> u8 {
        self.upper & self.lower
    }
}

/// The BCH code of BIP-173.
struct Checksum(u32);

impl Checksum {
    fn new(prefix: &str) -> Self {
        let mut checksum = Self(1);
        for byte in prefix.bytes() {
            checksum.put(byte.to_ascii_lowercase() >> 5);
        }
        checksum.put(0);
        for byte in prefix.bytes() {
            checksum.put(byte & 31);
        }
        checksum
    }

    fn put(&mut self, value: u8) {
        const GENERATOR: [u32; 5] =
            [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
        let top = self.0 >> 25;
        self.0 = (self.0 & 0x01ff_ffff) << 5 ^ u32::from(value);
        for (i, generator) in GENERATOR.iter().enumerate() {
            self.0 ^= generator & (top >> i & 1).wrapping_neg();
        }
    }
}

/// Writes bech32 piece by piece.
pub(crate) struct Encoder<'o> {
    out: Output<'o>,
    checksum: Checksum,
    bits: u16,
    count: u32,
}

impl<'o> Encoder<'o> {
    /// Begins with a prefix of lower-case letters.
    pub(crate) fn new(prefix: &str, out: &'o mut [u8]) -> Self {
        let mut out = Output::new(out);
        out.put(prefix.as_bytes());
        out.put(b"1");
        Self { out, checksum: Checksum::new(prefix), bits: 0, count: 0 }
    }

    /// Appends data, which is encoded at once.
    pub(crate) fn put(&mut self, data: &[u8]) {
        for byte in data {
            self.bits = self.bits << 8 | u16::from(*byte);
            self.count += 8;
            while self.count >= 5 {
                self.count -= 5;
                self.put_value((self.bits >> self.count).to_be_bytes()[1] & 31);
            }
        }
    }

    fn put_value(&mut self, value: u8) {
        self.checksum.put(value);
        self.out.put(&[character(value)]);
    }

    /// Ends the data, and adds the checksum.
    pub(crate) fn finish(mut self) -> Result<&'o str, OutputTooSmall> {
        if self.count > 0 {
            self.put_value((self.bits << (5 - self.count)).to_be_bytes()[1] & 31);
        }
        for _ in 0..CHECKSUM_LEN {
            self.checksum.put(0);
        }
        let code = self.checksum.0 ^ 1;
        for i in (0..CHECKSUM_LEN).rev() {
            let value = (code >> (5 * i)).to_be_bytes()[3] & 31;
            self.out.put(&[character(value)]);
        }
        self.out.finish_text()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(prefix: &str, data: &[u8]) -> String {
        let mut out = [0; 200];
        let mut encoder = Encoder::new(prefix, &mut out);
        let (first, second) = data.split_at(data.len() / 3);
        encoder.put(first);
        encoder.put(second);
        encoder.finish().unwrap().to_owned()
    }

    fn decoded(text: &str) -> Result<Vec<u8>, Bech32Error> {
        decode(text, &mut [0; 4_000]).map(|data| data.to_vec())
    }

    #[test]
    fn all_lengths_are_read_as_they_were_written() {
        let mut random = endseal_testing::SplitMix64::new(19);
        for len in 0..100 {
            let data: Vec<u8> = (0..len).map(|_| random.byte()).collect();
            let text = encoded("test", &data);
            assert_eq!(decoded(&text), Ok(data.clone()), "{text}");
            assert_eq!(decoded(&text.to_uppercase()), Ok(data));
            assert_eq!(prefix(&text), Ok("test"));
        }
    }

    /// BIP-173: valid strings whose prefix has letters only, and whose data are whole bytes.
    #[test]
    fn published_strings_are_accepted() {
        assert_eq!(decoded("A12UEL5L"), Ok(vec![]));
        assert_eq!(decoded("a12uel5l"), Ok(vec![]));
        let text = "abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw";
        let data = [0x00, 0x44, 0x32, 0x14, 0xc7, 0x42, 0x54, 0xb6, 0x35, 0xcf];
        let data =
            [&data[..], &[0x84, 0x65, 0x3a, 0x56, 0xd7, 0xc6, 0x75, 0xbe, 0x77, 0xdf]].concat();
        assert_eq!(decoded(text), Ok(data));
    }

    #[test]
    fn one_wrong_character_is_found() {
        let text = encoded("nsec", &[0x5a; 32]);
        for i in 5..text.len() {
            for replacement in *CHARSET {
                let mut bytes = text.clone().into_bytes();
                if bytes[i] != replacement {
                    bytes[i] = replacement;
                    let text = String::from_utf8(bytes).unwrap();
                    assert_eq!(decoded(&text), Err(Bech32Error::Checksum), "{text}");
                }
            }
        }
        assert_eq!(decoded(&text.replace("nsec", "npub")), Err(Bech32Error::Checksum));
        // The same with the constant of bech32m (BIP-350).
        assert_eq!(decoded("a1lqfn3a"), Err(Bech32Error::Checksum));
    }

    #[test]
    fn all_other_characters_are_refused() {
        let text = encoded("note", &[7; 32]);
        for byte in 0..0x80_u8 {
            let mut bytes = text.clone().into_bytes();
            bytes[20] = byte;
            let text = String::from_utf8(bytes).unwrap();
            let is_known = CHARSET.contains(&byte);
            let expected = if is_known { Bech32Error::Checksum } else { Bech32Error::Character };
            if let Err(error) = decoded(&text) {
                assert_eq!(error, expected, "{byte:02x}");
            }
        }
        let mut mixed = text.clone().into_bytes();
        let at = mixed.iter().rposition(u8::is_ascii_lowercase).unwrap();
        mixed[at].make_ascii_uppercase();
        assert_eq!(decoded(str::from_utf8(&mixed).unwrap()), Err(Bech32Error::Character));
        assert_eq!(decoded(&text.replace("note", "NOTE")), Err(Bech32Error::Character));
        assert_eq!(decoded(&text.replace("note", "Note")), Err(Bech32Error::Character));
        assert_eq!(decoded("note1é"), Err(Bech32Error::Length));
        assert_eq!(decoded("note1éééééé"), Err(Bech32Error::Character));
    }

    #[test]
    fn texts_without_a_prefix_or_a_checksum_are_refused() {
        for text in
            ["", "1", "1qqqqqq", "note", "no te1qqqqqq", "no-te1qqqqqq", "é1qqqqqq", "41qqq"]
        {
            assert_eq!(decoded(text), Err(Bech32Error::Prefix), "{text}");
        }
        for text in ["note1", "note1qqqqq"] {
            assert_eq!(decoded(text), Err(Bech32Error::Length), "{text}");
        }
    }

    #[test]
    fn padding_is_zero_and_shorter_than_a_character() {
        // Valid checksums over values that are not whole bytes.
        let with_values = |values: &[u8]| {
            let mut out = [0; 100];
            let mut encoder = Encoder::new("a", &mut out);
            for value in values {
                encoder.put_value(*value);
            }
            encoder.finish().unwrap().to_owned()
        };
        assert_eq!(decoded(&with_values(&[31, 28])), Ok(vec![0xff]));
        for values in [&[31, 29][..], &[31, 30], &[0], &[0, 0, 0], &[0; 6]] {
            assert_eq!(decoded(&with_values(values)), Err(Bech32Error::Padding), "{values:?}");
        }
    }

    #[test]
    fn length_is_bounded() {
        let text = |len: usize| {
            let mut out = vec![0; MAX_LEN + 10];
            let mut encoder = Encoder::new("ab", &mut out);
            (0..len - 9).for_each(|_| encoder.put_value(0));
            encoder.finish().unwrap().to_owned()
        };
        // 4,991 values leave three bits over, 4,992 none.
        assert!(decoded(&text(MAX_LEN)).is_ok());
        assert_eq!(decoded(&text(MAX_LEN + 1)), Err(Bech32Error::Length));
    }

    #[test]
    fn a_buffer_that_is_too_small_is_an_error_and_a_failure_leaves_nothing() {
        let text = encoded("note", &[7; 32]);
        let error = Bech32Error::Output(OutputTooSmall { needed: 32 });
        assert_eq!(decode(&text, &mut [0; 31]), Err(error));
        let mut out = [0xee; 33];
        let last = text.len() - 1;
        let end = if text.ends_with('q') { "p" } else { "q" };
        let text = format!("{}{end}", &text[..last]);
        assert_eq!(decode(&text, &mut out), Err(Bech32Error::Checksum));
        assert_eq!(out[..32], [0; 32]);
        let mut out = [0; 62];
        let mut encoder = Encoder::new("nsec", &mut out);
        encoder.put(&[1; 32]);
        assert_eq!(encoder.finish(), Err(OutputTooSmall { needed: 63 }));
        assert_eq!(out, [0; 62]);
    }
}
