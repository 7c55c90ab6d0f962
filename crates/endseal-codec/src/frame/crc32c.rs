//! CRC-32C (Castagnoli, RFC 3720 B.4): the CPU's instruction with `std`, tables without it.

/// The checksum of the parts, one after the other.
pub(super) fn checksum(parts: &[&[u8]]) -> u32 {
    parts.iter().fold(0, |crc, part| append(crc, part))
}

#[cfg(feature = "std")]
fn append(crc: u32, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(crc, bytes)
}

#[cfg(not(feature = "std"))]
use by_table::append;

#[cfg(any(test, not(feature = "std")))]
mod by_table {
    /// x^32 + x^28 + x^27 + ... + 1, lowest power first.
    const POLYNOMIAL: u32 = 0x82f6_3b78;

    /// The remainder of each byte value, computed at compile time.
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut byte = 0;
        while byte < 256 {
            #[expect(clippy::cast_possible_truncation, reason = "below 256")]
            let mut remainder = byte as u32;
            let mut bit = 0;
            while bit < 8 {
                let odd = remainder & 1 != 0;
                remainder = remainder >> 1 ^ if odd { POLYNOMIAL } else { 0 };
                bit += 1;
            }
            table[byte] = remainder;
            byte += 1;
        }
        table
    };

    pub(super) fn append(crc: u32, bytes: &[u8]) -> u32 {
        !bytes.iter().fold(!crc, |crc, byte| {
            let [low, ..] = crc.to_le_bytes();
            crc >> 8 ^ TABLE[usize::from(low ^ byte)]
        })
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn the_checksums_of_rfc_3720_are_found() {
        let up: Vec<u8> = (0..32).collect();
        let down: Vec<u8> = (0..32).rev().collect();
        for (bytes, crc) in [
            (&[0; 32][..], 0x8a91_36aa),
            (&[0xff; 32], 0x62a8_ab43),
            (&up, 0x46dd_794e),
            (&down, 0x113f_db5c),
            (b"123456789", 0xe306_9283),
        ] {
            assert_eq!(checksum(&[bytes]), crc);
            assert_eq!(by_table::append(0, bytes), crc);
        }
    }

    #[test]
    fn instruction_and_tables_agree_on_every_length_and_cut() {
        let bytes: Vec<u8> = (0..=250).cycle().take(600).collect();
        for len in 0..bytes.len() {
            let (head, tail) = bytes[..len].split_at(len / 3);
            assert_eq!(checksum(&[head, tail]), by_table::append(0, &bytes[..len]));
        }
    }
}
