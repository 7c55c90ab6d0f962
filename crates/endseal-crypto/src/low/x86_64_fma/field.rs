//! Arithmetic modulo p = 2^255 - 19 on four numbers: five limbs of 51 bits with their sign.
//!
//! | operation | in | out |
//! |---|---|---|
//! | `carry` | columns <= 2^59 | carried: limbs <= 2^50 + 2^13 |
//! | `plus`, `minus` of numbers | carried | loose: limbs <= 2^51 + 2^14 |
//! | `multiply`, `add_small_multiple` | loose by carried | columns < 173 * 2^50 |
//! | `square`, `Table::multiply` | carried | columns < 125 * 2^50 |
//! | `positive` | carried | limbs from 0 to 2^52 |
//!
//! Bounds are of the size: numbers have both signs, and need no bias for differences. Halves of a
//! product of two carried limbs are at most 2^50 (low) and 2^49 + 2^13 (high), and a loose factor
//! doubles the high one. Column 0 is the largest: one low half, and 19 times four low and five high
//! halves of column 5. So sums and differences of two products can be carried. A product of limbs
//! is at most (2^51 + 2^14)(2^50 + 2^13), half of the 2^102 that can be split.
//!
//! Debug builds assert the bounds for each lane, and `bounds_tests.rs` proves them.

use super::machine::{MASK, Machine, Sum};

/// Largest size of a carried limb.
pub(super) const CARRIED: i64 = (1 << 50) + (1 << 13);
/// Largest size of a limb of a sum or difference of two carried numbers.
pub(super) const LOOSE: i64 = 2 * CARRIED;
/// Largest size of a column that can be carried.
pub(super) const COLUMN: i64 = 1 << 59;

/// Half of a limb: with it, a carry rounds to the nearest.
const ROUNDING: i64 = 1 << 50;
/// Makes columns positive.
const BIAS: i64 = COLUMN + ROUNDING;
/// Part of a carry that comes from the bias.
const CARRY_BIAS: i64 = BIAS >> 51;

/// Five limbs, fit to be multiplied.
#[derive(Clone, Copy)]
pub(super) struct Number<M: Machine>(pub(super) [M::Float; 5]);

/// Five columns of products, fit to be added and carried.
#[derive(Clone, Copy)]
pub(super) struct Columns<M: Machine>(pub(super) [Sum<M::Word>; 5]);

/// The products of a number with the weights of the limbs.
pub(super) struct Table<M: Machine>([Number<M>; 5]);

#[inline]
#[target_feature(enable = "avx2,fma")]
fn add<M: Machine>(m: M, x: Sum<M::Word>, y: Sum<M::Word>) -> Sum<M::Word> {
    Sum { word: m.add(x.word, y.word), offset: x.offset.wrapping_add(y.offset) }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn subtract<M: Machine>(m: M, x: Sum<M::Word>, y: Sum<M::Word>) -> Sum<M::Word> {
    Sum { word: m.subtract(x.word, y.word), offset: x.offset.wrapping_sub(y.offset) }
}

/// 19 x = 2 (8 x + x) + x.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn times_19<M: Machine>(m: M, x: Sum<M::Word>) -> Sum<M::Word> {
    let nine = m.add(m.shift_left::<3>(x.word), x.word);
    Sum { word: m.add(m.add(nine, nine), x.word), offset: x.offset.wrapping_mul(19) }
}

impl<M: Machine> Number<M> {
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn small(m: M, x: i64) -> Self {
        Self([m.float(x), m.float(0), m.float(0), m.float(0), m.float(0)])
    }

    /// `self` where the mask is 0, `other` where it is all ones.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn choose(self, m: M, other: Self, mask: u64) -> Self {
        let (x, y) = (self.0, other.0);
        Self([
            m.choose(x[0], y[0], mask),
            m.choose(x[1], y[1], mask),
            m.choose(x[2], y[2], mask),
            m.choose(x[3], y[3], mask),
            m.choose(x[4], y[4], mask),
        ])
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn plus(self, m: M, y: Self) -> Self {
        let (x, y) = (self.0, y.0);
        Self([
            m.add_floats(x[0], y[0]),
            m.add_floats(x[1], y[1]),
            m.add_floats(x[2], y[2]),
            m.add_floats(x[3], y[3]),
            m.add_floats(x[4], y[4]),
        ])
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn minus(self, m: M, y: Self) -> Self {
        let (x, y) = (self.0, y.0);
        Self([
            m.subtract_floats(x[0], y[0]),
            m.subtract_floats(x[1], y[1]),
            m.subtract_floats(x[2], y[2]),
            m.subtract_floats(x[3], y[3]),
            m.subtract_floats(x[4], y[4]),
        ])
    }

    /// The same number, to be added to products.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn columns(self, m: M) -> Columns<M> {
        self.check(m, CARRIED);
        let x = self.0;
        Columns([
            m.to_word(x[0]),
            m.to_word(x[1]),
            m.to_word(x[2]),
            m.to_word(x[3]),
            m.to_word(x[4]),
        ])
    }

    /// The number + p, which makes all limbs positive.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn positive(self, m: M) -> [M::Word; 5] {
        let x = self.columns(m).0;
        let limb = MASK.cast_signed();
        [
            m.settle(x[0], limb - 18),
            m.settle(x[1], limb),
            m.settle(x[2], limb),
            m.settle(x[3], limb),
            m.settle(x[4], limb),
        ]
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn check(self, m: M, largest: i64) {
        for limb in self.0 {
            m.check_float(limb, largest);
        }
    }
}

impl<M: Machine> Columns<M> {
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn zero(m: M) -> Self {
        Self([Sum { word: m.word(0), offset: 0 }; 5])
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn plus(self, m: M, y: Self) -> Self {
        let (x, y) = (self.0, y.0);
        Self([
            add(m, x[0], y[0]),
            add(m, x[1], y[1]),
            add(m, x[2], y[2]),
            add(m, x[3], y[3]),
            add(m, x[4], y[4]),
        ])
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn minus(self, m: M, y: Self) -> Self {
        let (x, y) = (self.0, y.0);
        Self([
            subtract(m, x[0], y[0]),
            subtract(m, x[1], y[1]),
            subtract(m, x[2], y[2]),
            subtract(m, x[3], y[3]),
            subtract(m, x[4], y[4]),
        ])
    }

    /// Moves what exceeds a limb to the next one, all at once: at most 2^8 in size, and 19 times
    /// that below 2^13 from limb 4, which is folded at 2^255.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn carry(self, m: M) -> Number<M> {
        for column in self.0 {
            m.check_sum(column, COLUMN);
        }
        let x = self.0;
        let (c0, x0) = m.split_limb(m.settle(x[0], BIAS));
        let (c1, x1) = m.split_limb(m.settle(x[1], BIAS));
        let (c2, x2) = m.split_limb(m.settle(x[2], BIAS));
        let (c3, x3) = m.split_limb(m.settle(x[3], BIAS));
        let (c4, x4) = m.split_limb(m.settle(x[4], BIAS));
        let out = Number([
            m.to_float(m.add(x0, m.times_19(c4)), ROUNDING + 19 * CARRY_BIAS),
            m.to_float(m.add(x1, c0), ROUNDING + CARRY_BIAS),
            m.to_float(m.add(x2, c1), ROUNDING + CARRY_BIAS),
            m.to_float(m.add(x3, c2), ROUNDING + CARRY_BIAS),
            m.to_float(m.add(x4, c3), ROUNDING + CARRY_BIAS),
        ]);
        out.check(m, CARRIED);
        out
    }
}

/// Sums of the halves of products, column by column; columns 5 to 9 weigh 2^255 = 19 and up.
struct Halves<M: Machine>([Sum<M::Word>; 10]);

impl<M: Machine> Halves<M> {
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn new(m: M) -> Self {
        Self([Sum { word: m.word(0), offset: 0 }; 10])
    }

    /// Adds x y to this column.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn product(&mut self, m: M, column: usize, x: M::Float, y: M::Float) {
        let (high, low) = m.split(x, y);
        self.0[column] = add(m, self.0[column], low);
        self.0[column + 1] = add(m, self.0[column + 1], high);
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn folded(self, m: M) -> Columns<M> {
        let c = self.0;
        Columns([
            add(m, c[0], times_19(m, c[5])),
            add(m, c[1], times_19(m, c[6])),
            add(m, c[2], times_19(m, c[7])),
            add(m, c[3], times_19(m, c[8])),
            add(m, c[4], times_19(m, c[9])),
        ])
    }
}

/// x * y, of which x may be loose. The upper columns come first, so that few sums are needed at the
/// same time.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn multiply<M: Machine>(m: M, x: Number<M>, y: Number<M>) -> Columns<M> {
    x.check(m, LOOSE);
    y.check(m, CARRIED);
    let (x, y) = (x.0, y.0);
    let mut c = Halves::new(m);
    for column in [4, 5, 6, 7, 8] {
        for i in column - 4..5 {
            c.product(m, column, x[i], y[column - i]);
        }
    }
    for column in [0, 1, 2, 3] {
        for i in 0..=column {
            c.product(m, column, x[i], y[column - i]);
        }
    }
    c.folded(m)
}

#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn square<M: Machine>(m: M, x: Number<M>) -> Columns<M> {
    x.check(m, CARRIED);
    let d = x.plus(m, x).0;
    let x = x.0;
    let mut c = Halves::new(m);
    c.product(m, 4, d[0], x[4]);
    c.product(m, 4, d[1], x[3]);
    c.product(m, 4, x[2], x[2]);
    c.product(m, 5, d[1], x[4]);
    c.product(m, 5, d[2], x[3]);
    c.product(m, 6, d[2], x[4]);
    c.product(m, 6, x[3], x[3]);
    c.product(m, 7, d[3], x[4]);
    c.product(m, 8, x[4], x[4]);
    c.product(m, 0, x[0], x[0]);
    c.product(m, 1, d[0], x[1]);
    c.product(m, 2, d[0], x[2]);
    c.product(m, 2, x[1], x[1]);
    c.product(m, 3, d[0], x[3]);
    c.product(m, 3, d[1], x[2]);
    c.folded(m)
}

/// start + 121666 * x, for an x that may be loose.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn add_small_multiple<M: Machine>(m: M, start: Columns<M>, x: Number<M>) -> Columns<M> {
    x.check(m, LOOSE);
    let s = start.0;
    let zero = Columns::zero(m).0[0];
    let mut c = Halves([s[0], s[1], s[2], s[3], s[4], zero, zero, zero, zero, zero]);
    let factor = m.float(121_666);
    for i in 0..5 {
        c.product(m, i, x.0[i], factor);
    }
    let c = c.0;
    Columns([add(m, c[0], times_19(m, c[5])), c[1], c[2], c[3], c[4]])
}

impl<M: Machine> Table<M> {
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn new(m: M, x: Number<M>) -> Self {
        let mut table = Self([x; 5]);
        for i in 1..5 {
            // What leaves at the top has weight 2^255.
            let x = table.0[i - 1].columns(m).0;
            let up = Columns::<M>([times_19(m, x[4]), x[0], x[1], x[2], x[3]]);
            table.0[i] = up.carry(m);
        }
        table
    }

    /// x * y for the x that the table is of: only what leaves column 4 must be folded.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn multiply(&self, m: M, y: Number<M>) -> Columns<M> {
        y.check(m, CARRIED);
        let mut c = Halves::new(m);
        for column in [4, 0, 1, 2, 3] {
            for i in 0..5 {
                c.product(m, column, self.0[i].0[column], y.0[i]);
            }
        }
        let c = c.0;
        Columns([add(m, c[0], times_19(m, c[5])), c[1], c[2], c[3], c[4]])
    }
}
