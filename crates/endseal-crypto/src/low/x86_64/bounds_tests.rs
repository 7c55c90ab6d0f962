//! Proofs of the bounds: the field arithmetic and the ladder on intervals that hold every value a
//! caller may pass. Each operation asserts its own bounds (`field.rs`); a wrong one panics.

use super::field::{Columns, Reduced, Table, add_small_multiple, bounds, multiply, square};
use super::ladder::{Point, double, end, start, step};
use super::limb::{limb_mask, top_mask};
use super::tests::with_ifma;
use crate::low::cpu::HaveIfma;
use crate::low::interval::Interval;

/// Every carried value, as the next operation may get it.
fn any_reduced<const BITS: u32>() -> Reduced<BITS, Interval> {
    let [limbs, top] = bounds(BITS).reduced.map(Interval::up_to);
    Reduced([limbs, limbs, limbs, limbs, top])
}

/// Every number that bytes encode (`Lanes::from_bytes`).
fn any_decoded<const BITS: u32>() -> Columns<BITS, Interval> {
    let [limbs, top] = [limb_mask(BITS), top_mask(BITS)].map(Interval::up_to);
    Columns([limbs, limbs, limbs, limbs, top])
}

fn one<const BITS: u32>() -> Columns<BITS, Interval> {
    let [zero, one] = [0, 1].map(|x| Interval::new(x, x));
    Columns([one, zero, zero, zero, zero])
}

fn below<const BITS: u32>(bound: u64) -> Columns<BITS, Interval> {
    Columns([Interval::up_to((bound << 52) - 1); 5])
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn operations<const BITS: u32>() {
    let (x, bounds) = (any_reduced::<BITS>(), bounds(BITS));
    let _ = multiply::<BITS, false, _>(x, x);
    let _ = multiply::<BITS, true, _>(x, x);
    let _ = square::<BITS, false, _>(x);
    let _ = square::<BITS, true, _>(x);
    let table = Table::new(x);
    let _ = table.multiply::<false>(x);
    let _ = table.multiply::<true>(x);
    let _ = add_small_multiple(below(bounds.product), x);
    let _ = below::<BITS>(bounds.carried).carry();
    let _ = x.canonical();
}

#[test]
fn bounds_of_each_operation_hold_for_all_limbs() {
    with_ifma!(operations);
}

/// The state before a step is any two points of carried numbers; the state after it is carried. So
/// the bounds hold for any number of steps, any scalar and any point.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn whole_ladder<const BITS: u32>() {
    let (table, sum) = start(any_decoded::<BITS>(), one());
    let _ = double(sum);
    let x = any_reduced::<BITS>();
    let (next, sum) = step(Point(x, x), Point(x, x), 0, &table);
    let chosen = Point(next.0.choose(sum.0, 0), next.1.choose(sum.1, 0));
    let (x, z) = end(double(chosen));
    // The division, and what it is given by the conversion from Edwards form.
    let _ = x.carry();
    let _ = z.carry().canonical();
    let y = any_decoded::<BITS>();
    let _ = one().plus(y).carry();
    let _ = one().biased().minus(y).carry().canonical();
}

#[test]
fn bounds_of_the_ladder_hold_for_all_scalars_and_points() {
    with_ifma!(whole_ladder);
}

#[test]
fn bounds_of_the_curve_check_hold_for_all_keys() {
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn run<const BITS: u32>() {
        let y = any_reduced::<BITS>();
        let u = square::<BITS, true, _>(y).minus(one()).carry();
        let v = multiply::<BITS, false, _>(y, y.squared()).plus(one()).carry();
        let legendre = u.times(v);
        let _ = legendre.columns().biased().minus(one()).carry().canonical();
    }
    with_ifma!(run);
}

/// In radix 2^51 the limbs of a carried number have no bit that a multiplication ignores.
#[test]
fn carried_limbs_of_radix_51_are_read_whole() {
    assert!(bounds(51).reduced.iter().all(|largest| *largest <= limb_mask(52)));
}

/// In radix 2^52 the ninth column is folded by the low half of a product alone.
#[test]
fn the_ninth_column_of_radix_52_is_folded_at_once() {
    let top = u128::from(bounds(52).reduced[1]);
    let limb = u128::from(limb_mask(52));
    // Column 9 is the high half of x4 y4 and what column 8 carries: its own sum and a carry of
    // column 7.
    let column_8 = limb + 2 * ((limb * top) >> 52) + 16;
    let column_9 = ((top * top) >> 52) + (column_8 >> 52);
    assert!(608 * column_9 < 1 << 52);
    // A square doubles limb 4 and multiplies it by 16 and 19.
    assert!(19 * top < 1 << 52);
}

/// True if `run` panics with a message that has `expected` in it.
#[cfg(feature = "std")]
fn refuses(expected: &str, run: unsafe fn()) -> bool {
    // SAFETY: the callers found that the CPU has AVX-512 F, DQ and IFMA.
    let panic = std::panic::catch_unwind(|| unsafe { run() }).unwrap_err();
    let message = panic.downcast_ref::<alloc::string::String>().map_or("", |message| message);
    message.contains(expected)
}

/// The proof can fail: one unit beyond a bound is refused.
#[cfg(feature = "std")]
#[test]
fn one_beyond_a_bound_is_refused() {
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn columns<const BITS: u32>() {
        let _ = below::<BITS>(bounds(BITS).carried + 1).carry();
    }
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn limbs() {
        let [limbs, top] = bounds(51).reduced;
        let (limbs, top) = (Interval::up_to(limbs + 1), Interval::up_to(top));
        let _ = Reduced::<51, _>([limbs, limbs, limbs, limbs, top]).squared();
    }
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn no_bias<const BITS: u32>() {
        let x = any_reduced::<BITS>();
        let _ = square::<BITS, false, _>(x).minus(square::<BITS, false, _>(x));
    }
    if HaveIfma::detect().is_some() {
        assert!(refuses("a column out of its bound", columns::<51>));
        assert!(refuses("a column out of its bound", columns::<52>));
        assert!(refuses("a limb out of its bound", limbs));
        assert!(refuses("may be negative", no_bias::<51>));
        assert!(refuses("may be negative", no_bias::<52>));
    }
}
