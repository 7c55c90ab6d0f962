//! Arithmetic modulo p = 2^255 - 19 on eight numbers: five limbs of 52 bits, one vector each.
//!
//! `vpmadd52` multiplies the low 52 bits of its operands and ignores the 12 above. So the limbs of a
//! [`Reduced`] are not masked after a carry; only the top one is, because 2^255 is folded there.
//!
//! | operation | in | out |
//! |---|---|---|
//! | `multiply`, `square`, `Table::multiply` | `Reduced` | columns < 11 * 2^52, biased < 27 * 2^52 |
//! | `add_small_multiple` | `Reduced`, columns < 11 * 2^52 | columns < 13 * 2^52 |
//! | `plus` | columns | sum of the bounds |
//! | `minus` | biased columns, columns < 13 * 2^52 | bound of the first |
//! | `carry` | columns < 64 * 2^52 | limbs 0..3 modulo 2^52, limb 4 <= 2^47 + 2^6, value < 2p |
//!
//! With a limb 4 of x and y of at most 2^47 + 2^6, the ninth column of a product is at most
//! 2^42 + 2^4, and 608 times that below 2^52: folding it once is enough.

use core::arch::x86_64::{
    __m512i, _mm512_add_epi64 as add, _mm512_and_si512 as and, _mm512_madd52hi_epu64 as hi,
    _mm512_madd52lo_epu64 as lo, _mm512_mask_blend_epi64 as blend, _mm512_set1_epi64,
    _mm512_setzero_si512 as zero, _mm512_slli_epi64 as shl, _mm512_srli_epi64 as shr,
    _mm512_sub_epi64 as sub, _mm512_ternarylogic_epi64 as ternary,
};

use super::lanes::Lanes;

pub(super) const MASK52: u64 = (1 << 52) - 1;
pub(super) const MASK47: u64 = (1 << 47) - 1;
/// 16 * 32p, in limbs of nearly 16 * 2^52.
const BIAS: [u64; 5] = [(MASK52 - 607) << 4, MASK52 << 4, MASK52 << 4, MASK52 << 4, MASK52 << 4];

/// Eight numbers fit to be multiplied: bits 52 and above of limbs 0 to 3 mean nothing.
#[derive(Clone, Copy)]
pub(super) struct Reduced(pub(super) [__m512i; 5]);

/// Eight numbers fit to be added: all 64 bits of a limb count.
#[derive(Clone, Copy)]
pub(super) struct Columns(pub(super) [__m512i; 5]);

/// The products of a number with 1, 2^52, 2^104, 2^156, 2^208.
pub(super) struct Table([Reduced; 5]);

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn all(x: u64) -> __m512i {
    _mm512_set1_epi64(x.cast_signed())
}

impl Reduced {
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn small(x: u64) -> Self {
        Self([all(x), zero(), zero(), zero(), zero()])
    }

    /// The same number, fit to be added.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn columns(self) -> Columns {
        let (x, m) = (self.0, all(MASK52));
        Columns([and(x[0], m), and(x[1], m), and(x[2], m), and(x[3], m), x[4]])
    }

    /// `self` where a bit of the mask is clear, `other` where it is set.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn select(self, other: Self, mask: u8) -> Self {
        let (x, y) = (self.0, other.0);
        Self([
            blend(mask, x[0], y[0]),
            blend(mask, x[1], y[1]),
            blend(mask, x[2], y[2]),
            blend(mask, x[3], y[3]),
            blend(mask, x[4], y[4]),
        ])
    }

    /// `self` where the mask is 0, `other` where it is all ones, by logic on whole vectors.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn choose(self, other: Self, mask: u64) -> Self {
        // mask ? other : self, as a truth table.
        const CHOOSE: i32 = 0xca;
        let (m, x, y) = (all(mask), self.0, other.0);
        Self([
            ternary::<CHOOSE>(m, y[0], x[0]),
            ternary::<CHOOSE>(m, y[1], x[1]),
            ternary::<CHOOSE>(m, y[2], x[2]),
            ternary::<CHOOSE>(m, y[3], x[3]),
            ternary::<CHOOSE>(m, y[4], x[4]),
        ])
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn times(self, y: Self) -> Self {
        multiply::<false>(self, y).carry()
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn squared(self) -> Self {
        square::<false>(self).carry()
    }

    /// The number in 0..p, all limbs masked.
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn canonical(self) -> Columns {
        let mut x = self.columns().0;
        let m = all(MASK52);
        // The value is below 2p: subtract p once if it is at least p.
        let mut q = shr::<52>(add(x[0], all(19)));
        for limb in &x[1..4] {
            q = shr::<52>(add(*limb, q));
        }
        q = shr::<47>(add(x[4], q));
        x[0] = lo(x[0], q, all(19));
        for i in 0..4 {
            x[i + 1] = add(x[i + 1], shr::<52>(x[i]));
            x[i] = and(x[i], m);
        }
        x[4] = and(x[4], all(MASK47));
        Columns(x)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn check(self) {
        if cfg!(debug_assertions) {
            let top = Lanes::of(self.0).0[4];
            assert!(top.iter().all(|x| *x <= (1 << 47) + (1 << 6)), "limb 4 out of its bound");
        }
    }
}

impl Columns {
    /// 0, or a multiple of p from which all columns of another product can be subtracted.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn start<const BIASED: bool>() -> Self {
        Self(if BIASED { BIAS.map(|limb| all(limb)) } else { [zero(); 5] })
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn plus(self, y: Self) -> Self {
        let (x, y) = (self.0, y.0);
        Self([add(x[0], y[0]), add(x[1], y[1]), add(x[2], y[2]), add(x[3], y[3]), add(x[4], y[4])])
    }

    /// `self` was started with the bias, so that no limb becomes negative.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn minus(self, y: Self) -> Self {
        y.check(13);
        let (x, y) = (self.0, y.0);
        let out = Self([
            sub(x[0], y[0]),
            sub(x[1], y[1]),
            sub(x[2], y[2]),
            sub(x[3], y[3]),
            sub(x[4], y[4]),
        ]);
        out.check(29);
        out
    }

    /// Folds at 2^255, then moves what is above bit 52 one limb up: at most 63 each time, so that
    /// limb 4 ends below 2^47 + 2^6, and nothing leaves it.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn carry(self) -> Reduced {
        self.check(63);
        let x = self.0;
        let x0 = lo(x[0], shr::<47>(x[4]), all(19));
        let x4 = and(x[4], all(MASK47));
        let x1 = add(x[1], shr::<52>(x0));
        let x2 = add(x[2], shr::<52>(x1));
        let x3 = add(x[3], shr::<52>(x2));
        let out = Reduced([x0, x1, x2, x3, add(x4, shr::<52>(x3))]);
        out.check();
        out
    }

    /// All columns below `bound` * 2^52.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn check(self, bound: u64) {
        if cfg!(debug_assertions) {
            let below = |x: &u64| *x < bound << 52;
            assert!(Lanes::of(self.0).0.iter().flatten().all(below), "a column out of its bound");
        }
    }
}

/// x * y, and the bias if `BIASED`: 50 multiplications, then columns 5 to 9, of weight
/// 2^260 = 608 (mod p) and up, are carried and folded.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn multiply<const BIASED: bool>(x: Reduced, y: Reduced) -> Columns {
    x.check();
    y.check();
    let s = Columns::start::<BIASED>().0;
    let (x, y) = (x.0, y.0);
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
    let out = Columns([c[0], c[1], c[2], c[3], c[4]]);
    out.check(if BIASED { 27 } else { 11 });
    out
}

/// x^2, and the bias if `BIASED`. Products of two different limbs among 0 to 3 are summed
/// once and doubled; limb 4 has room to be doubled itself, and 608 * x4^2 at weight 2^156 is twice
/// (16 * x4)(19 * x4), both below 2^52.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn square<const BIASED: bool>(x: Reduced) -> Columns {
    x.check();
    let x = x.0;
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
    let out = Columns([r0, r1, r2, r3, r4]);
    out.check(if BIASED { 27 } else { 11 });
    out
}

/// start + 121666 * x.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn add_small_multiple(start: Columns, x: Reduced) -> Columns {
    start.check(11);
    x.check();
    let (s, x, y) = (start.0, x.0, all(121_666));
    let out = Columns([
        // What leaves limb 4 is below 2^12.
        lo(lo(s[0], x[0], y), hi(zero(), x[4], y), all(608)),
        hi(lo(s[1], x[1], y), x[0], y),
        hi(lo(s[2], x[2], y), x[1], y),
        hi(lo(s[3], x[3], y), x[2], y),
        hi(lo(s[4], x[4], y), x[3], y),
    ]);
    out.check(13);
    out
}

impl Table {
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn new(x: Reduced) -> Self {
        let mut table = Self([x; 5]);
        for i in 1..5 {
            // One limb up; what leaves at the top has weight 2^260.
            let x = table.0[i - 1].columns().0;
            let f = all(608);
            let bottom = lo(zero(), x[4], f);
            table.0[i] = Columns([bottom, hi(x[0], x[4], f), x[1], x[2], x[3]]).carry();
        }
        table
    }

    /// x * y, and the bias if `BIASED`, for the x that the table is of. Only column 5 must
    /// be folded; it is at most 5 times the bound of limb 4, because the other factor is below 2^52.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    #[allow(clippy::needless_range_loop, reason = "the columns are sums over indices")]
    pub(super) fn multiply<const BIASED: bool>(&self, y: Reduced) -> Columns {
        y.check();
        let y = y.0;
        let mut c = Columns::start::<BIASED>().0;
        let mut c5 = zero();
        for i in 0..5 {
            let x = self.0[i].0;
            for j in 0..5 {
                c[j] = lo(c[j], x[j], y[i]);
            }
            for j in 0..4 {
                c[j + 1] = hi(c[j + 1], x[j], y[i]);
            }
            c5 = hi(c5, x[4], y[i]);
        }
        c[0] = lo(c[0], c5, all(608));
        c[1] = hi(c[1], c5, all(608));
        let out = Columns(c);
        out.check(if BIASED { 27 } else { 11 });
        out
    }
}
