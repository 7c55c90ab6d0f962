//! Radix 2^52: what few vector operations of any kind are best for.
//!
//! `vpmadd52` multiplies the low 52 bits of its operands and ignores the 12 above. So limbs are not
//! masked after a carry; only the top one is, because 2^255 is folded there. High halves of
//! products land on the next column as they are.
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

use super::lane::Lane;
use super::limb::{LimbBounds, limb_mask, top_mask};

const MASK: u64 = limb_mask(52);
/// 16 * 32p, in limbs of nearly 16 * 2^52.
pub(super) const BIAS: [u64; 5] = [(MASK - 607) << 4, MASK << 4, MASK << 4, MASK << 4, MASK << 4];

pub(super) const BOUNDS: LimbBounds = LimbBounds {
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
pub(super) fn masked<V: Lane>(x: [V; 5]) -> [V; 5] {
    let m = x[0].all(MASK);
    [x[0].and(m), x[1].and(m), x[2].and(m), x[3].and(m), x[4]]
}

/// Folds at 2^255, then moves what is above bit 52 one limb up: at most 63 each time, so that
/// limb 4 ends below 2^47 + 2^6, and nothing leaves it.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn carry<V: Lane>(x: [V; 5]) -> [V; 5] {
    let x0 = x[0].lo(x[4].shr::<47>(), x[0].all(19));
    let x4 = x[4].and(x[4].all(top_mask(52)));
    let x1 = x[1].add(x0.shr::<52>());
    let x2 = x[2].add(x1.shr::<52>());
    let x3 = x[3].add(x2.shr::<52>());
    [x0, x1, x2, x3, x4.add(x3.shr::<52>())]
}

/// 50 multiplications, then columns 5 to 9, of weight 2^260 = 608 (mod p) and up, are carried and
/// folded.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn multiply<const BIASED: bool, V: Lane>(x: [V; 5], y: [V; 5]) -> [V; 5] {
    let z = x[0].zero();
    let s = if BIASED { z.limbs(BIAS) } else { [z; 5] };
    let mut c = [s[0], s[1], s[2], s[3], s[4], z, z, z, z, z];
    for i in 0..5 {
        for j in 0..5 {
            c[i + j] = c[i + j].lo(x[i], y[j]);
        }
        for j in 0..5 {
            c[i + j + 1] = c[i + j + 1].hi(x[i], y[j]);
        }
    }
    c[6] = c[6].add(c[5].shr::<52>());
    c[7] = c[7].add(c[6].shr::<52>());
    c[8] = c[8].add(c[7].shr::<52>());
    c[9] = c[9].add(c[8].shr::<52>());
    let f = z.all(608);
    for i in 0..5 {
        c[i] = c[i].lo(c[i + 5], f);
    }
    for i in 0..4 {
        c[i + 1] = c[i + 1].hi(c[i + 5], f);
    }
    [c[0], c[1], c[2], c[3], c[4]]
}

/// Products of two different limbs among 0 to 3 are summed once and doubled. Limb 4 is small enough
/// to be doubled itself, and 608 * x4^2 at weight 2^156 is twice (16 * x4)(19 * x4), both below
/// 2^52.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn square<const BIASED: bool, V: Lane>(x: [V; 5]) -> [V; 5] {
    let z = x[0].zero();
    let (x4_16, x4_19, x4_2) = (x[4].shl::<4>(), z.lo(x[4], z.all(19)), x[4].twice());
    // Half of the bias where the column is doubled.
    let s = if BIASED { [z.all(BIAS[0]), z.all(BIAS[1] / 2)] } else { [z, z] };

    let d5 = z.lo(x[2], x[3]).hi(x[1], x[3]);
    let d6 = z.hi(x[2], x[3]);
    let d1 = s[1].lo(x[0], x[1]);
    let d2 = s[1].lo(x[0], x[2]).hi(x[0], x[1]);
    let d3 = s[1].lo(x[0], x[3]).lo(x[1], x[2]).hi(x[0], x[2]).lo(x4_16, x4_19);
    let d4 = s[1].lo(x[1], x[3]).hi(x[0], x[3]).hi(x[1], x[2]).hi(x4_16, x4_19);

    let c5 = d5.twice().hi(x[2], x[2]).lo(x[1], x4_2).hi(x[0], x4_2);
    let c6 = d6.twice().lo(x[3], x[3]).lo(x[2], x4_2).hi(x[1], x4_2);
    let c7 = z.hi(x[3], x[3]).lo(x[3], x4_2).hi(x[2], x4_2);
    let c8 = z.hi(x[3], x4_2);
    let c6 = c6.add(c5.shr::<52>());
    let c7 = c7.add(c6.shr::<52>());
    let c8 = c8.add(c7.shr::<52>());

    let f = z.all(608);
    let r0 = s[0].lo(x[0], x[0]).lo(c5, f);
    let r1 = d1.twice().hi(x[0], x[0]).lo(c6, f).hi(c5, f);
    let r2 = d2.twice().lo(x[1], x[1]).lo(c7, f).hi(c6, f);
    let r3 = d3.twice().hi(x[1], x[1]).lo(c8, f).hi(c7, f);
    let r4 = d4.twice().lo(x[2], x[2]).lo(x[0], x4_2).hi(c8, f);
    [r0, r1, r2, r3, r4]
}

/// start + 121666 * x.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn add_small_multiple<V: Lane>(s: [V; 5], x: [V; 5]) -> [V; 5] {
    let (z, y) = (x[0].zero(), x[0].all(121_666));
    [
        // The carry out of limb 4 is below 2^12.
        s[0].lo(x[0], y).lo(z.hi(x[4], y), z.all(608)),
        s[1].lo(x[1], y).hi(x[0], y),
        s[2].lo(x[2], y).hi(x[1], y),
        s[3].lo(x[3], y).hi(x[2], y),
        s[4].lo(x[4], y).hi(x[3], y),
    ]
}

/// 2^52 times masked limbs, not yet carried: what leaves at the top has weight 2^260.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn limb_up<V: Lane>(x: [V; 5]) -> [V; 5] {
    let (z, f) = (x[0].zero(), x[0].all(608));
    [z.lo(x[4], f), x[0].hi(x[4], f), x[1], x[2], x[3]]
}

/// The product with the x that the table is of. Only column 5 must be folded; it is at most 5 times
/// the bound of limb 4, because the other factor is below 2^52.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn multiply_table<const BIASED: bool, V: Lane>(
    table: &[[V; 5]; 5],
    y: [V; 5],
) -> [V; 5] {
    let z = y[0].zero();
    let mut c = if BIASED { z.limbs(BIAS) } else { [z; 5] };
    let mut c5 = z;
    for (x, y) in table.iter().zip(y) {
        for j in 0..5 {
            c[j] = c[j].lo(x[j], y);
        }
        for j in 0..4 {
            c[j + 1] = c[j + 1].hi(x[j], y);
        }
        c5 = c5.hi(x[4], y);
    }
    c[0] = c[0].lo(c5, z.all(608));
    c[1] = c[1].hi(c5, z.all(608));
    c
}
