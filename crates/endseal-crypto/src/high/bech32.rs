//! Bech32 (BIP-173) and Bech32m (BIP-350): the data part and the checksum of a text, of any length.
//!
//! Own code, because our texts are longer than the BIPs allow and secret keys pass through it: no
//! branch and no address depends on the bytes that are encoded or decoded. A refusal tells the
//! position of one wrong character, and nothing of the others. Works without an allocator.

use core::fmt;
use core::hint::black_box;

use super::secret::{Zeroize as _, declassify};

#[cfg(test)]
mod tests;

/// Number of characters of a checksum.
pub const CHECKSUM_LEN: usize = 6;

const ALPHABET: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";

/// The two encodings, which differ in their checksums alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "the BIPs define two")]
pub enum Variant {
    /// Bech32 (BIP-173).
    Bech32,
    /// Bech32m (BIP-350).
    Bech32m,
}

impl Variant {
    const fn remainder(self) -> u32 {
        match self {
            Self::Bech32 => 1,
            Self::Bech32m => 0x2bc8_30a3,
        }
    }
}

/// Case of all letters of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "letters have two cases")]
pub enum Case {
    /// Lower case.
    Lower,
    /// Upper case.
    Upper,
}

impl Case {
    /// Returns true if a character is an ASCII digit or a letter of this case. Nothing else about
    /// the character can be measured.
    #[must_use]
    pub fn allows(self, character: u8) -> bool {
        declassify(black_box(self.mask(character))) != 0
    }

    /// `0xff` if the case allows the character, otherwise 0.
    fn mask(self, character: u8) -> u8 {
        let first_letter = if self == Self::Upper { b'A' } else { b'a' };
        below(character.wrapping_sub(b'0'), 10) | below(character.wrapping_sub(first_letter), 26)
    }
}

/// Number of characters that encode `len` bytes: data part and checksum, without the prefix.
#[must_use]
pub const fn data_len(len: usize) -> usize {
    (len * 8).div_ceil(5) + CHECKSUM_LEN
}

/// Encodes data piece by piece and passes each character to a function.
#[allow(missing_debug_implementations, reason = "it holds bits of what may be a secret")]
pub struct Encoder<F> {
    variant: Variant,
    case: Case,
    checksum: Checksum,
    /// The last `pending` bits are not encoded yet.
    bits: u16,
    pending: u32,
    put: F,
}

impl<F: FnMut(u8)> Encoder<F> {
    /// Starts a text: writes `prefix`, which must be in lower case, and the separator `1`.
    #[must_use]
    pub fn new(variant: Variant, case: Case, prefix: &str, mut put: F) -> Self {
        let upper = case == Case::Upper;
        prefix.bytes().for_each(|c| put(if upper { c.to_ascii_uppercase() } else { c }));
        put(b'1');
        Self { variant, case, checksum: Checksum::new(prefix), bits: 0, pending: 0, put }
    }

    /// Encodes the next piece of the data, which may have any length.
    pub fn put(&mut self, data: &[u8]) {
        for byte in data {
            self.bits = self.bits << 8 | u16::from(*byte);
            self.pending += 8;
            while self.pending >= 5 {
                self.pending -= 5;
                self.put_value(low_byte(self.bits >> self.pending) & 31);
            }
        }
    }

    /// Ends the data and writes the checksum.
    pub fn finish(mut self) {
        if self.pending > 0 {
            self.put_value(low_byte(self.bits << (5 - self.pending)) & 31);
        }
        self.bits.zeroize();
        (0..CHECKSUM_LEN).for_each(|_| self.checksum.add(0));
        let code = self.checksum.0 ^ self.variant.remainder();
        for shift in [25, 20, 15, 10, 5, 0] {
            (self.put)(character((code >> shift).to_le_bytes()[0] & 31, self.case));
        }
    }

    fn put_value(&mut self, value: u8) {
        self.checksum.add(value);
        (self.put)(character(value, self.case));
    }
}

/// Decodes data part and checksum, without prefix and separator, into all of `out`. `prefix` may be
/// in either case.
///
/// # Errors
/// [`DecodeError`]; `out` is then wiped.
pub fn decode(
    variant: Variant,
    case: Case,
    prefix: &str,
    data: &[u8],
    out: &mut [u8],
) -> Result<(), DecodeError> {
    decode_values(variant, case, prefix, data, out).inspect_err(|_| out.zeroize())
}

fn decode_values(
    variant: Variant,
    case: Case,
    prefix: &str,
    data: &[u8],
    out: &mut [u8],
) -> Result<(), DecodeError> {
    let values = data.len().checked_sub(CHECKSUM_LEN).ok_or(DecodeError::Length)?;
    if values * 5 / 8 != out.len() {
        return Err(DecodeError::Length);
    }
    let mut checksum = Checksum::new(prefix);
    let mut all_valid = 0xff;
    let (mut bits, mut pending) = (0_u16, 0);
    let mut out = out.iter_mut();
    for (at, c) in data.iter().enumerate() {
        let (value, valid) = value(*c, case);
        all_valid &= valid;
        checksum.add(value);
        if at < values {
            bits = bits << 5 | u16::from(value);
            pending += 5;
            if pending >= 8 {
                pending -= 8;
                if let Some(byte) = out.next() {
                    *byte = low_byte(bits >> pending);
                }
            }
        }
    }
    let padding = bits & ((1 << pending) - 1);
    bits.zeroize();
    if declassify(all_valid) == 0 {
        let is_invalid = |c: &u8| declassify(value(*c, case).1) == 0;
        return Err(DecodeError::Character(data.iter().position(is_invalid).unwrap_or(0)));
    }
    if declassify(checksum.0) != variant.remainder() {
        return Err(DecodeError::Checksum);
    }
    if pending > 4 || declassify(padding) != 0 {
        return Err(DecodeError::Padding);
    }
    Ok(())
}

/// Reason why a text is not the encoding of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "each format translates all of them to its own")]
pub enum DecodeError {
    /// A data part of this length holds another number of bytes than the buffer has.
    Length,
    /// Position, in the data part, of the first character that is not of the alphabet or is a
    /// letter of the other case.
    Character(usize),
    /// The checksum is wrong: a typing error, another prefix, or the other variant.
    Checksum,
    /// The bits that fill the last character are more than four, or not 0.
    Padding,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length => f.write_str("the text has a wrong length"),
            Self::Character(at) => write!(f, "character {} of the data is not allowed", at + 1),
            Self::Checksum => f.write_str("the checksum of the text is wrong"),
            Self::Padding => f.write_str("the text ends with bits that are not 0"),
        }
    }
}

impl core::error::Error for DecodeError {}

/// Remainder of a polynomial over GF(32), by the generator of BIP-173.
struct Checksum(u32);

impl Checksum {
    fn new(prefix: &str) -> Self {
        let mut own = Self(1);
        prefix.bytes().for_each(|c| own.add(c.to_ascii_lowercase() >> 5));
        own.add(0);
        prefix.bytes().for_each(|c| own.add(c & 31));
        own
    }

    fn add(&mut self, value: u8) {
        const GENERATOR: [u32; 5] =
            [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
        let top = self.0 >> 25;
        self.0 = (self.0 & 0x01ff_ffff) << 5 ^ u32::from(value);
        for (i, generator) in GENERATOR.iter().enumerate() {
            // A mask instead of a branch, because the values may be secret. The black box keeps it
            // a mask, as in `below`.
            self.0 ^= generator & black_box((top >> i & 1).wrapping_neg());
        }
    }
}

fn low_byte(bits: u16) -> u8 {
    bits.to_le_bytes()[0]
}

/// `0xff` if `a < b`, otherwise 0.
///
/// The black box keeps the mask a mask. Without it the compiler makes branches of its uses, where
/// the processor has no conditional move.
fn below(a: u8, b: u8) -> u8 {
    black_box(u16::from(a).wrapping_sub(u16::from(b)).to_be_bytes()[0])
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

/// The value of a character, and `0xff` if it has one in this case, otherwise 0.
fn value(c: u8, case: Case) -> (u8, u8) {
    let letter = black_box(u32::from(c >> 6 & 1).wrapping_neg());
    let shifted = |i: usize| {
        let bits = DIGIT_BITS[i] & !letter | LETTER_BITS[i] & letter;
        black_box(bits.wrapping_shr((c & 31).into()))
    };
    let bit = |i: usize| (shifted(i) & 1).to_le_bytes()[0] << i;
    let value = black_box((0..DIGIT_BITS.len()).fold(0, |value, i| value | bit(i)));
    (value & 31, case.mask(c) & black_box((value >> 5).wrapping_neg()))
}

/// Bit `value` of number i is bit i of the value's character, in lower case. Shifts take the same
/// time for all values, on 32-bit processors, too; look-ups in [`ALPHABET`] need not.
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

const DIGIT_BITS: [u32; 6] = value_bits(0);
const LETTER_BITS: [u32; 6] = value_bits(0x40);

/// Bit `c & 31` of number i is bit i of the value of the character `c`, among the characters whose
/// bit 6 is that of `kind`. Number 5 says which characters have a value.
const fn value_bits(kind: u8) -> [u32; 6] {
    let mut bits = [0; 6];
    let mut value = 0_u32;
    while value < 32 {
        let c = ALPHABET[value as usize];
        let mut i = 0;
        while i < 6 && c & 0x40 == kind {
            bits[i] |= ((value | 32) >> i & 1) << (c & 31);
            i += 1;
        }
        value += 1;
    }
    bits
}
