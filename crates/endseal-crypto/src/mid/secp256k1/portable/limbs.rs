//! Numbers of 260 bits in ten limbs of 26 bits, and the sums of products of their columns.
//!
//! The chips' instruction sets differ in the carry of a sum of 64 bits. Xtensa has neither a carry
//! flag nor a comparison that yields a number, so a compiler makes a branch of it there, which
//! depends on the summands. [`Split`] adds 32 bits at a time and needs no carry at all.

use core::hint::black_box;

pub(super) const LIMBS: usize = 10;
pub(super) const LIMB_BITS: u32 = 26;
pub(super) const LIMB_MASK: u32 = (1 << LIMB_BITS) - 1;
/// Bits of the highest limb of a number of 256 bits.
pub(super) const TOP_BITS: u32 = 22;
pub(super) const TOP_MASK: u32 = (1 << TOP_BITS) - 1;

pub(super) type Limbs = [u32; LIMBS];

/// The column that is faster on this instruction set. Tests compare the two.
#[cfg(any(target_arch = "riscv32", target_arch = "xtensa"))]
pub(super) type Native = Split;
#[cfg(not(any(target_arch = "riscv32", target_arch = "xtensa")))]
pub(super) type Native = Wide;

/// Sum of the products of limbs that have the same weight, and of the carry from lower columns.
///
/// The factors of a product are below 2^27 and 2^28. The products of a column sum up to less than
/// 40 · 2^52, and there are at most ten of them and two of [`Column::add_product`] with a limb.
pub(super) trait Column: Default {
    /// Adds `a` · `b`, where `a` is below 2^27.
    fn add_product(&mut self, a: u32, b: u32);

    /// Adds a number below 2^27.
    fn add(&mut self, number: u32);

    /// Adds `limb` · 2^10.
    fn add_shifted(&mut self, limb: u32);

    /// Returns the lowest limb of the sum and divides the sum by 2^26.
    fn take(&mut self) -> u32;
}

/// A sum of up to 58 bits, for instruction sets that multiply and add 64 bits.
#[cfg(any(test, not(any(target_arch = "riscv32", target_arch = "xtensa"))))]
#[derive(Default)]
pub(super) struct Wide(u64);

#[cfg(any(test, not(any(target_arch = "riscv32", target_arch = "xtensa"))))]
impl Column for Wide {
    #[inline(always)]
    fn add_product(&mut self, a: u32, b: u32) {
        self.0 += u64::from(a) * u64::from(b);
    }

    #[inline(always)]
    fn add(&mut self, number: u32) {
        self.0 += u64::from(number);
    }

    #[inline(always)]
    fn add_shifted(&mut self, limb: u32) {
        self.0 += u64::from(limb) << 10;
    }

    #[allow(clippy::cast_possible_truncation, reason = "the lowest limb")]
    #[inline(always)]
    fn take(&mut self) -> u32 {
        let limb = self.0 as u32 & LIMB_MASK;
        self.0 >>= LIMB_BITS;
        limb
    }
}

/// A sum without carries: `high` is that of the products' upper parts, each divided by 2^27 and
/// rounded down. `low` is the whole sum modulo 2^32.
///
/// The products' lower parts have 27 bits each, so that the sum of a dozen is below 2^32. It is
/// therefore `low` - `high` · 2^27 modulo 2^32, without the carries between the two.
#[cfg(any(test, target_arch = "riscv32", target_arch = "xtensa"))]
#[derive(Default)]
pub(super) struct Split {
    high: u32,
    low: u32,
}

/// Bits of the lower part of a product.
#[cfg(any(test, target_arch = "riscv32", target_arch = "xtensa"))]
const PART_BITS: u32 = 27;

#[cfg(any(test, target_arch = "riscv32", target_arch = "xtensa"))]
impl Column for Split {
    #[allow(clippy::cast_possible_truncation, reason = "the upper half of 64 bits")]
    #[inline(always)]
    fn add_product(&mut self, a: u32, b: u32) {
        let upper = (u64::from(a << (u32::BITS - PART_BITS)) * u64::from(b)) >> u32::BITS;
        self.high = self.high.wrapping_add(upper as u32);
        self.low = self.low.wrapping_add(a.wrapping_mul(b));
    }

    #[inline(always)]
    fn add(&mut self, number: u32) {
        self.low = self.low.wrapping_add(number);
    }

    #[inline(always)]
    fn add_shifted(&mut self, limb: u32) {
        self.high = self.high.wrapping_add(limb >> (PART_BITS - 10));
        self.low = self.low.wrapping_add(limb << 10);
    }

    #[inline(always)]
    fn take(&mut self) -> u32 {
        let lower = self.low.wrapping_sub(self.high << PART_BITS);
        let carry = (self.high << (PART_BITS - LIMB_BITS)).wrapping_add(lower >> LIMB_BITS);
        *self = Self { high: 0, low: carry };
        lower & LIMB_MASK
    }
}

/// A secret verdict: all bits are set or none.
#[derive(Clone, Copy)]
pub(super) struct Mask(u32);

impl Mask {
    /// Returns the verdict of the lowest bit of `bit`, the others of which are zero.
    #[inline(always)]
    pub(super) fn from_bit(bit: u32) -> Self {
        // The compiler must not know that there are two values, or it branches on them.
        Self(black_box(0_u32.wrapping_sub(bit)))
    }

    /// Returns true for `a` = `b`, both of which are below 2^31.
    #[inline(always)]
    pub(super) fn equal(a: u32, b: u32) -> Self {
        Self::from_bit((black_box(a) ^ b).wrapping_sub(1) >> 31)
    }

    /// Returns `yes` if the verdict is true.
    #[inline(always)]
    pub(super) fn select(self, yes: u32, no: u32) -> u32 {
        no ^ (self.0 & (yes ^ no))
    }

    /// Returns `number` if the verdict is true, otherwise zero.
    #[inline(always)]
    pub(super) fn filter(self, number: u32) -> u32 {
        self.0 & number
    }
}

/// Returns `yes` if the verdict is true.
#[inline(always)]
pub(super) fn select(mask: Mask, yes: &Limbs, no: &Limbs) -> Limbs {
    core::array::from_fn(|i| mask.select(yes[i], no[i]))
}

/// Reads 32 bytes, big-endian.
pub(super) fn from_bytes(bytes: &[u8; 32]) -> Limbs {
    // One word of zeros behind the number.
    let mut words = [0; 9];
    for (word, bytes) in words.iter_mut().zip(bytes.as_rchunks::<4>().1.iter().rev()) {
        *word = u32::from_be_bytes(*bytes);
    }
    core::array::from_fn(|i| {
        let bit = i * LIMB_BITS as usize;
        let (word, shift) = (bit / 32, bit % 32);
        let upper = (words[word + 1] << 1) << (31 - shift);
        (words[word] >> shift | upper) & LIMB_MASK
    })
}

/// Returns the index of the limb of a bit, and the bit's position in the limb.
#[allow(clippy::cast_possible_truncation, reason = "below 26")]
#[inline(always)]
pub(super) const fn place(bit: usize) -> (usize, u32) {
    (bit / LIMB_BITS as usize, (bit % LIMB_BITS as usize) as u32)
}

/// Writes 32 bytes, big-endian. Each limb is below 2^26 and the number below 2^256.
pub(super) fn to_bytes(limbs: &Limbs) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (i, bytes) in bytes.as_rchunks_mut::<4>().1.iter_mut().rev().enumerate() {
        // A word covers bits of up to three limbs.
        let (limb, shift) = place(i * 32);
        let mut word = limbs[limb] >> shift | limbs[limb + 1] << (LIMB_BITS - shift);
        if let Some(third) = limbs.get(limb + 2) {
            word |= (third << 1) << (2 * LIMB_BITS - shift - 1).min(31);
        }
        *bytes = word.to_be_bytes();
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The two columns agree at the bounds of what they are given.
    #[test]
    fn columns_agree_at_their_bounds() {
        fn sum<C: Column>(products: usize, a: u32, b: u32) -> [u32; 4] {
            let mut column = C::default();
            // The largest carry from a column below.
            (0..40).for_each(|_| column.add(LIMB_MASK));
            (0..products).for_each(|_| column.add_product(a, b));
            column.add_product(LIMB_MASK, 0x3d10);
            column.add_shifted(LIMB_MASK);
            core::array::from_fn(|_| column.take())
        }
        let slack = (1 << 26) + (1 << 16);
        for (products, a, b) in
            [(10, slack, 4 * LIMB_MASK), (10, (1 << 27) - 1, 1 << 27), (10, 0, 0), (1, 1, 1)]
        {
            assert_eq!(sum::<Split>(products, a, b), sum::<Wide>(products, a, b), "{a:x} {b:x}");
        }
    }

    #[test]
    fn bytes_make_the_round() {
        for pattern in [0x00, 0x01, 0x80, 0xff] {
            let mut bytes = [pattern; 32];
            for i in 0..32 {
                bytes[i] ^= 0xa5_u8.wrapping_mul(u8::try_from(i).unwrap() | 1);
                let limbs = from_bytes(&bytes);
                assert!(limbs.iter().all(|limb| *limb <= LIMB_MASK) && limbs[9] <= TOP_MASK);
                assert_eq!(to_bytes(&limbs), bytes);
            }
        }
    }
}
