//! Arithmetic modulo p = 2^255 - 19 on eight numbers: five limbs of `BITS` bits, one vector each.
//!
//! `BITS` is 52 or 51: [`field52`] and [`field51`] have what differs, with its bounds, and this
//! module the rest, and what chooses between them when a kernel is compiled.

use core::arch::x86_64::{
    __m512i, _mm512_mask_blend_epi64 as blend, _mm512_set1_epi64, _mm512_setzero_si512 as zero,
};

use super::lane::Lane;
use super::limb::{LimbBounds, limb_mask, top_mask};
use super::{field51, field52};

pub(super) const fn bounds(bits: u32) -> LimbBounds {
    match bits {
        51 => field51::BOUNDS,
        _ => field52::BOUNDS,
    }
}

/// Numbers fit to be multiplied.
#[derive(Clone, Copy)]
pub(super) struct Reduced<const BITS: u32, V = __m512i>(pub(super) [V; 5]);

/// Numbers fit to be added: all 64 bits of a limb count.
#[derive(Clone, Copy)]
pub(super) struct Columns<const BITS: u32, V = __m512i>(pub(super) [V; 5]);

/// The products of a number with the weights of the limbs.
pub(super) struct Table<const BITS: u32, V = __m512i>([[V; 5]; 5]);

impl<const BITS: u32> Reduced<BITS> {
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn small(x: u64) -> Self {
        let x = _mm512_set1_epi64(x.cast_signed());
        Self([x, zero(), zero(), zero(), zero()])
    }

    /// `self` where a bit of the mask is clear, `other` where it is set.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
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

    /// Lanes moved, the same way in all limbs.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn permuted(self, lanes: impl Fn(__m512i) -> __m512i) -> Self {
        let x = self.0;
        Self([lanes(x[0]), lanes(x[1]), lanes(x[2]), lanes(x[3]), lanes(x[4])])
    }
}

impl<const BITS: u32, V: Lane> Reduced<BITS, V> {
    /// The same number, fit to be added.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn columns(self) -> Columns<BITS, V> {
        Columns(match BITS {
            51 => self.0,
            _ => field52::masked(self.0),
        })
    }

    /// `self` where the mask is 0, `other` where it is all ones, by logic on whole vectors.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn choose(self, other: Self, mask: u64) -> Self {
        let (x, y) = (self.0, other.0);
        Self([
            x[0].choose(y[0], mask),
            x[1].choose(y[1], mask),
            x[2].choose(y[2], mask),
            x[3].choose(y[3], mask),
            x[4].choose(y[4], mask),
        ])
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn times(self, y: Self) -> Self {
        multiply::<BITS, false, V>(self, y).carry()
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn squared(self) -> Self {
        square::<BITS, false, V>(self).carry()
    }

    /// The number in 0..p, all limbs masked.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn canonical(self) -> Columns<BITS, V> {
        let mut x = self.columns().0;
        let (c19, mask) = (x[0].all(19), x[0].all(limb_mask(BITS)));
        // The value is below 2p: subtract p once if it is at least p.
        let mut q = over::<BITS, V>(x[0].add(c19));
        for limb in &x[1..4] {
            q = over::<BITS, V>(limb.add(q));
        }
        q = match BITS {
            51 => x[4].add(q).shr::<51>(),
            _ => x[4].add(q).shr::<47>(),
        };
        x[0] = x[0].lo(q, c19);
        for i in 0..4 {
            x[i + 1] = x[i + 1].add(over::<BITS, V>(x[i]));
            x[i] = x[i].and(mask);
        }
        x[4] = x[4].and(x[4].all(top_mask(BITS)));
        Columns(x)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn check(self) {
        let [limbs, top] = bounds(BITS).reduced;
        for limb in &self.0[..4] {
            limb.check(limbs, "a limb");
        }
        self.0[4].check(top, "limb 4");
    }
}

/// Returns the part of a limb that belongs to the next one.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn over<const BITS: u32, V: Lane>(x: V) -> V {
    match BITS {
        51 => x.shr::<51>(),
        _ => x.shr::<52>(),
    }
}

impl<const BITS: u32, V: Lane> Columns<BITS, V> {
    /// The same number, and a multiple of p from which all columns of a product can be subtracted.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn biased(self) -> Self {
        let bias = match BITS {
            51 => field51::BIAS,
            _ => field52::BIAS,
        };
        self.plus(Self(self.0[0].limbs(bias)))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn plus(self, y: Self) -> Self {
        let (x, y) = (self.0, y.0);
        Self([x[0].add(y[0]), x[1].add(y[1]), x[2].add(y[2]), x[3].add(y[3]), x[4].add(y[4])])
    }

    /// `self` was started with the bias, so that no limb becomes negative.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn minus(self, y: Self) -> Self {
        y.check(bounds(BITS).subtracted);
        let (x, y) = (self.0, y.0);
        let out =
            Self([x[0].sub(y[0]), x[1].sub(y[1]), x[2].sub(y[2]), x[3].sub(y[3]), x[4].sub(y[4])]);
        out.check(bounds(BITS).carried);
        out
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn carry(self) -> Reduced<BITS, V> {
        self.check(bounds(BITS).carried);
        let out = Reduced(match BITS {
            51 => field51::carry(self.0),
            _ => field52::carry(self.0),
        });
        out.check();
        out
    }

    /// All columns below `bound` * 2^52.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn check(self, bound: u64) {
        for column in &self.0 {
            column.check((bound << 52) - 1, "a column");
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn check_product<const BIASED: bool>(self) {
        let bounds = bounds(BITS);
        self.check(if BIASED { bounds.biased } else { bounds.product });
    }
}

/// x * y, and the bias if `BIASED`.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn multiply<const BITS: u32, const BIASED: bool, V: Lane>(
    x: Reduced<BITS, V>,
    y: Reduced<BITS, V>,
) -> Columns<BITS, V> {
    x.check();
    y.check();
    let out = Columns(match BITS {
        51 => field51::multiply::<BIASED, V>(x.0, y.0),
        _ => field52::multiply::<BIASED, V>(x.0, y.0),
    });
    out.check_product::<BIASED>();
    out
}

/// x^2, and the bias if `BIASED`.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn square<const BITS: u32, const BIASED: bool, V: Lane>(
    x: Reduced<BITS, V>,
) -> Columns<BITS, V> {
    x.check();
    let out = Columns(match BITS {
        51 => field51::square::<BIASED, V>(x.0),
        _ => field52::square::<BIASED, V>(x.0),
    });
    out.check_product::<BIASED>();
    out
}

/// start + 121666 * x, for a product that is not biased.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn add_small_multiple<const BITS: u32, V: Lane>(
    start: Columns<BITS, V>,
    x: Reduced<BITS, V>,
) -> Columns<BITS, V> {
    start.check_product::<false>();
    x.check();
    let out = Columns(match BITS {
        51 => field51::add_small_multiple(start.0, x.0),
        _ => field52::add_small_multiple(start.0, x.0),
    });
    out.check(bounds(BITS).subtracted);
    out
}

impl<const BITS: u32, V: Lane> Table<BITS, V> {
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn new(x: Reduced<BITS, V>) -> Self {
        let mut table = Self([x.0; 5]);
        for i in 1..5 {
            let x = Reduced::<BITS, V>(table.0[i - 1]).columns().0;
            let up = Columns::<BITS, V>(match BITS {
                51 => field51::limb_up(x),
                _ => field52::limb_up(x),
            });
            table.0[i] = up.carry().0;
        }
        table
    }

    /// x * y, and the bias if `BIASED`, for the x that the table is of.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn multiply<const BIASED: bool>(&self, y: Reduced<BITS, V>) -> Columns<BITS, V> {
        y.check();
        let out = Columns(match BITS {
            51 => field51::multiply_table::<BIASED, V>(&self.0, y.0),
            _ => field52::multiply_table::<BIASED, V>(&self.0, y.0),
        });
        out.check_product::<BIASED>();
        out
    }
}
