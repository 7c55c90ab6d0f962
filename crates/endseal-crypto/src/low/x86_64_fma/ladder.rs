//! The Montgomery ladder on four points with one scalar, by the formula of `x86_64::ladder`.

use super::field::{Number, Table, add_small_multiple, multiply, square};
use super::machine::Machine;
use crate::low::cpu::HaveFma;
use crate::low::x86_64::Masks;

/// (x + z, x - z) of a projective point, both carried.
#[derive(Clone, Copy)]
pub(super) struct Point<M: Machine>(pub(super) Number<M>, pub(super) Number<M>);

/// (x, z) of the product of a clamped scalar with the points of `x1`, carried.
#[target_feature(enable = "avx2,fma")]
pub(super) fn ladder(
    m: HaveFma,
    masks: &Masks,
    x1: Number<HaveFma>,
) -> (Number<HaveFma>, Number<HaveFma>) {
    let (table, mut sum) = start(m, x1);
    // Bit 254 is set: the ladder holds 2P and P after it.
    let mut double = doubled(m, sum);
    for mask in &masks.0[1..252] {
        (double, sum) = step(m, double, sum, *mask, &table);
    }
    // Bits 2 to 0 are clear: the sum of the points is no more needed.
    double = chosen(m, double, sum, masks.0[252]);
    for _ in 0..3 {
        double = doubled(m, double);
    }
    end(m, double)
}

/// The table of x1, and its point.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn start<M: Machine>(m: M, x1: Number<M>) -> (Table<M>, Point<M>) {
    let (x, one) = (x1.columns(m), Number::small(m, 1).columns(m));
    (Table::new(m, x1), Point(x.plus(m, one).carry(m), x.minus(m, one).carry(m)))
}

/// (2x, 2z) of a point.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn end<M: Machine>(m: M, Point(plus, minus): Point<M>) -> (Number<M>, Number<M>) {
    let (plus, minus) = (plus.columns(m), minus.columns(m));
    (plus.plus(m, minus).carry(m), plus.minus(m, minus).carry(m))
}

#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn chosen<M: Machine>(m: M, x: Point<M>, y: Point<M>, mask: u64) -> Point<M> {
    Point(x.0.choose(m, y.0, mask), x.1.choose(m, y.1, mask))
}

/// The double of `double`, or of `sum` where the mask is set, and the sum of both, whose difference
/// is the point of `x1`.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn step<M: Machine>(
    m: M,
    double: Point<M>,
    sum: Point<M>,
    mask: u64,
    x1: &Table<M>,
) -> (Point<M>, Point<M>) {
    let (Point(a, b), Point(c, d)) = (double, sum);
    let aa = square(m, a.choose(m, c, mask)).carry(m);
    let bb_columns = square(m, b.choose(m, d, mask));
    let bb = bb_columns.carry(m);
    let da = multiply(m, a, d);
    let cb = multiply(m, b, c);
    let e = aa.minus(m, bb);
    let t = da.minus(m, cb).carry(m);
    let s = da.plus(m, cb).carry(m);
    let f = add_small_multiple(m, bb_columns, e).carry(m);
    let x2 = multiply(m, aa, bb);
    let tt = square(m, t).carry(m);
    let z2 = multiply(m, e, f);
    let x3 = square(m, s);
    let z3 = x1.multiply(m, tt);
    (
        Point(x2.plus(m, z2).carry(m), x2.minus(m, z2).carry(m)),
        Point(x3.plus(m, z3).carry(m), x3.minus(m, z3).carry(m)),
    )
}

/// The start and the end of the ladder; [`step`] doubles for itself, beside the addition.
#[inline(never)]
#[target_feature(enable = "avx2,fma")]
fn doubled(m: HaveFma, point: Point<HaveFma>) -> Point<HaveFma> {
    twice(m, point)
}

#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn twice<M: Machine>(m: M, Point(a, b): Point<M>) -> Point<M> {
    let aa = square(m, a).carry(m);
    let bb_columns = square(m, b);
    let bb = bb_columns.carry(m);
    let e = aa.minus(m, bb);
    let f = add_small_multiple(m, bb_columns, e).carry(m);
    let x = multiply(m, aa, bb);
    let z = multiply(m, e, f);
    Point(x.plus(m, z).carry(m), x.minus(m, z).carry(m))
}
