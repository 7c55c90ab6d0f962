//! The limb arithmetic of [`field25519`](super::field25519), for any [`Limb`]: `u64` in the field,
//! intervals in the tests (`interval.rs`), which prove the bounds in the table of `field25519` for
//! all inputs.
#![forbid(unsafe_code)]

use core::ops::{Add, Sub};

pub(super) const MASK: u64 = (1 << 51) - 1;
/// 16p in limbs that no operand of [`sub`] exceeds: 2^55 - 304 and 2^55 - 16, against 2^54.
const BIAS: [u64; 5] = [(MASK - 18) << 4, MASK << 4, MASK << 4, MASK << 4, MASK << 4];

/// A word. No operation may overflow or become negative.
pub(super) trait Limb: Copy + Add<Output = Self> + Sub<Output = Self> {
    /// A product of two words and sums of such products.
    type Wide: Copy + Add<Output = Self::Wide>;

    fn constant(x: u64) -> Self;

    fn scaled(self, by: u64) -> Self;

    fn product(self, y: Self) -> Self::Wide;

    fn low_51(self) -> Self;

    fn above_51(self) -> Self;

    fn wide_low_51(x: Self::Wide) -> Self;

    /// It MUST be below 2^64.
    fn wide_above_51(x: Self::Wide) -> Self;
}

impl Limb for u64 {
    type Wide = u128;

    #[inline(always)]
    fn constant(x: u64) -> Self {
        x
    }

    #[inline(always)]
    fn scaled(self, by: u64) -> Self {
        self * by
    }

    #[inline(always)]
    fn product(self, y: Self) -> u128 {
        u128::from(self) * u128::from(y)
    }

    #[inline(always)]
    fn low_51(self) -> Self {
        self & MASK
    }

    #[inline(always)]
    fn above_51(self) -> Self {
        self >> 51
    }

    #[allow(clippy::cast_possible_truncation, reason = "the low bits are meant")]
    #[inline(always)]
    fn wide_low_51(x: u128) -> Self {
        x as Self & MASK
    }

    #[allow(clippy::cast_possible_truncation, reason = "the caller's duty, asserted here")]
    #[inline(always)]
    fn wide_above_51(x: u128) -> Self {
        debug_assert!(x >> 115 == 0);
        (x >> 51) as Self
    }
}

#[inline(always)]
pub(super) fn add<L: Limb>(x: [L; 5], y: [L; 5]) -> [L; 5] {
    [x[0] + y[0], x[1] + y[1], x[2] + y[2], x[3] + y[3], x[4] + y[4]]
}

#[inline(always)]
pub(super) fn sub<L: Limb>(x: [L; 5], y: [L; 5]) -> [L; 5] {
    let biased = add(x, BIAS.map(L::constant));
    let difference =
        [biased[0] - y[0], biased[1] - y[1], biased[2] - y[2], biased[3] - y[3], biased[4] - y[4]];
    carried(difference)
}

/// A column is below 77 * 2^108.
#[inline(always)]
pub(super) fn mul<L: Limb>(x: [L; 5], y: [L; 5]) -> [L; 5] {
    let m = L::product;
    // 19 * 2^54 fits 64 bits.
    let w = [y[0], y[1].scaled(19), y[2].scaled(19), y[3].scaled(19), y[4].scaled(19)];
    reduce([
        m(x[0], y[0]) + m(x[1], w[4]) + m(x[2], w[3]) + m(x[3], w[2]) + m(x[4], w[1]),
        m(x[0], y[1]) + m(x[1], y[0]) + m(x[2], w[4]) + m(x[3], w[3]) + m(x[4], w[2]),
        m(x[0], y[2]) + m(x[1], y[1]) + m(x[2], y[0]) + m(x[3], w[4]) + m(x[4], w[3]),
        m(x[0], y[3]) + m(x[1], y[2]) + m(x[2], y[1]) + m(x[3], y[0]) + m(x[4], w[4]),
        m(x[0], y[4]) + m(x[1], y[3]) + m(x[2], y[2]) + m(x[3], y[1]) + m(x[4], y[0]),
    ])
}

#[inline(always)]
pub(super) fn square<L: Limb>(x: [L; 5]) -> [L; 5] {
    let m = L::product;
    let (d0, d1, d2) = (x[0].scaled(2), x[1].scaled(2), x[2].scaled(2));
    let (w3, w4) = (x[3].scaled(19), x[4].scaled(19));
    let c0 = m(x[1], w4) + m(x[2], w3);
    reduce([
        m(x[0], x[0]) + (c0 + c0),
        m(x[3], w3) + m(d0, x[1]) + m(d2, w4),
        m(x[1], x[1]) + m(d0, x[2]) + m(w4.scaled(2), x[3]),
        m(x[4], w4) + m(d0, x[3]) + m(d1, x[2]),
        m(x[2], x[2]) + m(d0, x[4]) + m(d1, x[3]),
    ])
}

#[inline(always)]
pub(super) fn mul_small<L: Limb>(x: [L; 5], y: L) -> [L; 5] {
    let m = L::product;
    reduce([m(x[0], y), m(x[1], y), m(x[2], y), m(x[3], y), m(x[4], y)])
}

/// Any limbs to limbs below 2^51 + 2^18.
#[inline(always)]
pub(super) fn carried<L: Limb>(x: [L; 5]) -> [L; 5] {
    [
        x[0].low_51() + x[4].above_51().scaled(19),
        x[1].low_51() + x[0].above_51(),
        x[2].low_51() + x[1].above_51(),
        x[3].low_51() + x[2].above_51(),
        x[4].low_51() + x[3].above_51(),
    ]
}

/// All columns at once and twice, which is shorter than a chain from the first to the last.
///
/// With limbs below 2^54 the columns are below 77 * 2^108 < 2^115, and the last one, which nothing
/// was folded into, is below 5 * 2^108. So the carry of a column is below 2^63.3, 19 times the
/// carry of the last one below 2^63.6, and the sums are below 2^64. Their carries are below 2^13.
#[inline(always)]
fn reduce<L: Limb>(c: [L::Wide; 5]) -> [L; 5] {
    let (low, high) = (c.map(L::wide_low_51), c.map(L::wide_above_51));
    carried([
        low[0] + high[4].scaled(19),
        low[1] + high[0],
        low[2] + high[1],
        low[3] + high[2],
        low[4] + high[3],
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::low::interval::Interval;

    fn below(bits: u32) -> [Interval; 5] {
        [Interval::up_to((1 << bits) - 1); 5]
    }

    fn largest(x: [Interval; 5]) -> u128 {
        x.map(Interval::high).into_iter().max().unwrap()
    }

    #[test]
    fn bounds_of_the_portable_field_hold_for_all_limbs() {
        let (in_sum, x) = (below(53), below(54));
        let any = [Interval::up_to(u64::MAX); 5];
        let carried_bound = (1 << 51) + (1 << 18);
        assert!(largest(carried(any)) < carried_bound);
        assert!(largest(add(in_sum, in_sum)) < 1 << 54);
        assert!(largest(sub(x, x)) < carried_bound);
        assert!(largest(mul(x, x)) < carried_bound);
        assert!(largest(square(x)) < carried_bound);
        assert!(largest(mul_small(x, Interval::up_to(u32::MAX.into()))) < carried_bound);
        assert!(carried_bound < 1 << 52);
    }

    /// The next bit is one too many, so that the intervals are not too wide by much.
    #[test]
    #[should_panic = "overflows"]
    fn limbs_of_55_bits_are_refused() {
        let _ = mul(below(55), below(55));
    }
}
