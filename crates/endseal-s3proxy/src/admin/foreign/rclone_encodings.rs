//! Encodings of encrypted names in rclone.

/// Encoding of the bytes of an encrypted name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameEncoding {
    /// Base32 with the extended hex alphabet (RFC 4648, section 7), without padding, of either
    /// case.
    Base32,
    /// Base64 with the URL-safe alphabet (RFC 4648, section 5), without padding.
    Base64,
    /// 15 bits in each character; a last one may have 7.
    Base32768,
}

impl NameEncoding {
    pub(super) fn parse(text: &str) -> Option<Self> {
        Some(match text.to_ascii_lowercase().as_str() {
            "base32" => Self::Base32,
            "base64" => Self::Base64,
            "base32768" => Self::Base32768,
            _ => return None,
        })
    }

    /// Returns the bytes of an encoded name.
    pub(super) fn decode(self, text: &str) -> Option<Vec<u8>> {
        let mut bytes = Vec::with_capacity(text.len());
        let (mut bits, mut count, mut last) = (0_u32, 0_u32, 0);
        for character in text.chars() {
            let (value, width) = self.value(character)?;
            bits = bits << width | value;
            count += width;
            last = width;
            while count >= 8 {
                count -= 8;
                bytes.push((bits >> count).to_le_bytes()[0]);
            }
            bits &= (1 << count) - 1;
        }
        // A last character that adds no byte is none that was written.
        (count < last.min(8)).then_some(bytes)
    }

    /// Returns the bits of a character, and their number.
    fn value(self, character: char) -> Option<(u32, u32)> {
        let code = u32::from(character);
        Some(match (self, character) {
            (Self::Base32, '0'..='9') => (code - u32::from('0'), 5),
            (Self::Base32, 'a'..='v') => (code - u32::from('a') + 10, 5),
            (Self::Base32, 'A'..='V') => (code - u32::from('A') + 10, 5),
            (Self::Base64, 'A'..='Z') => (code - u32::from('A'), 6),
            (Self::Base64, 'a'..='z') => (code - u32::from('a') + 26, 6),
            (Self::Base64, '0'..='9') => (code - u32::from('0') + 52, 6),
            (Self::Base64, '-') => (62, 6),
            (Self::Base64, '_') => (63, 6),
            (Self::Base32768, _) => {
                let block = block(code & !(BLOCK - 1))?;
                match block.checked_sub(SHORT_BLOCKS) {
                    Some(block) => (block * BLOCK + code % BLOCK, 15),
                    None => (block * BLOCK + code % BLOCK, 7),
                }
            }
            _ => return None,
        })
    }
}

/// Characters of a block of base32768.
const BLOCK: u32 = 32;
/// The first blocks are those of last characters with 7 bits.
const SHORT_BLOCKS: u32 = 4;

/// Returns the number of the block that begins with a code point.
fn block(start: u32) -> Option<u32> {
    let mut before = 0;
    for (first, blocks) in RUNS {
        let (first, blocks) = (u32::from(first), u32::from(blocks));
        if (first..first + blocks * BLOCK).contains(&start) {
            return Some(before + (start - first) / BLOCK);
        }
        before += blocks;
    }
    None
}

/// Runs of adjacent blocks in the safe alphabet: first code point, and number of blocks.
#[rustfmt::skip]
const RUNS: [(u16, u16); 54] = [
    (0x180, 1), (0x240, 3), (0x4a0, 1), (0x500, 1), (0x680, 2), (0x760, 2), (0x7c0, 1),
    (0x1000, 1), (0x10a0, 1), (0x1100, 3), (0x1180, 1), (0x11e0, 3), (0x1260, 1), (0x12e0, 1),
    (0x1320, 1), (0x13a0, 2), (0x1420, 18), (0x16a0, 2), (0x1780, 1), (0x1820, 2), (0x18c0, 1),
    (0x1980, 1), (0x19e0, 1), (0x1a20, 1), (0x1bc0, 1), (0x1c00, 1), (0x1d00, 1), (0x21e0, 1),
    (0x22c0, 1), (0x2340, 5), (0x2400, 1), (0x2500, 19), (0x2780, 2), (0x2800, 12), (0x29a0, 1),
    (0x2a20, 2), (0x2a80, 2), (0x2ae0, 4), (0x2c00, 1), (0x2c80, 3), (0x2d00, 1), (0x2d40, 1),
    (0x2ea0, 2), (0x31c0, 1), (0x3400, 205), (0x4dc0, 656), (0xa000, 36), (0xa4a0, 1),
    (0xa500, 8), (0xa640, 1), (0xa6a0, 2), (0xa700, 3), (0xa780, 1), (0xa840, 1),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_1028() {
        let count: u32 = RUNS.iter().map(|(_, blocks)| u32::from(*blocks)).sum();
        assert_eq!(count, 1024 + SHORT_BLOCKS);
        assert!(RUNS.is_sorted());
        assert_eq!((block(0x180), block(0x260), block(0xa840)), (Some(0), Some(2), Some(1027)));
        assert_eq!((block(0), block(0x1a0), block(0x1f600)), (None, None, None));
    }

    #[test]
    fn texts_that_no_encoder_writes_are_refused() {
        for (encoding, text) in [
            (NameEncoding::Base32, "1"),
            (NameEncoding::Base32, "000"),
            (NameEncoding::Base32, "00w0"),
            (NameEncoding::Base32, "00="),
            (NameEncoding::Base64, "A"),
            (NameEncoding::Base64, "AA=="),
            (NameEncoding::Base64, "A+"),
            (NameEncoding::Base32768, "a"),
        ] {
            assert_eq!(encoding.decode(text), None, "{text}");
        }
        assert_eq!(NameEncoding::Base32.decode("vV"), Some(vec![255]));
        assert_eq!(NameEncoding::Base64.decode("_-8"), Some(vec![255, 239]));
    }
}
