//! Radix 2^51: what few multiplications are best for.
//!
//! There is a bit to spare below the 52 that `vpmadd52` reads. So all limbs are carried at once, each
//! into the next, and stay a little above 2^51; what a multiplication would ignore is never there. The
//! low half of a product counts 2^52 too much for its column: high halves are summed apart and doubled.
//!
//! | operation | in | out |
//! |---|---|---|
//! | `multiply`, `square`, `multiply_table` | carried | columns < 125 * 2^52, biased < 277 * 2^52 |
//! | `add_small_multiple` | carried, columns < 125 * 2^52 | columns < 127 * 2^52 |
//! | sums | columns | sum of the bounds |
//! | differences | biased columns, columns < 127 * 2^52 | bound of the first |
//! | `carry` | columns < 512 * 2^52 | limbs <= 2^51 + 2^15, value < 2p |
//!
//! Of limbs up to 2^51 + 2^15, a low half is below 2^52 and a high one below 2^50 + 2^16: 1 and 1/4 in
//! units of 2^52, with an excess that all together stays below the next integer. Columns of a product, a
//! square being the same sums:
//!
//! | column | low halves | high halves, twice | sum | 19 times |
//! |---|---|---|---|---|
//! | 5 (to 0) | 4 | 5 | 6.5 | 123.5 |
//! | 6 (to 1) | 3 | 4 | 5 | 95 |
//! | 7 (to 2) | 2 | 3 | 3.5 | 66.5 |
//! | 8 (to 3) | 1 | 2 | 2 | 38 |
//! | 9 (to 4) | 0 | 1 | 0.5 | 9.5 |
//! | 0 | 1 | 0 | 1 | |
//! | 1 | 2 | 1 | 2.5 | |
//! | 2 | 3 | 2 | 4 | |
//! | 3 | 4 | 3 | 5.5 | |
//! | 4 | 5 | 4 | 7 | |
//!
//! Column 0 is the largest: 124.5. The bias adds 152 to each, before or after it is multiplied by 19: a
//! column of a sum of two products is below 402 * 2^52, and all intermediate ones below 2^61.

use core::arch::x86_64::{
    __m512i, _mm512_add_epi64 as add, _mm512_and_si512 as and, _mm512_madd52hi_epu64 as hi,
    _mm512_madd52lo_epu64 as lo, _mm512_mullo_epi64 as mul, _mm512_setzero_si512 as zero,
    _mm512_srli_epi64 as shr,
};

use super::field::{Bounds, Columns, all, limb_mask};

const MASK: u64 = limb_mask(51);
/// 8 * 2p in limbs of nearly 8 * 2^52, for the columns that are folded: even, because some are doubled.
const UPPER_BIAS: [u64; 5] = [(MASK - 18) << 4, MASK << 4, MASK << 4, MASK << 4, MASK << 4];
/// What that is after the fold: 152 * 2p, in limbs of nearly 152 * 2^52.
pub(super) const BIAS: [u64; 5] = [
    19 * UPPER_BIAS[0],
    19 * UPPER_BIAS[1],
    19 * UPPER_BIAS[2],
    19 * UPPER_BIAS[3],
    19 * UPPER_BIAS[4],
];

pub(super) const BOUNDS: Bounds = Bounds {
    reduced: [(1 << 51) + (1 << 15); 2],
    product: 125,
    biased: 277,
    subtracted: 127,
    carried: 512,
};

#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn twice(x: __m512i) -> __m512i {
    add(x, x)
}

/// Moves what is above bit 51 one limb up, all at once: below 2^10, and 19 times that below 2^15 from
/// limb 4, which is folded at 2^255.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn carry(x: [__m512i; 5]) -> [__m512i; 5] {
    let m = all(MASK);
    [
        lo(and(x[0], m), shr::<51>(x[4]), all(19)),
        add(and(x[1], m), shr::<51>(x[0])),
        add(and(x[2], m), shr::<51>(x[1])),
        add(and(x[3], m), shr::<51>(x[2])),
        add(and(x[4], m), shr::<51>(x[3])),
    ]
}

/// 50 multiplications, the upper columns first, and five by 19 or 38 that fold these: columns 5 to 9,
/// of weight 2^255 and up, are below 2^56, so that all bits of the product count.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn multiply<const BIASED: bool>(x: [__m512i; 5], y: [__m512i; 5]) -> [__m512i; 5] {
    let z = zero();
    let s = if BIASED { UPPER_BIAS.map(|limb| all(limb)) } else { [z; 5] };
    // High halves of column i + j + 1, low ones of column i + j.
    let mut high = [z, z, z, z, if BIASED { all(UPPER_BIAS[4] / 2) } else { z }];
    let mut low = [s[0], s[1], s[2], s[3]];
    for j in (0..5).rev() {
        for i in 4 - j..5 {
            high[i + j - 4] = hi(high[i + j - 4], x[i], y[j]);
        }
    }
    for j in (1..5).rev() {
        for i in 5 - j..5 {
            low[i + j - 5] = lo(low[i + j - 5], x[i], y[j]);
        }
    }
    let mut c = [
        mul(add(low[0], twice(high[0])), all(19)),
        mul(add(low[1], twice(high[1])), all(19)),
        mul(add(low[2], twice(high[2])), all(19)),
        mul(add(low[3], twice(high[3])), all(19)),
        mul(high[4], all(38)),
    ];
    let mut high = [z; 4];
    for i in 0..5 {
        for j in 0..5 - i {
            c[i + j] = lo(c[i + j], x[i], y[j]);
        }
    }
    for i in 0..4 {
        for j in 0..4 - i {
            high[i + j] = hi(high[i + j], x[i], y[j]);
        }
    }
    [
        c[0],
        add(c[1], twice(high[0])),
        add(c[2], twice(high[1])),
        add(c[3], twice(high[2])),
        add(c[4], twice(high[3])),
    ]
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn square<const BIASED: bool>(x: [__m512i; 5]) -> [__m512i; 5] {
    let z = zero();
    // Half of the bias where the column is doubled.
    let s = if BIASED { UPPER_BIAS.map(|limb| all(limb)) } else { [z; 5] };
    let half = if BIASED { UPPER_BIAS.map(|limb| all(limb / 2)) } else { [z; 5] };

    let h4 = hi(hi(z, x[0], x[4]), x[1], x[3]);
    let h5 = hi(hi(z, x[1], x[4]), x[2], x[3]);
    let h6 = hi(z, x[2], x[4]);
    let h7 = hi(z, x[3], x[4]);
    let d5 = hi(lo(lo(half[0], x[1], x[4]), x[2], x[3]), x[2], x[2]);
    let d6 = lo(twice(h5), x[2], x[4]);
    let d7 = hi(lo(half[2], x[3], x[4]), x[3], x[3]);
    let d9 = hi(half[4], x[4], x[4]);
    let c0 = mul(add(d5, twice(h4)), all(38));
    let c1 = mul(add(twice(d6), lo(s[1], x[3], x[3])), all(19));
    let c2 = mul(add(d7, twice(h6)), all(38));
    let c3 = mul(add(twice(twice(h7)), lo(s[3], x[4], x[4])), all(19));
    let c4 = mul(d9, all(38));

    let h1 = hi(z, x[0], x[1]);
    let h2 = hi(z, x[0], x[2]);
    let h3 = hi(hi(z, x[0], x[3]), x[1], x[2]);
    let d1 = hi(lo(z, x[0], x[1]), x[0], x[0]);
    let d2 = lo(twice(h1), x[0], x[2]);
    let d3 = hi(lo(lo(z, x[0], x[3]), x[1], x[2]), x[1], x[1]);
    let d4 = lo(lo(z, x[0], x[4]), x[1], x[3]);
    [
        lo(c0, x[0], x[0]),
        add(c1, twice(d1)),
        add(lo(c2, x[1], x[1]), twice(d2)),
        add(c3, twice(add(d3, twice(h2)))),
        add(lo(c4, x[2], x[2]), twice(add(d4, twice(h3)))),
    ]
}

/// start + 121666 * x: high halves are below 2^17.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn add_small_multiple(s: [__m512i; 5], x: [__m512i; 5]) -> [__m512i; 5] {
    let (z, y) = (zero(), all(121_666));
    [
        lo(lo(s[0], x[0], y), hi(z, x[4], y), all(38)),
        add(lo(s[1], x[1], y), twice(hi(z, x[0], y))),
        add(lo(s[2], x[2], y), twice(hi(z, x[1], y))),
        add(lo(s[3], x[3], y), twice(hi(z, x[2], y))),
        add(lo(s[4], x[4], y), twice(hi(z, x[3], y))),
    ]
}

/// 2^51 times the number, not yet carried: what leaves at the top has weight 2^255.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn limb_up(x: [__m512i; 5]) -> [__m512i; 5] {
    [mul(x[4], all(19)), x[0], x[1], x[2], x[3]]
}

/// The product with the x that the table is of: each column has five low and five high halves, 7.5 in
/// all, and column 0 instead 5 low ones and 19 times 2.5, 52.5 in all.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn multiply_table<const BIASED: bool>(
    table: &[[__m512i; 5]; 5],
    y: [__m512i; 5],
) -> [__m512i; 5] {
    let mut c = Columns::<51>::start::<BIASED>().0;
    let mut h = [zero(); 5];
    for (x, y) in table.iter().zip(y) {
        for j in 0..5 {
            h[j] = hi(h[j], x[j], y);
        }
        for j in 0..5 {
            c[j] = lo(c[j], x[j], y);
        }
    }
    [
        add(c[0], mul(h[4], all(38))),
        add(c[1], twice(h[0])),
        add(c[2], twice(h[1])),
        add(c[3], twice(h[2])),
        add(c[4], twice(h[3])),
    ]
}
