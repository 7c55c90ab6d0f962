//! The Montgomery ladder on eight points with one scalar.
//!
//! The state is A, B = x2 + z2, x2 - z2 and C, D = x3 + z3, x3 - z3 of the two points, so that
//! every sum is one of products not yet carried. Swapping the points exchanges DA and CB and
//! changes only the sign of their difference, which is squared: so only the point to double is
//! selected.

use core::hint::black_box;

use zeroize::Zeroizing;

use core::arch::x86_64::__m512i;

use super::field::{Columns, Reduced, Table, add_small_multiple, multiply, square};
use super::lane::Lane;

/// For each bit from 254 down to 0: all bits set if it differs from the one above it.
pub(in crate::low) struct Masks(pub(in crate::low) Zeroizing<[u64; 255]>);

impl Masks {
    /// Out of line and behind a black box: for [`ladder`] these are any 64 bits, of which each
    /// selects for itself, so the compiler has nothing to branch on.
    #[inline(never)]
    pub(in crate::low) fn new(clamped: &[u8; 32]) -> Self {
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
pub(super) struct Point<const BITS: u32, V = __m512i>(
    pub(super) Reduced<BITS, V>,
    pub(super) Reduced<BITS, V>,
);

/// (x, z) of the product of a clamped scalar with the points of `x1`, in columns that can be added
/// and subtracted.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn ladder<const BITS: u32>(
    masks: &Masks,
    x1: Columns<BITS>,
) -> (Columns<BITS>, Columns<BITS>) {
    let (table, mut sum) = start(x1, Reduced::small(1).columns());
    // Bit 254 is set: the ladder holds 2P and P after it.
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
    end(double)
}

/// The table of x1, and its point.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn start<const BITS: u32, V: Lane>(
    x1: Columns<BITS, V>,
    one: Columns<BITS, V>,
) -> (Table<BITS, V>, Point<BITS, V>) {
    (Table::new(x1.carry()), Point(x1.plus(one).carry(), x1.biased().minus(one).carry()))
}

/// (2x, 2z) of a point.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn end<const BITS: u32, V: Lane>(
    Point(plus, minus): Point<BITS, V>,
) -> (Columns<BITS, V>, Columns<BITS, V>) {
    let (plus, minus) = (plus.columns(), minus.columns());
    (plus.plus(minus), plus.biased().minus(minus))
}

/// The double of `double`, or of `sum` where the mask is set, and the sum of both, whose difference
/// is the point of `x1`.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn step<const BITS: u32, V: Lane>(
    double: Point<BITS, V>,
    sum: Point<BITS, V>,
    mask: u64,
    x1: &Table<BITS, V>,
) -> (Point<BITS, V>, Point<BITS, V>) {
    match BITS {
        51 => step_ordered_for_51(double, sum, mask, x1),
        _ => step_ordered_for_52(double, sum, mask, x1),
    }
}

/// In this order, by measurement of several dozen: they differ by up to a tenth, by what the
/// compiler moves to the stack, and by what waits for what.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn step_ordered_for_51<const BITS: u32, V: Lane>(
    double: Point<BITS, V>,
    sum: Point<BITS, V>,
    mask: u64,
    x1: &Table<BITS, V>,
) -> (Point<BITS, V>, Point<BITS, V>) {
    let (Point(a, b), Point(c, d)) = (double, sum);
    let aa = square::<BITS, true, V>(a.choose(c, mask));
    let bb = square::<BITS, false, V>(b.choose(d, mask));
    let bb_carried = bb.carry();
    let da = multiply::<BITS, true, V>(a, d);
    let cb = multiply::<BITS, false, V>(b, c);
    let e = aa.minus(bb).carry();
    let f = add_small_multiple(bb, e).carry();
    let z2 = multiply::<BITS, false, V>(e, f);
    let s = da.plus(cb).carry();
    let t = da.minus(cb).carry();
    let x2 = multiply::<BITS, true, V>(aa.carry(), bb_carried);
    let tt = square::<BITS, false, V>(t).carry();
    let z3 = x1.multiply::<false>(tt);
    let x3 = square::<BITS, true, V>(s);
    let c = x3.plus(z3).carry();
    let b = x2.minus(z2).carry();
    let a = x2.plus(z2).carry();
    let d = x3.minus(z3).carry();
    (Point(a, b), Point(c, d))
}

/// In this order, by measurement: each chain of waiting products has another one beside it.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn step_ordered_for_52<const BITS: u32, V: Lane>(
    double: Point<BITS, V>,
    sum: Point<BITS, V>,
    mask: u64,
    x1: &Table<BITS, V>,
) -> (Point<BITS, V>, Point<BITS, V>) {
    let (Point(a, b), Point(c, d)) = (double, sum);
    let aa = square::<BITS, true, V>(a.choose(c, mask));
    let bb = square::<BITS, false, V>(b.choose(d, mask));
    let da = multiply::<BITS, true, V>(d, a);
    let cb = multiply::<BITS, false, V>(c, b);
    let e = aa.minus(bb).carry();
    let t = da.minus(cb).carry();
    let s = da.plus(cb).carry();
    let f = add_small_multiple(bb, e).carry();
    let x2 = multiply::<BITS, true, V>(aa.carry(), bb.carry());
    let tt = square::<BITS, false, V>(t).carry();
    let z2 = multiply::<BITS, false, V>(e, f);
    let x3 = square::<BITS, true, V>(s);
    let z3 = x1.multiply::<false>(tt);
    (
        Point(x2.plus(z2).carry(), x2.minus(z2).carry()),
        Point(x3.plus(z3).carry(), x3.minus(z3).carry()),
    )
}

/// The start and the end of the ladder; [`step`] doubles for itself, beside the addition.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn doubled<const BITS: u32>(point: Point<BITS>) -> Point<BITS> {
    double(point)
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn double<const BITS: u32, V: Lane>(Point(a, b): Point<BITS, V>) -> Point<BITS, V> {
    let aa = square::<BITS, true, V>(a);
    let bb = square::<BITS, false, V>(b);
    let e = aa.minus(bb).carry();
    let f = add_small_multiple(bb, e).carry();
    let x = multiply::<BITS, true, V>(aa.carry(), bb.carry());
    let z = multiply::<BITS, false, V>(e, f);
    Point(x.plus(z).carry(), x.minus(z).carry())
}
