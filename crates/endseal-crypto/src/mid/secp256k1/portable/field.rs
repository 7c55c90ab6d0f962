//! Numbers modulo p = 2^256 - 2^32 - 977 (SEC 2, 2.4.1).
//!
//! Limbs may exceed 26 bits. A number has *magnitude* m if its limbs are at most m times as large
//! as those of a product, which are below 2^26 + 2^16. Sums add magnitudes, and [`Field::carry`]
//! makes them 1. Each operation states the magnitudes that it accepts.

use core::mem;

use super::limbs::{
    self, Column, LIMB_BITS, LIMB_MASK, LIMBS, Limbs, Mask, Native, TOP_BITS, TOP_MASK,
};

/// 2^260 modulo p is `FOLD` + 2^10 · 2^26.
const FOLD: u32 = 16 * 977;
/// p in limbs.
const P: Limbs = [
    0x03ff_fc2f,
    0x03ff_ffbf,
    LIMB_MASK,
    LIMB_MASK,
    LIMB_MASK,
    LIMB_MASK,
    LIMB_MASK,
    LIMB_MASK,
    LIMB_MASK,
    TOP_MASK,
];

/// A number modulo p, reduced in part.
#[derive(Clone, Copy)]
pub(super) struct Field(Limbs);

impl Field {
    pub(super) const ZERO: Self = Self([0; LIMBS]);
    pub(super) const ONE: Self = Self([1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    pub(super) const SEVEN: Self = Self([7, 0, 0, 0, 0, 0, 0, 0, 0, 0]);

    pub(super) const fn new(limbs: Limbs) -> Self {
        Self(limbs)
    }

    /// Reads 32 bytes, big-endian. `None` if the number is not below p. The verdict is public.
    pub(super) fn from_bytes(bytes: &[u8; 32]) -> Option<Self> {
        let read = Self(limbs::from_bytes(bytes));
        (read.to_bytes() == *bytes).then_some(read)
    }

    pub(super) fn to_bytes(self) -> [u8; 32] {
        limbs::to_bytes(&self.canonical())
    }

    /// Returns the product. Accepts magnitudes 1 for `self` and 4 for `other`.
    #[cfg_attr(not(target_arch = "xtensa"), inline(never))]
    pub(super) fn mul(&self, other: &Self) -> Self {
        #[cfg(target_arch = "xtensa")]
        return Self(crate::low::xtensa::multiply(&self.0, &other.0));
        #[cfg(not(target_arch = "xtensa"))]
        self.mul_in::<Native>(other)
    }

    /// Returns the square. Accepts magnitude 1.
    #[cfg_attr(not(target_arch = "xtensa"), inline(never))]
    pub(super) fn square(&self) -> Self {
        #[cfg(target_arch = "xtensa")]
        return Self(crate::low::xtensa::square(&self.0));
        #[cfg(not(target_arch = "xtensa"))]
        self.square_in::<Native>()
    }

    #[inline(always)]
    fn mul_in<C: Column>(&self, other: &Self) -> Self {
        let (a, b) = (&self.0, &other.0);
        reduce::<C>(
            #[inline(always)]
            |column, k| {
                for i in k.saturating_sub(LIMBS - 1)..LIMBS.min(k + 1) {
                    column.add_product(a[i], b[k - i]);
                }
            },
        )
    }

    #[inline(always)]
    fn square_in<C: Column>(&self) -> Self {
        let a = &self.0;
        let doubled = a.map(|limb| limb << 1);
        reduce::<C>(
            #[inline(always)]
            |column, k| {
                for i in k.saturating_sub(LIMBS - 1)..k.div_ceil(2) {
                    column.add_product(a[k - i], doubled[i]);
                }
                if k % 2 == 0 {
                    column.add_product(a[k / 2], a[k / 2]);
                }
            },
        )
    }

    /// Returns the sum, whose magnitude is the sum of magnitudes.
    #[inline(always)]
    pub(super) fn add(&self, other: &Self) -> Self {
        Self(core::array::from_fn(|i| self.0[i].wrapping_add(other.0[i])))
    }

    /// Returns `self` · `factor`, which multiplies the magnitude.
    #[inline(always)]
    pub(super) fn times(&self, factor: u32) -> Self {
        Self(self.0.map(|limb| limb.wrapping_mul(factor)))
    }

    /// Returns -`self` for a number of at most `MAGNITUDE`. The result has twice that.
    #[inline(always)]
    pub(super) fn negate<const MAGNITUDE: u32>(&self) -> Self {
        Self(core::array::from_fn(|i| (2 * MAGNITUDE * P[i]).wrapping_sub(self.0[i])))
    }

    /// Returns the same number with magnitude 1. Accepts magnitudes up to 60.
    #[inline(always)]
    pub(super) fn carry(&self) -> Self {
        let mut limbs = self.0;
        let top = limbs[LIMBS - 1] >> TOP_BITS;
        limbs[LIMBS - 1] &= TOP_MASK;
        limbs[0] = limbs[0].wrapping_add(top.wrapping_mul(977));
        limbs[1] = limbs[1].wrapping_add(top << (u32::BITS - LIMB_BITS));
        for i in 0..LIMBS - 1 {
            limbs[i + 1] = limbs[i + 1].wrapping_add(limbs[i] >> LIMB_BITS);
            limbs[i] &= LIMB_MASK;
        }
        Self(limbs)
    }

    /// Returns `self` / 2 with magnitude 1. Accepts magnitudes up to 60.
    #[inline(always)]
    pub(super) fn half(&self) -> Self {
        // An odd number plus p is even.
        let odd = Mask::from_bit(self.0[0] & 1);
        let even: Limbs = core::array::from_fn(|i| self.0[i].wrapping_add(odd.filter(P[i])));
        let halved = core::array::from_fn(|i| {
            let lent = even.get(i + 1).map_or(0, |next| (next & 1) << (LIMB_BITS - 1));
            (even[i] >> 1).wrapping_add(lent)
        });
        Self(halved).carry()
    }

    /// Returns `yes` if `mask` is true. The magnitude is the larger one.
    #[inline(always)]
    pub(super) fn select(mask: Mask, yes: &Self, no: &Self) -> Self {
        Self(limbs::select(mask, &yes.0, &no.0))
    }

    /// Sets this number, which is zero, to `other` if `mask` is true.
    #[inline(always)]
    pub(super) fn accumulate(&mut self, mask: Mask, other: &Self) {
        for (sum, limb) in self.0.iter_mut().zip(other.0) {
            *sum |= mask.filter(limb);
        }
    }

    /// Returns true for zero. The verdict is public.
    pub(super) fn is_zero(&self) -> bool {
        self.canonical().iter().fold(0, |all, limb| all | limb) == 0
    }

    /// Returns true for zero.
    pub(super) fn is_zero_mask(&self) -> Mask {
        Mask::equal(self.canonical().iter().fold(0, |all, limb| all | limb), 0)
    }

    /// Returns the lowest bit of the number in `0..p`.
    pub(super) fn lowest_bit(&self) -> u32 {
        self.canonical()[0] & 1
    }

    /// Returns 1 / `self`, or zero for zero.
    pub(super) fn invert(&self) -> Self {
        // The exponent is p - 2: 223 ones, a zero, 22 ones, and 0000101101.
        let (x2, x22, x223) = self.runs_of_ones();
        x223.square_times(23)
            .mul(&x22)
            .square_times(5)
            .mul(self)
            .square_times(3)
            .mul(&x2)
            .square_times(2)
            .mul(self)
    }

    /// Returns the square root, the other one of which is its negative, if there is one. The
    /// verdict is public.
    pub(super) fn square_root(&self) -> Option<Self> {
        let root = self.inverse_root().mul(self);
        root.square().add(&self.negate::<1>()).is_zero().then_some(root)
    }

    /// Returns a number r with r² = 1 / `self` for a square, r² = -1 / `self` for any other number
    /// and r = 0 for zero.
    pub(super) fn inverse_root(&self) -> Self {
        // The exponent is (p - 3) / 4: 223 ones, a zero, 22 ones, and 00001011.
        let (x2, x22, x223) = self.runs_of_ones();
        x223.square_times(23).mul(&x22).square_times(5).mul(self).square_times(3).mul(&x2)
    }

    /// Returns the powers of `self` with the exponents 2^2 - 1, 2^22 - 1 and 2^223 - 1.
    fn runs_of_ones(&self) -> (Self, Self, Self) {
        let x2 = self.square().mul(self);
        let x3 = x2.square().mul(self);
        let x6 = x3.square_times(3).mul(&x3);
        let x9 = x6.square_times(3).mul(&x3);
        let x11 = x9.square_times(2).mul(&x2);
        let x22 = x11.square_times(11).mul(&x11);
        let x44 = x22.square_times(22).mul(&x22);
        let x88 = x44.square_times(44).mul(&x44);
        let x176 = x88.square_times(88).mul(&x88);
        let x220 = x176.square_times(44).mul(&x44);
        (x2, x22, x220.square_times(3).mul(&x3))
    }

    /// Returns `self` to the power of 2^`times`.
    fn square_times(&self, times: u32) -> Self {
        let (mut one, mut other) = (*self, Self::ZERO);
        let (mut power, mut next) = (&mut one, &mut other);
        for _ in 0..times {
            power.square_to(next);
            mem::swap(&mut power, &mut next);
        }
        *power
    }

    /// Sets `square` to the square. Accepts magnitude 1.
    #[inline(always)]
    fn square_to(&self, square: &mut Self) {
        #[cfg(target_arch = "xtensa")]
        crate::low::xtensa::square_to(&mut square.0, &self.0);
        #[cfg(not(target_arch = "xtensa"))]
        {
            *square = self.square();
        }
    }

    /// Returns the limbs of the number in `0..p`.
    fn canonical(&self) -> Limbs {
        let number = self.carry().0;
        // The number plus 2^256 - p: it has bit 256 exactly if the number is not below p.
        let mut beyond = number;
        beyond[0] += 977;
        beyond[1] += 1 << (u32::BITS - LIMB_BITS);
        for i in 0..LIMBS - 1 {
            beyond[i + 1] += beyond[i] >> LIMB_BITS;
            beyond[i] &= LIMB_MASK;
        }
        let is_beyond = Mask::from_bit(beyond[LIMBS - 1] >> TOP_BITS);
        beyond[LIMBS - 1] &= TOP_MASK;
        limbs::select(is_beyond, &beyond, &number)
    }
}

/// Returns the number whose product has the columns that `add` adds.
///
/// The columns from 10 on, which are multiples of 2^260, are folded into those ten below them.
#[inline(always)]
fn reduce<C: Column>(add: impl Fn(&mut C, usize)) -> Field {
    let (mut lower, mut upper) = (C::default(), C::default());
    let mut limbs = [0; LIMBS];
    add(&mut upper, LIMBS - 1);
    let middle = upper.take();
    let mut before = 0;
    // Written out, because the compiler does not unroll a loop with the sums of products within.
    macro_rules! fold {
        ($($k:literal)*) => {$(
            add(&mut upper, LIMBS + $k);
            let folded = upper.take();
            add(&mut lower, $k);
            lower.add_product(folded, FOLD);
            lower.add_shifted(before);
            limbs[$k] = lower.take();
            before = folded;
        )*};
    }
    fold!(0 1 2 3 4 5 6 7 8);
    // Both factors are below 2^258, so that this is below 2^22.
    let folded = upper.take();
    lower.add(middle);
    lower.add_product(folded, FOLD);
    lower.add_shifted(before);
    let last = lower.take();
    limbs[LIMBS - 1] = last & TOP_MASK;
    // The rest has the weights 2^256 and, in two limbs, 2^260.
    let carry = lower.take();
    let small = (last >> TOP_BITS) + (carry << (LIMB_BITS - TOP_BITS));
    let large = [(folded << 10) & LIMB_MASK, folded >> (LIMB_BITS - 10)];
    let mut column = C::default();
    column.add(limbs[0]);
    column.add(small.wrapping_mul(977));
    column.add_product(large[0], FOLD);
    limbs[0] = column.take();
    column.add(limbs[1]);
    column.add(small << (u32::BITS - LIMB_BITS));
    column.add(large[1] * FOLD);
    column.add_shifted(large[0]);
    limbs[1] = column.take();
    limbs[2] += column.take() + (large[1] << 10);
    Field(limbs)
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use super::super::limbs::{Split, Wide};
    use super::*;
    use crate::mid::{hash, label};

    fn number(i: u32) -> Field {
        let mut bytes = [0; 32];
        hash::derive_into(label::ENVELOPE_HEADER, &[&i.to_le_bytes()], &mut bytes);
        Field(limbs::from_bytes(&bytes))
    }

    /// The largest limbs of a magnitude.
    fn largest(magnitude: u32) -> Field {
        let mut limbs = [magnitude * (LIMB_MASK + (1 << 16)); LIMBS];
        limbs[LIMBS - 1] = magnitude * (TOP_MASK + (1 << 6));
        Field(limbs)
    }

    /// Both columns give the same product for the largest limbs, and it is right: it agrees with
    /// that of the carried numbers.
    #[test]
    fn products_at_the_bounds() {
        for i in 0..20 {
            for (a, b) in [
                (number(i), number(100 + i)),
                (largest(1), largest(4)),
                (number(i), largest(4)),
                (largest(1), number(i).negate::<1>().negate::<2>()),
            ] {
                let split = a.mul_in::<Split>(&b);
                assert_eq!(split.0, a.mul_in::<Wide>(&b).0);
                assert!(split.0.iter().all(|limb| *limb <= LIMB_MASK + (1 << 16)));
                let carried = a.carry().mul_in::<Wide>(&b.carry());
                assert_eq!(split.to_bytes(), carried.to_bytes());
                let square = a.square_in::<Split>();
                assert_eq!(square.0, a.square_in::<Wide>().0);
                assert_eq!(square.to_bytes(), a.mul_in::<Wide>(&a).to_bytes());
            }
        }
    }

    #[test]
    fn inverses_roots_and_halves() {
        for i in 0..20 {
            let a = number(i);
            assert_eq!(a.mul(&a.invert()).to_bytes(), Field::ONE.to_bytes());
            let root = a.square().square_root().unwrap();
            assert_eq!(root.square().to_bytes(), a.square().to_bytes());
            // -1 is no square, so a number or its negative has no root.
            assert!(a.square().negate::<1>().carry().square_root().is_none());
            assert_eq!(a.half().times(2).to_bytes(), a.to_bytes());
            assert!(a.add(&a.negate::<1>()).is_zero());
        }
        assert!(Field(P).is_zero() && Field(P).times(2).is_zero());
        assert!(Field::ZERO.invert().is_zero());
    }
}
