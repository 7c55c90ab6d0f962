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
struct Point<const BITS: u32>(Reduced<BITS>, Reduced<BITS>);

/// (x, z) of the product of a clamped scalar with the points of `x1`, in columns that can be added
/// and subtracted.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn ladder<const BITS: u32>(
    masks: &Masks,
    x1: Columns<BITS>,
) -> (Columns<BITS>, Columns<BITS>) {
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
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn step<const BITS: u32>(
    double: Point<BITS>,
    sum: Point<BITS>,
    mask: u64,
    x1: &Table<BITS>,
) -> (Point<BITS>, Point<BITS>) {
    match BITS {
        51 => step_ordered_for_51(double, sum, mask, x1),
        _ => step_ordered_for_52(double, sum, mask, x1),
    }
}

/// In this order, by measurement of several dozen: they differ by up to a tenth, by what the compiler
/// moves to the stack, and by what waits for what.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn step_ordered_for_51<const BITS: u32>(
    double: Point<BITS>,
    sum: Point<BITS>,
    mask: u64,
    x1: &Table<BITS>,
) -> (Point<BITS>, Point<BITS>) {
    let (Point(a, b), Point(c, d)) = (double, sum);
    let aa = square::<BITS, true>(a.choose(c, mask));
    let bb = square::<BITS, false>(b.choose(d, mask));
    let bb_carried = bb.carry();
    let da = multiply::<BITS, true>(a, d);
    let cb = multiply::<BITS, false>(b, c);
    let e = aa.minus(bb).carry();
    let f = add_small_multiple(bb, e).carry();
    let z2 = multiply::<BITS, false>(e, f);
    let s = da.plus(cb).carry();
    let t = da.minus(cb).carry();
    let x2 = multiply::<BITS, true>(aa.carry(), bb_carried);
    let tt = square::<BITS, false>(t).carry();
    let z3 = x1.multiply::<false>(tt);
    let x3 = square::<BITS, true>(s);
    let c = x3.plus(z3).carry();
    let b = x2.minus(z2).carry();
    let a = x2.plus(z2).carry();
    let d = x3.minus(z3).carry();
    (Point(a, b), Point(c, d))
}

/// In this order, by measurement: each chain of waiting products has another one beside it.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn step_ordered_for_52<const BITS: u32>(
    double: Point<BITS>,
    sum: Point<BITS>,
    mask: u64,
    x1: &Table<BITS>,
) -> (Point<BITS>, Point<BITS>) {
    let (Point(a, b), Point(c, d)) = (double, sum);
    let aa = square::<BITS, true>(a.choose(c, mask));
    let bb = square::<BITS, false>(b.choose(d, mask));
    let da = multiply::<BITS, true>(d, a);
    let cb = multiply::<BITS, false>(c, b);
    let e = aa.minus(bb).carry();
    let t = da.minus(cb).carry();
    let s = da.plus(cb).carry();
    let f = add_small_multiple(bb, e).carry();
    let x2 = multiply::<BITS, true>(aa.carry(), bb.carry());
    let tt = square::<BITS, false>(t).carry();
    let z2 = multiply::<BITS, false>(e, f);
    let x3 = square::<BITS, true>(s);
    let z3 = x1.multiply::<false>(tt);
    (
        Point(x2.plus(z2).carry(), x2.minus(z2).carry()),
        Point(x3.plus(z3).carry(), x3.minus(z3).carry()),
    )
}

/// The start and the end of the ladder; [`step`] doubles for itself, beside the addition.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn doubled<const BITS: u32>(Point(a, b): Point<BITS>) -> Point<BITS> {
    let aa = square::<BITS, true>(a);
    let bb = square::<BITS, false>(b);
    let e = aa.minus(bb).carry();
    let f = add_small_multiple(bb, e).carry();
    let x = multiply::<BITS, true>(aa.carry(), bb.carry());
    let z = multiply::<BITS, false>(e, f);
    Point(x.plus(z).carry(), x.minus(z).carry())
}
