//! Radix 2^51: what few multiplications are best for.
//!
//! There is a bit to spare below the 52 that `vpmadd52` reads. So all limbs are carried at once,
//! each into the next, and stay a little above 2^51; what a multiplication would ignore is never
//! there. The low half of a product counts 2^52 too much for its column: high halves are summed
//! apart and doubled.
//!
//! | operation | in | out |
//! |---|---|---|
//! | `multiply`, `square`, `multiply_table` | carried | columns < 125 * 2^52, biased < 277 * 2^52 |
//! | `add_small_multiple` | carried, columns < 125 * 2^52 | columns < 127 * 2^52 |
//! | sums | columns | sum of the bounds |
//! | differences | biased columns, columns < 127 * 2^52 | bound of the first |
//! | `carry` | columns < 512 * 2^52 | limbs <= 2^51 + 2^15, value < 2p |
//!
//! For limbs up to 2^51 + 2^15, a low half is below 2^52 and a high one below 2^50 + 2^16: 1 and
//! 1/4 in units of 2^52, with an excess that all together stays below the next integer. Columns of
//! a product, a square being the same sums:
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
//! Column 0 is the largest: 124.5. The bias adds 152 to each, before or after it is multiplied by
//! 19: a column of a sum of two products is below 402 * 2^52, and all intermediate ones below 2^61.

use super::lane::Lane;
use super::limb::{LimbBounds, limb_mask};

const MASK: u64 = limb_mask(51);
/// 8 * 2p in limbs of nearly 8 * 2^52, for the columns that are folded: even, because some are
/// doubled.
const UPPER_BIAS: [u64; 5] = [(MASK - 18) << 4, MASK << 4, MASK << 4, MASK << 4, MASK << 4];
const HALF_BIAS: [u64; 5] =
    [UPPER_BIAS[0] / 2, UPPER_BIAS[1] / 2, UPPER_BIAS[2] / 2, UPPER_BIAS[3] / 2, UPPER_BIAS[4] / 2];
/// Bias after the fold: 152 * 2p, in limbs of nearly 152 * 2^52.
pub(super) const BIAS: [u64; 5] = [
    19 * UPPER_BIAS[0],
    19 * UPPER_BIAS[1],
    19 * UPPER_BIAS[2],
    19 * UPPER_BIAS[3],
    19 * UPPER_BIAS[4],
];

pub(super) const BOUNDS: LimbBounds = LimbBounds {
    reduced: [(1 << 51) + (1 << 15); 2],
    product: 125,
    biased: 277,
    subtracted: 127,
    carried: 512,
};

/// Moves what is above bit 51 one limb up, all at once: below 2^10, and 19 times that below 2^15
/// from limb 4, which is folded at 2^255.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn carry<V: Lane>(x: [V; 5]) -> [V; 5] {
    let m = x[0].all(MASK);
    [
        x[0].and(m).lo(x[4].shr::<51>(), m.all(19)),
        x[1].and(m).add(x[0].shr::<51>()),
        x[2].and(m).add(x[1].shr::<51>()),
        x[3].and(m).add(x[2].shr::<51>()),
        x[4].and(m).add(x[3].shr::<51>()),
    ]
}

/// 50 multiplications, the upper columns first, and five by 19 or 38 that fold these: columns 5 to
/// 9, of weight 2^255 and up, are below 2^56, so that all bits of the product count.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn multiply<const BIASED: bool, V: Lane>(x: [V; 5], y: [V; 5]) -> [V; 5] {
    let z = x[0].zero();
    let s = if BIASED { z.limbs(UPPER_BIAS) } else { [z; 5] };
    // High halves of column i + j + 1, low ones of column i + j.
    let mut high = [z, z, z, z, if BIASED { z.all(HALF_BIAS[4]) } else { z }];
    let mut low = [s[0], s[1], s[2], s[3]];
    for j in (0..5).rev() {
        for i in 4 - j..5 {
            high[i + j - 4] = high[i + j - 4].hi(x[i], y[j]);
        }
    }
    for j in (1..5).rev() {
        for i in 5 - j..5 {
            low[i + j - 5] = low[i + j - 5].lo(x[i], y[j]);
        }
    }
    let mut c = [
        low[0].add(high[0].twice()).mul(z.all(19)),
        low[1].add(high[1].twice()).mul(z.all(19)),
        low[2].add(high[2].twice()).mul(z.all(19)),
        low[3].add(high[3].twice()).mul(z.all(19)),
        high[4].mul(z.all(38)),
    ];
    let mut high = [z; 4];
    for i in 0..5 {
        for j in 0..5 - i {
            c[i + j] = c[i + j].lo(x[i], y[j]);
        }
    }
    for i in 0..4 {
        for j in 0..4 - i {
            high[i + j] = high[i + j].hi(x[i], y[j]);
        }
    }
    [
        c[0],
        c[1].add(high[0].twice()),
        c[2].add(high[1].twice()),
        c[3].add(high[2].twice()),
        c[4].add(high[3].twice()),
    ]
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn square<const BIASED: bool, V: Lane>(x: [V; 5]) -> [V; 5] {
    let z = x[0].zero();
    // Half of the bias where the column is doubled.
    let s = if BIASED { z.limbs(UPPER_BIAS) } else { [z; 5] };
    let half = if BIASED { z.limbs(HALF_BIAS) } else { [z; 5] };

    let h4 = z.hi(x[0], x[4]).hi(x[1], x[3]);
    let h5 = z.hi(x[1], x[4]).hi(x[2], x[3]);
    let h6 = z.hi(x[2], x[4]);
    let h7 = z.hi(x[3], x[4]);
    let d5 = half[0].lo(x[1], x[4]).lo(x[2], x[3]).hi(x[2], x[2]);
    let d6 = h5.twice().lo(x[2], x[4]);
    let d7 = half[2].lo(x[3], x[4]).hi(x[3], x[3]);
    let d9 = half[4].hi(x[4], x[4]);
    let c0 = d5.add(h4.twice()).mul(z.all(38));
    let c1 = d6.twice().add(s[1].lo(x[3], x[3])).mul(z.all(19));
    let c2 = d7.add(h6.twice()).mul(z.all(38));
    let c3 = h7.twice().twice().add(s[3].lo(x[4], x[4])).mul(z.all(19));
    let c4 = d9.mul(z.all(38));

    let h1 = z.hi(x[0], x[1]);
    let h2 = z.hi(x[0], x[2]);
    let h3 = z.hi(x[0], x[3]).hi(x[1], x[2]);
    let d1 = z.lo(x[0], x[1]).hi(x[0], x[0]);
    let d2 = h1.twice().lo(x[0], x[2]);
    let d3 = z.lo(x[0], x[3]).lo(x[1], x[2]).hi(x[1], x[1]);
    let d4 = z.lo(x[0], x[4]).lo(x[1], x[3]);
    [
        c0.lo(x[0], x[0]),
        c1.add(d1.twice()),
        c2.lo(x[1], x[1]).add(d2.twice()),
        c3.add(d3.add(h2.twice()).twice()),
        c4.lo(x[2], x[2]).add(d4.add(h3.twice()).twice()),
    ]
}

/// start + 121666 * x: high halves are below 2^17.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn add_small_multiple<V: Lane>(s: [V; 5], x: [V; 5]) -> [V; 5] {
    let (z, y) = (x[0].zero(), x[0].all(121_666));
    [
        s[0].lo(x[0], y).lo(z.hi(x[4], y), z.all(38)),
        s[1].lo(x[1], y).add(z.hi(x[0], y).twice()),
        s[2].lo(x[2], y).add(z.hi(x[1], y).twice()),
        s[3].lo(x[3], y).add(z.hi(x[2], y).twice()),
        s[4].lo(x[4], y).add(z.hi(x[3], y).twice()),
    ]
}

/// 2^51 times the number, not yet carried: what leaves at the top has weight 2^255.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn limb_up<V: Lane>(x: [V; 5]) -> [V; 5] {
    [x[4].mul(x[4].all(19)), x[0], x[1], x[2], x[3]]
}

/// The product with the x that the table is of: each column has five low and five high halves, 7.5
/// in all, and column 0 instead 5 low ones and 19 times 2.5, 52.5 in all.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn multiply_table<const BIASED: bool, V: Lane>(
    table: &[[V; 5]; 5],
    y: [V; 5],
) -> [V; 5] {
    let z = y[0].zero();
    let mut c = if BIASED { z.limbs(BIAS) } else { [z; 5] };
    let mut h = [z; 5];
    for (x, y) in table.iter().zip(y) {
        for j in 0..5 {
            h[j] = h[j].hi(x[j], y);
        }
        for j in 0..5 {
            c[j] = c[j].lo(x[j], y);
        }
    }
    [
        c[0].add(h[4].mul(z.all(38))),
        c[1].add(h[0].twice()),
        c[2].add(h[1].twice()),
        c[3].add(h[2].twice()),
        c[4].add(h[3].twice()),
    ]
}
