//! Test if Ed25519 keys are on the curve. Keys are public, and so is the answer.

use super::field::{Reduced, multiply, square};
use super::inversion::zero_lanes;
use super::lanes::Lanes;
use crate::low::cpu::{HaveIfma, Radix};

/// The d of edwards25519, little endian.
pub(super) const D: [u8; 32] = [
    0xa3, 0x78, 0x59, 0x13, 0xca, 0x4d, 0xeb, 0x75, 0xab, 0xd8, 0x41, 0x41, 0x4d, 0x0a, 0x70, 0x00,
    0x98, 0xe8, 0x79, 0x77, 0x79, 0x40, 0xc7, 0x8c, 0x73, 0xfe, 0x6f, 0x2b, 0xee, 0x6c, 0x03, 0x52,
];

/// Groups of eight side by side: one exponentiation alone waits for its own products.
const WIDTH: usize = 4;

/// out_i: whether (y_i^2 - 1) / (d y_i^2 + 1) is a square, zero included. The denominator is never
/// 0, because -1/d is no square.
pub(in crate::low) fn edwards_on_curve_batch(token: HaveIfma, ys: &[[u8; 32]], out: &mut [bool]) {
    for (ys, out) in ys.chunks(8 * WIDTH).zip(out.chunks_mut(8 * WIDTH)) {
        // SAFETY: the token proves that the CPU has AVX-512 F, DQ and IFMA.
        let lanes = unsafe { on_curve(token.radix(), ys) };
        for (i, out) in out.iter_mut().enumerate() {
            *out = lanes[i / 8] >> (i % 8) & 1 != 0;
        }
    }
}

/// For each group, a bit for each of its keys.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn on_curve(radix: Radix, ys: &[[u8; 32]]) -> [u8; WIDTH] {
    match radix {
        Radix::Bits51 => on_curve_in::<51>(ys),
        Radix::Bits52 => on_curve_in::<52>(ys),
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn on_curve_in<const BITS: u32>(ys: &[[u8; 32]]) -> [u8; WIDTH] {
    let one = Reduced::small(1);
    let d = Lanes::<BITS>::from_bytes(&[D; 8]).reduced();
    let mut fractions = Groups { len: ys.len().div_ceil(8), groups: [one; WIDTH] };
    for (ys, fraction) in ys.chunks(8).zip(&mut fractions.groups) {
        let y = Lanes::from_bytes(ys).reduced();
        let u = square::<BITS, true, _>(y).minus(one.columns()).carry();
        let v = multiply::<BITS, false, _>(d, y.squared()).plus(one.columns()).carry();
        *fraction = u.times(v);
    }
    let mut out = [0; WIDTH];
    for (x, out) in legendre(fractions).groups.into_iter().zip(&mut out) {
        let minus_one = x.columns().biased().minus(one.columns());
        *out = zero_lanes(x.canonical()) | zero_lanes(minus_one.carry().canonical());
    }
    out
}

#[derive(Clone, Copy)]
struct Groups<const BITS: u32> {
    len: usize,
    groups: [Reduced<BITS>; WIDTH],
}

impl<const BITS: u32> Groups<BITS> {
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn times(mut self, y: Self) -> Self {
        for (x, y) in self.groups[..self.len].iter_mut().zip(y.groups) {
            *x = x.times(y);
        }
        self
    }

    /// Computes x^(2^n) by `n` squarings.
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn square_times(mut self, n: u32) -> Self {
        for _ in 0..n {
            for x in &mut self.groups[..self.len] {
                *x = x.squared();
            }
        }
        self
    }
}

/// x^((p-1)/2): 1 for a square, 0 for 0, -1 otherwise. The exponent is 4(4(2^250 - 1) + 1) + 2.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn legendre<const BITS: u32>(x: Groups<BITS>) -> Groups<BITS> {
    let x2 = x.square_times(1);
    let n2 = x2.times(x);
    let n5 = n2.square_times(2).times(n2).square_times(1).times(x);
    let n10 = n5.square_times(5).times(n5);
    let n20 = n10.square_times(10).times(n10);
    let n40 = n20.square_times(20).times(n20);
    let n50 = n40.square_times(10).times(n10);
    let n100 = n50.square_times(50).times(n50);
    let n200 = n100.square_times(100).times(n100);
    let n250 = n200.square_times(50).times(n50);
    n250.square_times(2).times(x).square_times(2).times(x2)
}
