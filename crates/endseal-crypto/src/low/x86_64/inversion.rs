//! Division of many by many with one inversion (Montgomery's trick), which runs in portable code:
//! what inverts one number gains nothing from lanes.

use core::arch::x86_64::{
    _mm512_or_si512 as or, _mm512_permutex_epi64, _mm512_shuffle_i64x2, _mm512_testn_epi64_mask,
};
use core::slice;

use zeroize::{Zeroize, Zeroizing};

use super::field::{Columns, Reduced};
use super::lanes::Lanes;
use crate::low::divsteps25519;

/// Number of groups of eight that share one inversion.
pub(super) const RUN: usize = 32;

/// Numerators and denominators of up to [`RUN`] groups, wiped when dropped.
pub(super) struct Fractions<const BITS: u32> {
    len: usize,
    /// Largest number of groups there has ever been: these must be wiped.
    used: usize,
    numerators: [Lanes<BITS>; RUN],
    denominators: [Lanes<BITS>; RUN],
    prefixes: [Lanes<BITS>; RUN],
}

impl<const BITS: u32> Fractions<BITS> {
    pub(super) fn new() -> Self {
        let lanes = [Lanes::ZERO; RUN];
        Self { len: 0, used: 0, numerators: lanes, denominators: lanes, prefixes: lanes }
    }

    /// Adds eight; where the denominator is 0, the fraction is 0.
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn push(&mut self, numerator: Columns<BITS>, denominator: Columns<BITS>) {
        let denominator = denominator.carry().canonical();
        let zero = zero_lanes(denominator);
        let one = Reduced::small(1);
        let denominator = Reduced(denominator.0).select(one, zero);
        let numerator = numerator.carry().select(Reduced::small(0), zero);
        let prefix = match self.len {
            0 => one,
            n => self.prefixes[n - 1].reduced().times(self.denominators[n - 1].reduced()),
        };
        self.prefixes[self.len] = Lanes::of(prefix.0);
        self.numerators[self.len] = Lanes::of(numerator.0);
        self.denominators[self.len] = Lanes::of(denominator.0);
        self.len += 1;
        self.used = self.used.max(self.len);
    }

    /// Calls `each` with the canonical quotients of each group, last group first, and empties.
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn divide(&mut self, mut each: impl FnMut(usize, Columns<BITS>)) {
        let Some(last) = self.len.checked_sub(1) else { return };
        let product = self.prefixes[last].reduced().times(self.denominators[last].reduced());
        let mut inverse = invert(product);
        for i in (0..self.len).rev() {
            let inverted = inverse.times(self.prefixes[i].reduced());
            inverse = inverse.times(self.denominators[i].reduced());
            each(i, self.numerators[i].reduced().times(inverted).canonical());
        }
        self.len = 0;
    }
}

impl<const BITS: u32> Drop for Fractions<BITS> {
    fn drop(&mut self) {
        for lanes in [&mut self.numerators, &mut self.denominators, &mut self.prefixes] {
            lanes[..self.used].iter_mut().for_each(Zeroize::zeroize);
        }
    }
}

/// A bit for each lane whose canonical number is 0.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn zero_lanes<const BITS: u32>(x: Columns<BITS>) -> u8 {
    let any = x.0.into_iter().reduce(|any, limb| or(any, limb));
    any.map_or(0, |any| _mm512_testn_epi64_mask(any, any))
}

/// The inverses of eight numbers that are not 0: one inversion, times the product of the other
/// seven, which three rounds gather from the next lane, the next two and the next four.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn invert<const BITS: u32>(x: Reduced<BITS>) -> Reduced<BITS> {
    let others = x.permuted(|limb| _mm512_permutex_epi64::<0b10_11_00_01>(limb));
    let product = x.times(others);
    let next = product.permuted(|limb| _mm512_permutex_epi64::<0b01_00_11_10>(limb));
    let (others, product) = (others.times(next), product.times(next));
    let next = product.permuted(|limb| _mm512_shuffle_i64x2::<0b01_00_11_10>(limb, limb));
    let (others, product) = (others.times(next), product.times(next));
    // The same in all lanes.
    let mut bytes = Zeroizing::new([0; 32]);
    let lanes = Zeroizing::new(Lanes::<BITS>::of(product.canonical().0));
    lanes.to_bytes(slice::from_mut(&mut *bytes));
    *bytes = divsteps25519::invert(&bytes);
    let lanes = Zeroizing::new(Lanes::<BITS>::from_bytes(&[*bytes; 8]));
    others.times(lanes.reduced())
}
