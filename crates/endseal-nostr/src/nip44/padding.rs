//! Padding, which hides the length of a plaintext up to an eighth.
//!
//! All lengths are computed in 64 bits: that of the longest padded plaintext is 2^32.

/// Length in bytes of the longest plaintext that NIP-44 allows.
pub const MAX_PLAINTEXT: u64 = 0xffff_ffff;
/// Longest plaintext in bytes without the extended length.
pub const MAX_PLAINTEXT_SHORT: u64 = 0xffff;

/// Shortest padded plaintext in bytes.
const MIN_PADDED: u64 = 32;
/// Longest power of two in which padding still goes in steps of [`MIN_PADDED`].
const FINE: u64 = 256;

/// Length in bytes of a plaintext of `len` bytes with its padding, without the prefix.
///
/// `len` is 1 to [`MAX_PLAINTEXT`]; 0 is padded as 1 is, and the result of a longer one is that of
/// the same rule.
#[must_use]
pub const fn padded_len(len: u64) -> u64 {
    if len <= MIN_PADDED {
        return MIN_PADDED;
    }
    let power = match len.checked_next_power_of_two() {
        Some(power) => power,
        None => return u64::MAX,
    };
    let step = if power <= FINE { MIN_PADDED } else { power / 8 };
    len.next_multiple_of(step)
}

/// Length of a plaintext as it is written before it.
pub(super) struct Prefix {
    bytes: [u8; Self::EXTENDED_LEN],
    len: usize,
}

impl Prefix {
    /// Length of the prefix of a plaintext up to [`MAX_PLAINTEXT_SHORT`].
    pub(super) const SHORT_LEN: usize = 2;
    /// Length of the prefix of a longer one: two zero bytes and four of length.
    pub(super) const EXTENDED_LEN: usize = 6;

    /// The prefix of a plaintext of 1 to [`MAX_PLAINTEXT`] bytes.
    pub(super) fn new(len: u32) -> Self {
        let [a, b, c, d] = len.to_be_bytes();
        if u64::from(len) <= MAX_PLAINTEXT_SHORT {
            Self { bytes: [c, d, 0, 0, 0, 0], len: Self::SHORT_LEN }
        } else {
            Self { bytes: [0, 0, a, b, c, d], len: Self::EXTENDED_LEN }
        }
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Place of the plaintext in `padded`, if prefix and padding are those that a sealer writes.
///
/// Refused are a length of 0, an extended length that fits the short prefix, a padded length that
/// is not the one of the plaintext, and padding other than zeros.
pub(super) fn unpad(padded: &[u8]) -> Option<core::ops::Range<usize>> {
    let (short, rest) = padded.split_first_chunk::<{ Prefix::SHORT_LEN }>()?;
    let (len, start) = match u16::from_be_bytes(*short) {
        0 => {
            let len = u64::from(u32::from_be_bytes(*rest.first_chunk()?));
            (Some(len).filter(|len| *len > MAX_PLAINTEXT_SHORT)?, Prefix::EXTENDED_LEN)
        }
        len => (u64::from(len), Prefix::SHORT_LEN),
    };
    if padded.len() as u64 != start as u64 + padded_len(len) {
        return None;
    }
    // No more than the length of `padded`, so that it fits.
    let end = start + usize::try_from(len).ok()?;
    // Without an early end, so that many bytes are looked at at once.
    let padding = padded.get(end..)?.iter().fold(0, |all, byte| all | byte);
    (padding == 0).then_some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The formula of the NIP, with its logarithm.
    fn by_logarithm(len: u64) -> u64 {
        if len <= 32 {
            return 32;
        }
        let power = 1_u64 << ((len - 1).ilog2() + 1);
        let step = if power <= 256 { 32 } else { power / 8 };
        step * ((len - 1) / step + 1)
    }

    #[test]
    fn padded_lengths_are_those_of_the_formula() {
        for len in (1..=70_000).chain((0..32).flat_map(|bits| {
            let power = 1_u64 << bits;
            [power - 1, power, power + 1].map(|len| len.clamp(1, MAX_PLAINTEXT))
        })) {
            assert_eq!(padded_len(len), by_logarithm(len), "{len}");
        }
        assert_eq!(padded_len(MAX_PLAINTEXT), 1 << 32);
        assert_eq!(padded_len(MAX_PLAINTEXT_SHORT), padded_len(MAX_PLAINTEXT_SHORT + 1));
    }

    #[test]
    fn a_prefix_has_one_form_for_each_length() {
        assert_eq!(Prefix::new(1).as_bytes(), [0, 1]);
        assert_eq!(Prefix::new(65_535).as_bytes(), [0xff, 0xff]);
        assert_eq!(Prefix::new(65_536).as_bytes(), [0, 0, 0, 1, 0, 0]);
        assert_eq!(Prefix::new(u32::MAX).as_bytes(), [0, 0, 0xff, 0xff, 0xff, 0xff]);
    }

    fn padded(prefix: &[u8], len: usize) -> ([u8; 400], usize) {
        let mut out = [0; 400];
        out[..prefix.len()].copy_from_slice(prefix);
        out[prefix.len()..].fill(0x61);
        let end = prefix.len() + len;
        out[end..].fill(0);
        (out, end)
    }

    #[test]
    fn what_a_sealer_writes_is_accepted() {
        for len in 1_u16..=300 {
            let (bytes, end) = padded(&len.to_be_bytes(), usize::from(len));
            let total = 2 + usize::try_from(padded_len(u64::from(len))).unwrap();
            assert_eq!(unpad(&bytes[..total]), Some(2..end), "{len}");
        }
    }

    #[test]
    fn other_lengths_and_padding_are_refused() {
        let (bytes, _) = padded(&[0, 5], 5);
        assert_eq!(unpad(&bytes[..34]), Some(2..7));
        for total in [0, 1, 2, 5, 6, 7, 33, 35, 66] {
            assert_eq!(unpad(&bytes[..total]), None, "{total}");
        }
        // A length of zero, one beyond the end, and one that has another padded length.
        for len in [[0, 0], [0, 33], [0, 64], [0xff, 0xff]] {
            assert_eq!(unpad(&padded(&len, 5).0[..34]), None, "{len:?}");
        }
        for at in 7..34 {
            let mut bytes = padded(&[0, 5], 5).0;
            bytes[at] = 1;
            assert_eq!(unpad(&bytes[..34]), None, "{at}");
        }
    }

    #[test]
    fn the_extended_form_of_a_short_length_is_refused() {
        for len in [0_u32, 1, 32, 300, 65_535] {
            let mut prefix = [0; 6];
            prefix[2..].copy_from_slice(&len.to_be_bytes());
            let (bytes, _) = padded(&prefix, 32);
            for total in [6, 34, 38, 400] {
                assert_eq!(unpad(&bytes[..total]), None, "{len} in {total}");
            }
        }
    }
}
