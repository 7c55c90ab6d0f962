//! Whether Ed25519 keys are on the curve. Keys are public, and so is the answer.

use super::field::{Columns, Reduced, multiply, square};
use super::inversion::zero_lanes;
use super::lanes::Lanes;
use crate::low::cpu::HaveIfma;

/// The d of edwards25519, in limbs of 52 bits.
const D: [u64; 5] = [
    0x000b_4dca_1359_78a3,
    0x0004_d414_1d8a_b75e,
    0x0007_79e8_9800_700a,
    0x000f_e738_cc74_0797,
    0x0000_5203_6cee_2b6f,
];

/// out_i: whether (y_i^2 - 1) / (d y_i^2 + 1) is a square, zero included. The denominator is never
/// 0, because -1/d is no square.
pub(in crate::low) fn edwards_on_curve_batch(_: HaveIfma, ys: &[[u8; 32]], out: &mut [bool]) {
    for (ys, out) in ys.chunks(8).zip(out.chunks_mut(8)) {
        // SAFETY: the token proves that the CPU has AVX-512 F and IFMA.
        let lanes = unsafe { on_curve(ys) };
        for (i, out) in out.iter_mut().enumerate() {
            *out = lanes >> i & 1 != 0;
        }
    }
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn on_curve(ys: &[[u8; 32]]) -> u8 {
    let one = Reduced::small(1);
    let y = Lanes::from_bytes(ys).reduced();
    let u = square::<true>(y).minus(one.columns()).carry();
    let d = Lanes(D.map(|limb| [limb; 8])).reduced();
    let v = multiply::<false>(d, square::<false>(y).carry()).plus(one.columns()).carry();
    let legendre = legendre(u.times(v));
    let minus_one = legendre.columns().plus(Columns::start::<true>()).minus(one.columns());
    zero_lanes(legendre.canonical()) | zero_lanes(minus_one.carry().canonical())
}

/// x^((p-1)/2): 1 for a square, 0 for 0, -1 otherwise. The exponent is 4(4(2^250 - 1) + 1) + 2.
#[target_feature(enable = "avx512f,avx512ifma")]
fn legendre(x: Reduced) -> Reduced {
    let x2 = x.squared();
    let x3 = x2.times(x);
    let n5 = square_times(square_times(x3, 2).times(x3), 1).times(x);
    let n10 = square_times(n5, 5).times(n5);
    let n20 = square_times(n10, 10).times(n10);
    let n40 = square_times(n20, 20).times(n20);
    let n50 = square_times(n40, 10).times(n10);
    let n100 = square_times(n50, 50).times(n50);
    let n200 = square_times(n100, 100).times(n100);
    let n250 = square_times(n200, 50).times(n50);
    square_times(square_times(n250, 2).times(x), 2).times(x2)
}

/// x^(2^n).
#[target_feature(enable = "avx512f,avx512ifma")]
fn square_times(mut x: Reduced, n: u32) -> Reduced {
    for _ in 0..n {
        x = x.squared();
    }
    x
}
