//! Radix 2^52: what few vector operations of any kind are best for.
//!
//! `vpmadd52` multiplies the low 52 bits of its operands and ignores the 12 above. So limbs are not
//! masked after a carry; only the top one is, because 2^255 is folded there. High halves of products
//! land on the next column as they are.
//!
//! | operation | in | out |
//! |---|---|---|
//! | `multiply`, `square`, `multiply_table` | carried | columns < 11 * 2^52, biased < 27 * 2^52 |
//! | `add_small_multiple` | carried, columns < 11 * 2^52 | columns < 13 * 2^52 |
//! | sums | columns | sum of the bounds |
//! | differences | biased columns, columns < 13 * 2^52 | bound of the first |
//! | `carry` | columns < 64 * 2^52 | limbs 0..3 modulo 2^52, limb 4 <= 2^47 + 2^6, value < 2p |
//!
//! With a limb 4 of x and y of at most 2^47 + 2^6, the ninth column of a product is at most
//! 2^42 + 2^4, and 608 times that below 2^52: folding it once is enough.

use core::arch::x86_64::{
    __m512i, _mm512_add_epi64 as add, _mm512_and_si512 as and, _mm512_madd52hi_epu64 as hi,
    _mm512_madd52lo_epu64 as lo, _mm512_setzero_si512 as zero, _mm512_slli_epi64 as shl,
    _mm512_srli_epi64 as shr,
};

use super::field::{Bounds, Columns, all, limb_mask, top_mask};

const MASK: u64 = limb_mask(52);
/// 16 * 32p, in limbs of nearly 16 * 2^52.
pub(super) const BIAS: [u64; 5] = [(MASK - 607) << 4, MASK << 4, MASK << 4, MASK << 4, MASK << 4];

pub(super) const BOUNDS: Bounds = Bounds {
    // Bits 52 and above of limbs 0 to 3 mean nothing.
    reduced: [u64::MAX, (1 << 47) + (1 << 6)],
    product: 11,
    biased: 27,
    subtracted: 13,
    carried: 63,
};

/// Carried limbs without the bits that mean nothing.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn masked(x: [__m512i; 5]) -> [__m512i; 5] {
    let m = all(MASK);
    [and(x[0], m), and(x[1], m), and(x[2], m), and(x[3], m), x[4]]
}

/// Folds at 2^255, then moves what is above bit 52 one limb up: at most 63 each time, so that
/// limb 4 ends below 2^47 + 2^6, and nothing leaves it.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn carry(x: [__m512i; 5]) -> [__m512i; 5] {
    let x0 = lo(x[0], shr::<47>(x[4]), all(19));
    let x4 = and(x[4], all(top_mask(52)));
    let x1 = add(x[1], shr::<52>(x0));
    let x2 = add(x[2], shr::<52>(x1));
    let x3 = add(x[3], shr::<52>(x2));
    [x0, x1, x2, x3, add(x4, shr::<52>(x3))]
}

/// 50 multiplications, then columns 5 to 9, of weight 2^260 = 608 (mod p) and up, are carried and
/// folded.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn multiply<const BIASED: bool>(x: [__m512i; 5], y: [__m512i; 5]) -> [__m512i; 5] {
    let s = Columns::<52>::start::<BIASED>().0;
    let mut c = [s[0], s[1], s[2], s[3], s[4], zero(), zero(), zero(), zero(), zero()];
    for i in 0..5 {
        for j in 0..5 {
            c[i + j] = lo(c[i + j], x[i], y[j]);
        }
        for j in 0..5 {
            c[i + j + 1] = hi(c[i + j + 1], x[i], y[j]);
        }
    }
    c[6] = add(c[6], shr::<52>(c[5]));
    c[7] = add(c[7], shr::<52>(c[6]));
    c[8] = add(c[8], shr::<52>(c[7]));
    c[9] = add(c[9], shr::<52>(c[8]));
    let f = all(608);
    for i in 0..5 {
        c[i] = lo(c[i], c[i + 5], f);
    }
    for i in 0..4 {
        c[i + 1] = hi(c[i + 1], c[i + 5], f);
    }
    [c[0], c[1], c[2], c[3], c[4]]
}

/// Products of two different limbs among 0 to 3 are summed once and doubled; limb 4 has room to be
/// doubled itself, and 608 * x4^2 at weight 2^156 is twice (16 * x4)(19 * x4), both below 2^52.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn square<const BIASED: bool>(x: [__m512i; 5]) -> [__m512i; 5] {
    let z = zero();
    let twice = |x| add(x, x);
    let (x4_16, x4_19, x4_2) = (shl::<4>(x[4]), lo(z, x[4], all(19)), twice(x[4]));
    // Half of the bias where the column is doubled.
    let s = if BIASED { [BIAS[0], BIAS[1] / 2].map(|x| all(x)) } else { [z, z] };

    let d5 = hi(lo(z, x[2], x[3]), x[1], x[3]);
    let d6 = hi(z, x[2], x[3]);
    let d1 = lo(s[1], x[0], x[1]);
    let d2 = hi(lo(s[1], x[0], x[2]), x[0], x[1]);
    let d3 = lo(hi(lo(lo(s[1], x[0], x[3]), x[1], x[2]), x[0], x[2]), x4_16, x4_19);
    let d4 = hi(hi(hi(lo(s[1], x[1], x[3]), x[0], x[3]), x[1], x[2]), x4_16, x4_19);

    let c5 = hi(lo(hi(twice(d5), x[2], x[2]), x[1], x4_2), x[0], x4_2);
    let c6 = hi(lo(lo(twice(d6), x[3], x[3]), x[2], x4_2), x[1], x4_2);
    let c7 = hi(lo(hi(z, x[3], x[3]), x[3], x4_2), x[2], x4_2);
    let c8 = hi(z, x[3], x4_2);
    let c6 = add(c6, shr::<52>(c5));
    let c7 = add(c7, shr::<52>(c6));
    let c8 = add(c8, shr::<52>(c7));

    let f = all(608);
    let r0 = lo(lo(s[0], x[0], x[0]), c5, f);
    let r1 = hi(lo(hi(twice(d1), x[0], x[0]), c6, f), c5, f);
    let r2 = hi(lo(lo(twice(d2), x[1], x[1]), c7, f), c6, f);
    let r3 = hi(lo(hi(twice(d3), x[1], x[1]), c8, f), c7, f);
    let r4 = hi(lo(lo(twice(d4), x[2], x[2]), x[0], x4_2), c8, f);
    [r0, r1, r2, r3, r4]
}

/// start + 121666 * x.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn add_small_multiple(s: [__m512i; 5], x: [__m512i; 5]) -> [__m512i; 5] {
    let y = all(121_666);
    [
        // What leaves limb 4 is below 2^12.
        lo(lo(s[0], x[0], y), hi(zero(), x[4], y), all(608)),
        hi(lo(s[1], x[1], y), x[0], y),
        hi(lo(s[2], x[2], y), x[1], y),
        hi(lo(s[3], x[3], y), x[2], y),
        hi(lo(s[4], x[4], y), x[3], y),
    ]
}

/// 2^52 times masked limbs, not yet carried: what leaves at the top has weight 2^260.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn limb_up(x: [__m512i; 5]) -> [__m512i; 5] {
    let f = all(608);
    [lo(zero(), x[4], f), hi(x[0], x[4], f), x[1], x[2], x[3]]
}

/// The product with the x that the table is of. Only column 5 must be folded; it is at most 5 times
/// the bound of limb 4, because the other factor is below 2^52.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn multiply_table<const BIASED: bool>(
    table: &[[__m512i; 5]; 5],
    y: [__m512i; 5],
) -> [__m512i; 5] {
    let mut c = Columns::<52>::start::<BIASED>().0;
    let mut c5 = zero();
    for (x, y) in table.iter().zip(y) {
        for j in 0..5 {
            c[j] = lo(c[j], x[j], y);
        }
        for j in 0..4 {
            c[j + 1] = hi(c[j + 1], x[j], y);
        }
        c5 = hi(c5, x[4], y);
    }
    c[0] = lo(c[0], c5, all(608));
    c[1] = hi(c[1], c5, all(608));
    c
}
