//! Arithmetic modulo p = 2^255 - 19 in portable, safe Rust: five limbs of 51 bits in `u64`,
//! products in `u128`. It is the twin that the vector kernels are compared with.
//!
//! | operation | limbs in | limbs out |
//! |---|---|---|
//! | `from_bytes` | | < 2^51 |
//! | `add` | < 2^53 | < 2^54 |
//! | `sub` | < 2^54 | < 2^52 |
//! | `mul`, `square`, `mul_small` | < 2^54 | < 2^52 |
//! | `to_bytes` | < 2^54 | |
//!
//! `limbs25519` has the arithmetic; its tests prove these bounds. Nothing branches or indexes on a
//! value.
#![forbid(unsafe_code)]

use core::hint::black_box;

use zeroize::Zeroize;

use super::divsteps25519;
use super::limbs25519::{self as limbs, MASK};

/// A number modulo p. Not unique: compare encodings.
#[derive(Clone, Copy)]
pub(crate) struct Element([u64; 5]);

impl Element {
    pub(crate) const ZERO: Self = Self([0; 5]);
    pub(crate) const ONE: Self = Self([1, 0, 0, 0, 0]);
    /// The d of edwards25519: -121665/121666.
    pub(crate) const EDWARDS_D: Self = Self([
        929_955_233_495_203,
        466_365_720_129_213,
        1_662_059_464_998_953,
        2_033_849_074_728_123,
        1_442_794_654_840_575,
    ]);

    /// A number of limbs below 2^54.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn from_limbs(limbs: [u64; 5]) -> Self {
        Self(limbs).checked(54)
    }

    #[cfg(target_arch = "x86_64")]
    pub(super) fn limbs(self) -> [u64; 5] {
        self.0
    }

    /// Little endian; bit 255 is ignored, values from p to 2^255 - 1 are taken modulo p.
    pub(crate) fn from_bytes(bytes: &[u8; 32]) -> Self {
        let (words, _) = bytes.as_chunks::<8>();
        let [a, b, c, d] = [0, 1, 2, 3].map(|i: usize| u64::from_le_bytes(words[i]));
        Self([
            a & MASK,
            (a >> 51 | b << 13) & MASK,
            (b >> 38 | c << 26) & MASK,
            (c >> 25 | d << 39) & MASK,
            d >> 12 & MASK,
        ])
    }

    /// The canonical encoding: 32 bytes, little-endian, below 2^255 - 19.
    pub(crate) fn to_bytes(self) -> [u8; 32] {
        let mut x = self.carried().0;
        // The value is below 2p: subtract p once if it is at least p.
        let mut q = (x[0] + 19) >> 51;
        for limb in &x[1..] {
            q = (limb + q) >> 51;
        }
        x[0] += 19 * q;
        for i in 0..4 {
            x[i + 1] += x[i] >> 51;
            x[i] &= MASK;
        }
        x[4] &= MASK;
        let words = [
            x[0] | x[1] << 51,
            x[1] >> 13 | x[2] << 38,
            x[2] >> 26 | x[3] << 25,
            x[3] >> 39 | x[4] << 12,
        ];
        let mut bytes = [0; 32];
        for (to, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *to = word.to_le_bytes();
        }
        bytes
    }

    pub(crate) fn add(self, y: Self) -> Self {
        self.check(53);
        y.check(53);
        Self(limbs::add(self.0, y.0))
    }

    pub(crate) fn sub(self, y: Self) -> Self {
        self.check(54);
        y.check(54);
        Self(limbs::sub(self.0, y.0)).checked(52)
    }

    pub(crate) fn mul(self, y: Self) -> Self {
        self.check(54);
        y.check(54);
        Self(limbs::mul(self.0, y.0)).checked(52)
    }

    pub(crate) fn square(self) -> Self {
        self.check(54);
        Self(limbs::square(self.0)).checked(52)
    }

    pub(crate) fn mul_small(self, y: u32) -> Self {
        self.check(54);
        Self(limbs::mul_small(self.0, u64::from(y))).checked(52)
    }

    /// Computes x^(2^n) by `n` squarings.
    pub(crate) fn square_times(self, n: u32) -> Self {
        (0..n).fold(self, |x, _| x.square())
    }

    /// (x^(2^250 - 1), x^11): with the first goes the Legendre symbol, with both the inverse.
    fn pow_2_250_minus_1(self) -> (Self, Self) {
        let x2 = self.square();
        let x9 = x2.square_times(2).mul(self);
        let x11 = x9.mul(x2);
        let n5 = x11.square().mul(x9);
        let n10 = n5.square_times(5).mul(n5);
        let n20 = n10.square_times(10).mul(n10);
        let n40 = n20.square_times(20).mul(n20);
        let n50 = n40.square_times(10).mul(n10);
        let n100 = n50.square_times(50).mul(n50);
        let n200 = n100.square_times(100).mul(n100);
        (n200.square_times(50).mul(n50), x11)
    }

    /// 1/x, and 0 for 0.
    pub(crate) fn invert(self) -> Self {
        let mut bytes = self.to_bytes();
        let mut inverse = divsteps25519::invert(&bytes);
        let out = Self::from_bytes(&inverse);
        bytes.zeroize();
        inverse.zeroize();
        out
    }

    /// x^((p-1)/2): 1 for a square, 0 for 0, -1 otherwise. The exponent is 4(4(2^250 - 1) + 1) + 2.
    pub(crate) fn legendre(self) -> Self {
        let (n250, _) = self.pow_2_250_minus_1();
        n250.square_times(2).mul(self).square_times(2).mul(self.square())
    }

    /// All bits set if x = 0 modulo p, none otherwise.
    pub(crate) fn zero_mask(self) -> u64 {
        let any = self.to_bytes().iter().fold(0, |any, byte| any | u64::from(*byte));
        black_box(any.wrapping_sub(1) >> 63).wrapping_neg()
    }

    /// `self` where the mask is clear, `other` where it is set.
    pub(crate) fn select(self, other: Self, mask: u64) -> Self {
        Self(core::array::from_fn(|i| self.0[i] ^ (mask & (self.0[i] ^ other.0[i]))))
    }

    #[inline]
    fn carried(self) -> Self {
        Self(limbs::carried(self.0)).checked(52)
    }

    #[inline]
    fn checked(self, bits: u32) -> Self {
        self.check(bits);
        self
    }

    fn check(self, bits: u32) {
        debug_assert!(self.0.iter().all(|limb| limb >> bits == 0), "a limb out of its bound");
    }
}

impl Zeroize for Element {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::low::reference25519::{P, multiply_add, of_limbs, random_words};

    /// Limbs at the bounds of 51, 52 and 53 bits and of `bits`, and random ones.
    fn operands(bits: u32) -> Vec<Element> {
        let limb = [0, 1, MASK, (1 << bits) - 1];
        let mut operands: Vec<_> = (0..1024)
            .map(|i| Element([1, 4, 16, 64, 256].map(|place: usize| limb[i / place % 4])))
            .collect();
        operands.extend((0..40).map(|i| Element([MASK + 1 - i, MASK, MASK, MASK, MASK])));
        let mut random = random_words("endseal test: portable operands");
        operands.extend((0..40).map(|_| Element([(); 5].map(|()| random() >> (64 - bits)))));
        operands
    }

    /// Below 2^256, as the reference wants its factors.
    fn value(x: Element) -> [u64; 8] {
        let one = of_limbs(&[1], 64);
        let bytes = multiply_add(&one, &[0; 8], &of_limbs(&x.0, 51));
        of_limbs(&[0, 1, 2, 3].map(|i| u64::from_le_bytes(bytes.as_chunks::<8>().0[i])), 64)
    }

    #[test]
    fn operations_like_schoolbook() {
        let operands = operands(54);
        let one = of_limbs(&[1], 64);
        let minus_one = of_limbs(&[P[0] - 1, P[1], P[2], P[3]], 64);
        for x in &operands {
            let u = value(*x);
            assert_eq!(x.to_bytes(), multiply_add(&u, &one, &[0; 8]));
            assert_eq!(x.square().to_bytes(), multiply_add(&u, &u, &[0; 8]));
            let small = of_limbs(&[121_666], 64);
            assert_eq!(x.mul_small(121_666).to_bytes(), multiply_add(&u, &small, &[0; 8]));
            for y in operands.iter().step_by(7) {
                let v = value(*y);
                assert_eq!(x.mul(*y).to_bytes(), multiply_add(&u, &v, &[0; 8]));
                assert_eq!(x.sub(*y).to_bytes(), multiply_add(&v, &minus_one, &u));
            }
        }
        for x in &self::operands(53) {
            let sum = multiply_add(&one, &value(*x), &value(Element([MASK; 5])));
            assert_eq!(x.add(Element([MASK; 5])).to_bytes(), sum);
        }
    }

    #[test]
    fn inverses_and_legendre_symbols() {
        let minus_one = Element::ZERO.sub(Element::ONE).to_bytes();
        for x in operands(54).iter().step_by(9) {
            let zero = x.to_bytes() == [0; 32];
            assert_eq!(x.zero_mask(), if zero { u64::MAX } else { 0 });
            let unit = if zero { Element::ZERO } else { Element::ONE };
            assert_eq!(x.mul(x.invert()).to_bytes(), unit.to_bytes());
            assert_eq!(x.square().legendre().to_bytes(), unit.to_bytes());
            // 2 is no square modulo p = 5 (mod 8).
            let expected = if zero { [0; 32] } else { minus_one };
            assert_eq!(x.square().mul_small(2).legendre().to_bytes(), expected);
        }
    }

    /// Computes the inverse x^(p-2) by an addition chain, without divsteps.
    fn inverse_by_power(x: Element) -> Element {
        let (n250, x11) = x.pow_2_250_minus_1();
        n250.square_times(5).mul(x11)
    }

    #[test]
    fn inverses_like_powers() {
        let mut random = random_words("endseal test: portable inverses");
        let mut words = Vec::from([[0; 4], [1, 0, 0, 0], P, [P[0] - 1, P[1], P[2], P[3]]]);
        // Powers of two and their neighbours, p minus small numbers, and p / 2 or so.
        for bit in 0..255 {
            let mut power = [0; 4];
            power[bit / 64] = 1 << (bit % 64);
            words.extend([power, [power[0] | 1, power[1], power[2], power[3]]]);
            words.push(core::array::from_fn(|i| P[i] ^ power[i]));
        }
        words.extend((0..64).map(|i| [i, 0, 0, 0]));
        words.extend((0..64).map(|i| [P[0] - i, P[1], P[2], P[3]]));
        // Runs of ones and zeros, which keep zeta away from 0 for long.
        for ones in 1..64 {
            let word = (1 << ones) - 1;
            words.extend([[word; 4], [!word; 4], [0, word, 0, word], [0, 0, 0, !word]]);
        }
        words.extend((0..20_000).map(|_| core::array::from_fn(|_| random())));
        for words in words {
            let mut bytes = [0; 32];
            bytes.as_chunks_mut::<8>().0.copy_from_slice(&words.map(u64::to_le_bytes));
            let x = Element::from_bytes(&bytes);
            assert_eq!(x.invert().to_bytes(), inverse_by_power(x).to_bytes(), "{words:x?}");
        }
    }

    #[test]
    fn selection_by_mask() {
        assert_eq!(Element::ONE.select(Element::ZERO, 0).0, Element::ONE.0);
        assert_eq!(Element::ONE.select(Element::ZERO, u64::MAX).0, Element::ZERO.0);
    }
}
