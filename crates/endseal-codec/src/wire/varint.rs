//! Base-128 varints, least significant group first, in their shortest form only.

/// Bytes of the longest varint, of 2^64 - 1.
pub(crate) const MAX_LEN: usize = 10;

/// Reason why bytes are not a varint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The input ends before the last byte.
    Truncated,
    /// Longer than needed, or above 2^64 - 1.
    Malformed,
}

/// The value, and how many bytes it has.
#[inline]
pub(crate) fn read(bytes: &[u8]) -> Result<(u64, usize), Fault> {
    match bytes.first() {
        Some(&byte) if byte < 0x80 => Ok((u64::from(byte), 1)),
        _ => read_long(bytes),
    }
}

/// Reads a varint as `read` does, if it has more than one byte.
#[inline]
fn read_long(bytes: &[u8]) -> Result<(u64, usize), Fault> {
    match bytes.first_chunk() {
        Some(word) => read_word(u64::from_le_bytes(*word)).unwrap_or_else(|| read_bytes(bytes)),
        None => read_bytes(bytes),
    }
}

/// All bytes at once; `None` if the varint does not end within eight.
#[inline]
fn read_word(word: u64) -> Option<Result<(u64, usize), Fault>> {
    const TOPS: u64 = 0x8080_8080_8080_8080;
    let ends = !word & TOPS;
    if ends == 0 {
        return None;
    }
    // The top bit of the last byte; below it and with it are all bytes of the varint.
    let end = ends & ends.wrapping_neg();
    let groups = word & (end | (end - 1)) & !TOPS;
    let len = end.trailing_zeros() as usize / 8 + 1;
    if len > 1 && groups >> (8 * (len - 1)) == 0 {
        return Some(Err(Fault::Malformed));
    }
    // Groups of 7 bits in bytes, then of 14 in two, of 28 in four, of 56.
    let pairs = (groups & 0x007f_007f_007f_007f) | ((groups & 0x7f00_7f00_7f00_7f00) >> 1);
    let fours = (pairs & 0x0000_3fff_0000_3fff) | ((pairs & 0x3fff_0000_3fff_0000) >> 2);
    Some(Ok(((fours & 0x0fff_ffff) | ((fours & 0x0fff_ffff_0000_0000) >> 4), len)))
}

/// Byte for byte: the slow twin of `read_word`, and for what is longer.
fn read_bytes(bytes: &[u8]) -> Result<(u64, usize), Fault> {
    let mut value = 0;
    for (index, &byte) in bytes.iter().take(MAX_LEN).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte < 0x80 {
            // A last group of 0 adds nothing; the tenth group can hold one bit only.
            let malformed = (byte == 0 && index > 0) || (index == MAX_LEN - 1 && byte > 1);
            return if malformed { Err(Fault::Malformed) } else { Ok((value, index + 1)) };
        }
    }
    Err(if bytes.len() < MAX_LEN { Fault::Truncated } else { Fault::Malformed })
}

/// Length in bytes of the shortest form of a value.
#[inline]
pub(crate) const fn len(value: u64) -> usize {
    // 1 for 0 to 7 significant bits, 2 to 14, ...: ceil(bits / 7) without a division.
    let bits = (u64::BITS - (value | 1).leading_zeros()) as usize;
    (bits * 9 + 64) / 64
}

/// Writes the shortest form to the front of `out`, and says how long it is.
#[inline]
pub(crate) fn write(mut value: u64, out: &mut [u8; MAX_LEN]) -> usize {
    let mut len = 0;
    for byte in out {
        len += 1;
        let group = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            *byte = group;
            break;
        }
        *byte = group | 0x80;
    }
    len
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges() -> impl Iterator<Item = u64> {
        (0..64).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit, (1 << bit) + 1]).chain([u64::MAX])
    }

    #[test]
    fn what_is_written_is_read_and_has_the_announced_length() {
        for value in edges() {
            let mut out = [0xee; MAX_LEN];
            let written = write(value, &mut out);
            assert_eq!(written, len(value), "{value}");
            assert_eq!(read(&out), Ok((value, written)));
            for cut in 0..written {
                assert_eq!(read(&out[..cut]), Err(Fault::Truncated), "{value} cut to {cut}");
            }
        }
    }

    #[test]
    fn all_bytes_at_once_are_read_as_byte_for_byte() {
        // Every pattern of top bits, with empty, mixed and full groups.
        for tops in 0..256_u64 {
            let tops = (0..8).fold(0, |word, bit| word | (tops >> bit & 1) << (8 * bit + 7));
            for groups in [0, u64::MAX, 0x0123_4567_89ab_cdef, 1 << 48, 0x0001_0001_0001_0001] {
                let word = tops | (groups & 0x7f7f_7f7f_7f7f_7f7f);
                let bytes = word.to_le_bytes();
                match read_word(word) {
                    Some(outcome) => assert_eq!(outcome, read_bytes(&bytes), "{bytes:02x?}"),
                    None => assert_eq!(read_bytes(&bytes), Err(Fault::Truncated)),
                }
            }
        }
    }

    #[test]
    fn longer_forms_are_refused() {
        for value in edges() {
            let mut out = [0; MAX_LEN];
            let written = write(value, &mut out);
            for longer in written + 1..=MAX_LEN {
                let mut form = out;
                form[written - 1] |= 0x80;
                form[written..longer - 1].fill(0x80);
                form[longer - 1] = 0;
                assert_eq!(read(&form[..longer]), Err(Fault::Malformed), "{value} in {longer}");
            }
        }
    }

    #[test]
    fn what_exceeds_64_bits_is_refused() {
        let mut form = [0xff; 11];
        assert_eq!(read(&form), Err(Fault::Malformed));
        form[9] = 2;
        assert_eq!(read(&form), Err(Fault::Malformed));
        form[9] = 1;
        assert_eq!(read(&form), Ok((u64::MAX, 10)));
    }
}
