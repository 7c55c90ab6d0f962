//! Proofs of the bounds: the field arithmetic and the ladder on intervals that hold every value a
//! caller may pass. Each operation asserts its own bounds; a wrong one panics.

use super::field::{
    CARRIED, COLUMN, Columns, LOOSE, Number, Table, add_small_multiple, multiply, square,
};
use super::ladder::{Point, chosen, end, start, step, twice};
use super::machine::{MASK, Machine, Sum};
use crate::low::cpu::HaveFma;

/// All integers from `low` to `high`.
#[derive(Clone, Copy)]
struct Interval {
    low: i128,
    high: i128,
}

impl Interval {
    fn new(low: i64, high: i64) -> Self {
        Self { low: low.into(), high: high.into() }
    }

    fn of_size(size: i64) -> Self {
        Self::new(-size, size)
    }

    fn largest(self) -> i128 {
        self.low.abs().max(self.high.abs())
    }

    fn at_most(self, bits: u32, what: &str) -> Self {
        assert!(self.largest() <= 1 << bits, "{what} out of its bound: {:#x}", self.largest());
        self
    }

    fn plus(self, y: Self) -> Self {
        Self { low: self.low + y.low, high: self.high + y.high }
    }

    fn minus(self, y: Self) -> Self {
        Self { low: self.low - y.high, high: self.high - y.low }
    }

    fn times(self, y: Self) -> Self {
        let ends = [self.low * y.low, self.low * y.high, self.high * y.low, self.high * y.high];
        let low = ends.into_iter().min().unwrap();
        Self { low, high: ends.into_iter().max().unwrap() }
    }

    fn word(self) -> Self {
        self.at_most(62, "a word")
    }
}

/// A machine whose doubles and words are intervals of what the lanes may hold.
#[derive(Clone, Copy)]
struct Intervals;

impl Machine for Intervals {
    type Float = Interval;
    type Word = Interval;

    fn float(self, x: i64) -> Interval {
        Interval::new(x, x).at_most(53, "a constant")
    }

    fn add_floats(self, x: Interval, y: Interval) -> Interval {
        x.plus(y).at_most(53, "a double")
    }

    fn subtract_floats(self, x: Interval, y: Interval) -> Interval {
        x.minus(y).at_most(53, "a double")
    }

    fn choose(self, x: Interval, y: Interval, _: u64) -> Interval {
        Interval { low: x.low.min(y.low), high: x.high.max(y.high) }
    }

    fn split(self, x: Interval, y: Interval) -> (Sum<Interval>, Sum<Interval>) {
        let product = x.times(y).at_most(102, "a product");
        // Rounded to nearest, each end too.
        let round = |x: i128| (x + (1 << 50)) >> 51;
        let high = Interval { low: round(product.low), high: round(product.high) };
        (Sum { word: high, offset: 0 }, Sum { word: Interval::of_size(1 << 50), offset: 0 })
    }

    fn to_word(self, x: Interval) -> Sum<Interval> {
        Sum { word: x.at_most(51, "a limb"), offset: 0 }
    }

    fn to_float(self, x: Interval, subtract: i64) -> Interval {
        assert!(x.low >= 0 && x.high < 1 << 52, "a limb out of its bound");
        self.subtract_floats(x, self.float(subtract))
    }

    fn word(self, x: i64) -> Interval {
        Interval::new(x, x)
    }

    fn add(self, x: Interval, y: Interval) -> Interval {
        x.plus(y).word()
    }

    fn subtract(self, x: Interval, y: Interval) -> Interval {
        x.minus(y).word()
    }

    fn shift_left<const BITS: i32>(self, x: Interval) -> Interval {
        Interval { low: x.low << BITS, high: x.high << BITS }.word()
    }

    fn split_limb(self, x: Interval) -> (Interval, Interval) {
        assert!(x.low >= 0, "a column may be negative");
        let carry = Interval { low: x.low >> 51, high: x.high >> 51 };
        (carry, Interval::new(0, MASK.cast_signed()))
    }

    fn times_19(self, x: Interval) -> Interval {
        assert!(x.low >= 0 && x.high < 1 << 32, "a carry out of its bound");
        x.times(self.word(19))
    }

    fn settle(self, x: Sum<Interval>, bias: i64) -> Interval {
        x.word.plus(self.word(bias)).word()
    }

    fn check_float(self, x: Interval, largest: i64) {
        assert!(x.largest() <= largest.into(), "a limb out of its bound: {:#x}", x.largest());
    }

    fn check_sum(self, x: Sum<Interval>, largest: i64) {
        let size = x.word.largest();
        assert!(size <= largest.into(), "a column out of its bound: {size:#x}");
    }
}

fn any(size: i64) -> Number<Intervals> {
    Number([Interval::of_size(size); 5])
}

fn any_columns(size: i64) -> Columns<Intervals> {
    Columns([Sum { word: Interval::of_size(size), offset: 0 }; 5])
}

fn largest(x: Columns<Intervals>) -> i128 {
    x.0.map(|sum| sum.word.largest()).into_iter().max().unwrap()
}

/// Runs it where the CPU has AVX2 and FMA, whose features the arithmetic is compiled for.
fn with_fma(run: unsafe fn()) {
    if HaveFma::detect().is_some() {
        // SAFETY: the CPU has AVX2 and FMA.
        unsafe { run() }
    }
}

#[target_feature(enable = "avx2,fma")]
fn operations() {
    let m = Intervals;
    let (x, loose) = (any(CARRIED), any(LOOSE));
    let product = multiply(m, loose, x);
    assert!(largest(product) < 173 << 50);
    assert!(largest(square(m, x)) < 125 << 50);
    assert!(largest(Table::new(m, x).multiply(m, x)) < 125 << 50);
    assert!(largest(add_small_multiple(m, square(m, x), loose)) < 173 << 50);
    let _ = any_columns(COLUMN).carry(m);
    let positive = x.positive(m);
    assert!(positive.iter().all(|limb| limb.low >= 0 && limb.high < 1 << 52));
}

#[test]
fn bounds_of_each_operation_hold_for_all_limbs() {
    with_fma(operations);
}

/// The state before a step is any two points of carried numbers; the state after it is carried. So
/// the bounds hold for any number of steps, any scalar and any point.
#[target_feature(enable = "avx2,fma")]
fn whole_ladder() {
    let m = Intervals;
    let limb = Sum { word: Interval::new(0, MASK.cast_signed()), offset: 0 };
    let (table, sum) = start(m, Columns([limb; 5]).carry(m));
    let _ = twice(m, sum);
    let x = any(CARRIED);
    let (next, sum) = step(m, Point(x, x), Point(x, x), 0, &table);
    let (x, z) = end(m, twice(m, chosen(m, next, sum, 0)));
    let _ = (x.positive(m), z.positive(m));
}

#[test]
fn bounds_of_the_ladder_hold_for_all_scalars_and_points() {
    with_fma(whole_ladder);
}

/// The proof can fail: one unit beyond a bound is refused.
#[cfg(feature = "std")]
#[test]
fn one_beyond_a_bound_is_refused() {
    #[target_feature(enable = "avx2,fma")]
    fn columns() {
        let _ = any_columns(COLUMN + 1).carry(Intervals);
    }
    #[target_feature(enable = "avx2,fma")]
    fn limbs() {
        let _ = square(Intervals, any(CARRIED + 1));
    }
    #[target_feature(enable = "avx2,fma")]
    fn loose_limbs() {
        let _ = multiply(Intervals, any(LOOSE + 1), any(CARRIED));
    }
    #[target_feature(enable = "avx2,fma")]
    fn two_loose_factors() {
        let _ = multiply(Intervals, any(LOOSE), any(LOOSE));
    }
    #[target_feature(enable = "avx2,fma")]
    fn products() {
        let size = Interval::of_size((1 << 51) + 1);
        let _ = Intervals.split(size, size);
    }
    let refuses = |expected: &str, run: unsafe fn()| {
        // SAFETY: the CPU has AVX2 and FMA.
        let panic = std::panic::catch_unwind(|| unsafe { run() }).unwrap_err();
        let message = panic.downcast_ref::<alloc::string::String>().map_or("", |message| message);
        message.contains(expected)
    };
    if HaveFma::detect().is_some() {
        assert!(refuses("a column out of its bound", columns));
        assert!(refuses("a limb out of its bound", limbs));
        assert!(refuses("a limb out of its bound", loose_limbs));
        assert!(refuses("a limb out of its bound", two_loose_factors));
        assert!(refuses("a product out of its bound", products));
    }
}
