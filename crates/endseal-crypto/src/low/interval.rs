//! Intervals of limbs. The field arithmetic runs on them as it runs on limbs, so that a bound that
//! holds here holds for all limbs within the intervals.
//!
//! An operation panics where some value of its operands would overflow 64 bits or become negative.
//! The result contains each value that the operation can have; it may contain others.

use core::fmt::{Debug, Formatter, Result};
use core::ops::{Add, Sub};

/// All numbers from `low` to `high`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Interval {
    low: u128,
    high: u128,
}

/// Largest value of the low 52 bits of a limb.
#[cfg(target_arch = "x86_64")]
const READ: u128 = (1 << 52) - 1;

impl Interval {
    pub(super) fn new(low: u64, high: u64) -> Self {
        Self::word(low.into(), high.into())
    }

    pub(super) fn up_to(high: u64) -> Self {
        Self::new(0, high)
    }

    pub(super) fn high(self) -> u128 {
        self.high
    }

    /// The interval, if 64 bits hold it.
    fn word(low: u128, high: u128) -> Self {
        assert!(low <= high, "an empty interval");
        assert!(high <= u64::MAX.into(), "a limb overflows: {high:#x}");
        Self { low, high }
    }

    /// Everything below the power of two above the interval: bits may be set wherever one of it is.
    fn below_power_of_two(self) -> u128 {
        (self.high + 1).next_power_of_two() - 1
    }

    fn masked(self, mask: u128) -> Self {
        if self.high <= mask && (mask + 1).is_power_of_two() {
            return self;
        }
        Self { low: 0, high: self.below_power_of_two().min(mask) }
    }
}

impl Debug for Interval {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        write!(formatter, "{:#x}..={:#x}", self.low, self.high)
    }
}

impl Add for Interval {
    type Output = Self;

    fn add(self, y: Self) -> Self {
        Self::word(self.low + y.low, self.high + y.high)
    }
}

impl Sub for Interval {
    type Output = Self;

    fn sub(self, y: Self) -> Self {
        assert!(y.high <= self.low, "a difference may be negative: {self:?} - {y:?}");
        Self::word(self.low - y.high, self.high - y.low)
    }
}

/// An interval of numbers of 128 bits.
#[derive(Clone, Copy)]
pub(super) struct Wide {
    low: u128,
    high: u128,
}

impl Add for Wide {
    type Output = Self;

    fn add(self, y: Self) -> Self {
        let high = self.high.checked_add(y.high).expect("no column overflows 128 bits");
        Self { low: self.low + y.low, high }
    }
}

impl super::limbs25519::Limb for Interval {
    type Wide = Wide;

    fn constant(x: u64) -> Self {
        Self::new(x, x)
    }

    fn scaled(self, by: u64) -> Self {
        Self::word(self.low * u128::from(by), self.high * u128::from(by))
    }

    fn product(self, y: Self) -> Wide {
        Wide { low: self.low * y.low, high: self.high * y.high }
    }

    fn low_51(self) -> Self {
        self.masked((1 << 51) - 1)
    }

    fn above_51(self) -> Self {
        Self::word(self.low >> 51, self.high >> 51)
    }

    fn wide_low_51(x: Wide) -> Self {
        // Any low bits, unless the number has no others.
        let mask = (1 << 51) - 1;
        if x.high <= mask { Self::word(x.low, x.high) } else { Self::word(0, mask) }
    }

    fn wide_above_51(x: Wide) -> Self {
        Self::word(x.low >> 51, x.high >> 51)
    }
}

#[cfg(target_arch = "x86_64")]
impl super::x86_64::Lane for Interval {
    fn all(self, x: u64) -> Self {
        Self::new(x, x)
    }

    fn add(self, y: Self) -> Self {
        self + y
    }

    fn sub(self, y: Self) -> Self {
        self - y
    }

    fn mul(self, y: Self) -> Self {
        Self::word(self.low * y.low, self.high * y.high)
    }

    fn and(self, y: Self) -> Self {
        assert_eq!(y.low, y.high, "a mask is a constant");
        self.masked(y.high)
    }

    fn shl<const BITS: u32>(self) -> Self {
        Self::word(self.low << BITS, self.high << BITS)
    }

    fn shr<const BITS: u32>(self) -> Self {
        Self::word(self.low >> BITS, self.high >> BITS)
    }

    fn lo(self, x: Self, y: Self) -> Self {
        let (x, y) = (x.masked(READ), y.masked(READ));
        let product = x.high * y.high;
        let half = if product <= READ { [x.low * y.low, product] } else { [0, READ] };
        Self::word(self.low + half[0], self.high + half[1])
    }

    fn hi(self, x: Self, y: Self) -> Self {
        let (x, y) = (x.masked(READ), y.masked(READ));
        Self::word(self.low + ((x.low * y.low) >> 52), self.high + ((x.high * y.high) >> 52))
    }

    fn choose(self, y: Self, _: u64) -> Self {
        Self { low: self.low.min(y.low), high: self.high.max(y.high) }
    }

    fn check(self, largest: u64, what: &str) {
        assert!(self.high <= largest.into(), "{what} out of its bound: {:#x}", self.high);
    }
}
