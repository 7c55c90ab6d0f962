//! The Montgomery ladder on eight points with one scalar.
//!
//! The state is A, B = x2 + z2, x2 - z2 and C, D = x3 + z3, x3 - z3 of the two points, so that every
//! sum is one of products not yet carried. Swapping the points exchanges DA and CB and changes only
//! the sign of their difference, which is squared: so only the point to double is selected.

use core::hint::black_box;

use zeroize::Zeroizing;

use super::field::{Columns, Reduced, Table, add_small_multiple, multiply, square};

/// For each bit from 254 down to 0: all bits set if it differs from the one above it.
pub(super) struct Masks(Zeroizing<[u64; 255]>);

impl Masks {
    /// Out of line and behind a black box: for [`ladder`] these are any 64 bits, of which each selects
    /// for itself, so the compiler has nothing to branch on.
    #[inline(never)]
    pub(super) fn new(clamped: &[u8; 32]) -> Self {
        let mut masks = Zeroizing::new([0; 255]);
        let mut above = 0;
        for (i, mask) in (0..255).rev().zip(masks.iter_mut()) {
            let bit = u64::from(clamped[i / 8] >> (i % 8) & 1);
            *mask = black_box((bit ^ above).wrapping_neg());
            above = bit;
        }
        Self(masks)
    }
}

/// (x + z, x - z) of a projective point.
#[derive(Clone, Copy)]
struct Point(Reduced, Reduced);

/// (x, z) of the product of a clamped scalar with the points of `x1`, in columns that can be added
/// and subtracted.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn ladder(masks: &Masks, x1: Columns) -> (Columns, Columns) {
    let one = Reduced::small(1);
    let table = Table::new(x1.carry());
    let plus = x1.plus(one.columns()).carry();
    let minus = x1.plus(Columns::start::<true>()).minus(one.columns()).carry();
    // Bit 254 is set: the ladder holds 2P and P after it.
    let mut sum = Point(plus, minus);
    let mut double = doubled(sum);
    for mask in &masks.0[1..252] {
        (double, sum) = step(double, sum, *mask, &table);
    }
    // Bits 2 to 0 are clear: the sum of the points is no more needed.
    let mask = masks.0[252];
    double = Point(double.0.choose(sum.0, mask), double.1.choose(sum.1, mask));
    for _ in 0..3 {
        double = doubled(double);
    }
    let (plus, minus) = (double.0.columns(), double.1.columns());
    (plus.plus(minus), plus.plus(Columns::start::<true>()).minus(minus))
}

/// The double of `double`, or of `sum` where the mask is set, and the sum of both, whose difference
/// is the point of `x1`.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn step(double: Point, sum: Point, mask: u64, x1: &Table) -> (Point, Point) {
    let (Point(a, b), Point(c, d)) = (double, sum);
    // In this order, by measurement: each chain of waiting products has another one beside it.
    let aa = square::<true>(a.choose(c, mask));
    let bb = square::<false>(b.choose(d, mask));
    let da = multiply::<true>(d, a);
    let cb = multiply::<false>(c, b);
    let e = aa.minus(bb).carry();
    let t = da.minus(cb).carry();
    let s = da.plus(cb).carry();
    let f = add_small_multiple(bb, e).carry();
    let x2 = multiply::<true>(aa.carry(), bb.carry());
    let tt = square::<false>(t).carry();
    let z2 = multiply::<false>(e, f);
    let x3 = square::<true>(s);
    let z3 = x1.multiply::<false>(tt);
    (
        Point(x2.plus(z2).carry(), x2.minus(z2).carry()),
        Point(x3.plus(z3).carry(), x3.minus(z3).carry()),
    )
}

/// The start and the end of the ladder; [`step`] doubles for itself, beside the addition.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
fn doubled(Point(a, b): Point) -> Point {
    let aa = square::<true>(a);
    let bb = square::<false>(b);
    let e = aa.minus(bb).carry();
    let f = add_small_multiple(bb, e).carry();
    let x = multiply::<true>(aa.carry(), bb.carry());
    let z = multiply::<false>(e, f);
    Point(x.plus(z).carry(), x.minus(z).carry())
}
