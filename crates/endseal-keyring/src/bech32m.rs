//! Bech32m (BIP 350) for payloads of a known length, in one case only.
//!
//! Own code, because the lengths here are beyond what BIP 350 allows, each form has exactly one case,
//! and secrets pass through it.

use alloc::string::String;

use endseal_crypto::secret::Zeroize;

/// Characters of the checksum.
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

/// Why a text is not the encoding of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DecodeError {
    /// A letter has the other case.
    Case,
    /// Position of a character that is not of the alphabet.
    Character(usize),
    Checksum,
    /// Characters there should be.
    Length(usize),
    /// Bits beyond the payload are set.
    Padding,
}

/// Characters of the encoding of `payload` bytes, without the prefix.
pub(crate) const fn data_len(payload: usize) -> usize {
    (payload * 8).div_ceil(5) + CHECKSUM_LEN
}

/// Appends data part and checksum of `payload` to `out`. `prefix` is the human-readable part in lower
/// case, without the separator.
pub(crate) fn encode(prefix: &str, payload: &[u8], case: Case, out: &mut String) {
    let mut checksum = Checksum::new(prefix);
    let mut push = |value: u8| {
        let c = ALPHABET[usize::from(value)];
        out.push(char::from(if case == Case::Upper { c.to_ascii_uppercase() } else { c }));
    };
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
    for (at, c) in data.char_indices() {
        match (c, case) {
            ('0'..='9', _) | ('a'..='z', Case::Lower) | ('A'..='Z', Case::Upper) => {}
            ('a'..='z', Case::Upper) | ('A'..='Z', Case::Lower) => return Err(DecodeError::Case),
            _ => return Err(DecodeError::Character(at)),
        }
    }
    if data.len() != data_len(payload.len()) {
        return Err(DecodeError::Length(data_len(payload.len())));
    }
    let mut checksum = Checksum::new(prefix);
    let mut out = payload.iter_mut();
    let (mut bits, mut pending) = (0_u16, 0);
    let body = data.len() - CHECKSUM_LEN;
    for (at, c) in data.bytes().enumerate() {
        let value = INVERSE[usize::from(c.to_ascii_lowercase() & 0x7f)];
        if value > 31 {
            return Err(DecodeError::Character(at));
        }
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
    if checksum.0 != BECH32M {
        return Err(DecodeError::Checksum);
    }
    if padding != 0 {
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

/// Value of a lower-case character; 255 if it has none.
const INVERSE: [u8; 128] = {
    let mut table = [255; 128];
    let mut value = 0;
    while value < 32_u8 {
        table[ALPHABET[value as usize] as usize] = value;
        value += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    fn text(prefix: &str, payload: &[u8]) -> String {
        let mut out = String::new();
        encode(prefix, payload, Case::Lower, &mut out);
        out
    }

    /// BIP 350, "Test vectors for Bech32m": those whose data is whole bytes.
    #[test]
    fn checksums_are_those_of_bip_350() {
        let long = "an83characterlonghumanreadablepartthatcontainsthetheexcludedcharactersbioand\
                    number1";
        for (prefix, data) in [("a", "lqfn3a"), (long, "sg7hg6"), ("?", "v759aa")] {
            assert_eq!(text(prefix, &[]), data);
        }
        // abcdef1l7aum6echk45nj3s0wdvt2fg8x9yrzpqzd3ryx: 20 bytes, padding-free.
        let data = "l7aum6echk45nj3s0wdvt2fg8x9yrzpqzd3ryx";
        let mut payload = [0; 20];
        decode("abcdef", data, Case::Lower, &mut payload).unwrap();
        assert_eq!(text("abcdef", &payload), data);
        assert_eq!(payload[..4], [0xff, 0xbb, 0xcd, 0xeb]);
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
