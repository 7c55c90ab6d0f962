//! Numbers modulo n, the order of the group (SEC 2, 2.4.1). All functions take constant time.

use zeroize::Zeroize;

use super::limbs::{
    self, Column, LIMB_BITS, LIMB_MASK, LIMBS, Limbs, Mask, Native, TOP_BITS, TOP_MASK,
};

/// n in limbs.
const N: Limbs = [
    0x0036_4141,
    0x0097_a334,
    0x0203_bbfd,
    0x039a_bd22,
    0x02ba_aedc,
    LIMB_MASK,
    LIMB_MASK,
    LIMB_MASK,
    LIMB_MASK,
    TOP_MASK,
];
/// 2^256 - n.
const COMPLEMENT: [u32; 5] = [0x03c9_bebf, 0x0368_5ccb, 0x01fc_4402, 0x0065_42dd, 0x0145_5123];
/// 2^260 modulo n.
const FOLD: [u32; 6] =
    [0x009b_ebf0, 0x0285_ccbf, 0x03c4_402d, 0x0254_2dd7, 0x0055_1231, 0x0000_0005];

/// Number of limbs of one part of a scalar that is split, modulo 2^156.
const PART_LIMBS: usize = 6;
/// Number of bits of a part.
pub(super) const PART_BITS: usize = 130;
/// (2^130 - 2^129 - 1) · (1 + λ) modulo n.
const SPLIT_OFFSET: Limbs = [
    0x0297_98d9,
    0x00b0_7737,
    0x029e_4b5c,
    0x0120_9ae8,
    0x0358_9ae8,
    0x0304_635a,
    0x03dd_6bf7,
    0x000d_3b0a,
    0x027d_cb13,
    0x0029_3a22,
];
/// The basis (a1, b1), (a2, a1) of the lattice of all pairs with x + λ · y = 0 modulo n: GECC,
/// section 3.5. b1 is negative.
const A1: [u32; 5] = [0x0284_eb15, 0x0324_3924, 0x02bc_de86, 0x0086_9f51, 0x0030_86d2];
const MINUS_B1: [u32; 5] = [0x02bf_e4c3, 0x011f_ea42, 0x0082_86f5, 0x0358_043a, 0x00e4_437e];
const A2: [u32; 5] = [0x0144_cfd8, 0x0044_2367, 0x033f_657c, 0x03de_a38b, 0x0114_ca50];
/// 2^384 · a1 / n and 2^384 · -b1 / n, rounded.
const G1: Limbs = [
    0x01db_b031,
    0x00c8_2691,
    0x00a7_fe89,
    0x0051_c7a3,
    0x013d_aa8a,
    0x00a1_3ac5,
    0x02c9_0e49,
    0x01af_37a1,
    0x0221_a7d4,
    0x000c_21b4,
];
const G2: Limbs = [
    0x02c4_7f71,
    0x006d_2ba2,
    0x006c_6157,
    0x02b2_77d4,
    0x0022_1208,
    0x02af_f931,
    0x0147_fa90,
    0x0220_a1bd,
    0x02d6_010e,
    0x0039_10df,
];

/// A number in `0..n`.
#[derive(Clone, Copy)]
pub(super) struct Scalar(Limbs);

impl Zeroize for Scalar {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

impl Scalar {
    pub(super) const fn new(limbs: Limbs) -> Self {
        Self(limbs)
    }

    /// Reads 32 bytes, big-endian, and returns the number modulo n.
    pub(super) fn reduce(bytes: &[u8; 32]) -> Self {
        Self(subtract_order(&limbs::from_bytes(bytes)).0)
    }

    /// Returns true for bytes of a number in `1..n`. Constant time; the verdict may be secret.
    pub(super) fn is_canonical(bytes: &[u8; 32]) -> bool {
        let mut number = limbs::from_bytes(bytes);
        let (mut reduced, is_below) = subtract_order(&number);
        let any = number.iter().fold(0, |all, limb| all | limb);
        let is_valid = Mask::equal(any, 0).select(0, is_below.filter(1));
        number.zeroize();
        reduced.zeroize();
        is_valid == 1
    }

    pub(super) fn to_bytes(self) -> [u8; 32] {
        limbs::to_bytes(&self.0)
    }

    pub(super) fn is_zero(&self) -> bool {
        self.0.iter().fold(0, |all, limb| all | limb) == 0
    }

    pub(super) fn add(&self, other: &Self) -> Self {
        let mut sum: Limbs = core::array::from_fn(|i| self.0[i] + other.0[i]);
        carry(&mut sum);
        Self(subtract_order(&sum).0)
    }

    pub(super) fn negate(&self) -> Self {
        let mut minus: Limbs = N;
        let mut borrow = 0;
        for (limb, other) in minus.iter_mut().zip(self.0) {
            let difference = limb.wrapping_sub(other).wrapping_sub(borrow);
            *limb = difference & LIMB_MASK;
            borrow = difference >> 31;
        }
        // -0 is n.
        Self(subtract_order(&minus).0)
    }

    /// Returns `self` / 2.
    pub(super) fn half(&self) -> Self {
        let odd = Mask::from_bit(self.0[0] & 1);
        let mut even: Limbs = core::array::from_fn(|i| self.0[i] + odd.filter(N[i]));
        carry(&mut even);
        Self(core::array::from_fn(|i| {
            let lent = even.get(i + 1).map_or(0, |next| (next & 1) << (LIMB_BITS - 1));
            even[i] >> 1 | lent
        }))
    }

    pub(super) fn select(mask: Mask, yes: &Self, no: &Self) -> Self {
        Self(limbs::select(mask, &yes.0, &no.0))
    }

    pub(super) fn mul(&self, other: &Self) -> Self {
        let mut wide: [u32; 2 * LIMBS] = product(&self.0, &other.0);
        // Each round replaces what is above 2^260 by something shorter by 127 bits; the last one
        // may have a carry.
        for _ in 0..4 {
            let (lower, upper) = wide.split_at(LIMBS);
            let mut folded: [u32; 2 * LIMBS] = product(upper, &FOLD);
            (0..LIMBS).for_each(|i| folded[i] += lower[i]);
            carry(&mut folded);
            wide = folded;
        }
        let top = wide[LIMBS - 1] >> TOP_BITS;
        let mut number: Limbs = core::array::from_fn(|i| wide[i]);
        number[LIMBS - 1] &= TOP_MASK;
        for (limb, complement) in number.iter_mut().zip(COMPLEMENT) {
            // Four bits of `top` fit above a limb.
            *limb += top * complement;
        }
        carry(&mut number);
        let result = Self(subtract_order(&number).0);
        wide.zeroize();
        number.zeroize();
        result
    }

    /// Returns the bit with the weight 2^`index`.
    pub(super) fn bit(&self, index: usize) -> u32 {
        let (limb, shift) = limbs::place(index);
        self.0.get(limb).map_or(0, |limb| limb >> shift & 1)
    }

    /// Returns two numbers of [`PART_BITS`] bits. A bit b of the first stands for
    /// (2·b - 1) · 2^i, of the second for (2·b - 1) · 2^i · λ; the sum of all is this number.
    ///
    /// The digits of a number without zeros need no special case for a sign or for a zero.
    pub(super) fn split(&self) -> (Part, Part) {
        let mut half = self.add(&Self(SPLIT_OFFSET)).half();
        let mut c1 = rounded(&half.0, &G1);
        let mut c2 = rounded(&half.0, &G2);
        // Modulo 2^156; the results lie in 0..2^129.
        let mut minus: [u32; PART_LIMBS] = product(&c1, &A1);
        let mut more: [u32; PART_LIMBS] = product(&c2, &A2);
        let mut one: [u32; PART_LIMBS] = core::array::from_fn(|i| half.0[i]);
        subtract(&mut one, &minus);
        subtract(&mut one, &more);
        let mut other: [u32; PART_LIMBS] = product(&c1, &MINUS_B1);
        more = product(&c2, &A1);
        subtract(&mut other, &more);
        half.zeroize();
        c1.zeroize();
        c2.zeroize();
        minus.zeroize();
        more.zeroize();
        (Part::new(one), Part::new(other))
    }
}

/// One part of a split scalar.
pub(super) struct Part([u32; PART_LIMBS]);

impl Part {
    /// Adds 2^128 to a number modulo 2^156.
    fn new(mut limbs: [u32; PART_LIMBS]) -> Self {
        limbs[4] += 1 << (128 - 4 * LIMB_BITS);
        carry(&mut limbs);
        Self(limbs)
    }

    /// Returns `len` bits, of which the lowest has the weight 2^`index`.
    #[inline(always)]
    pub(super) fn bits(&self, index: usize, len: u32) -> u32 {
        let (limb, shift) = limbs::place(index);
        let next = self.0.get(limb + 1).map_or(0, |next| next << (LIMB_BITS - shift));
        (self.0[limb] >> shift | next) & ((1 << len) - 1)
    }
}

impl Zeroize for Part {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

/// Returns the product modulo 2^(26 · `LEN`).
fn product<const LEN: usize>(a: &[u32], b: &[u32]) -> [u32; LEN] {
    let mut column = Native::default();
    core::array::from_fn(|k| {
        for i in (k + 1).saturating_sub(b.len())..a.len().min(k + 1) {
            column.add_product(a[i], b[k - i]);
        }
        column.take()
    })
}

/// Returns `a` · `b` / 2^384, rounded. `b` is a constant and the result below 2^129.
fn rounded(a: &Limbs, b: &Limbs) -> [u32; 5] {
    const LIMB: usize = 384 / LIMB_BITS as usize;
    const SHIFT: u32 = 384 % LIMB_BITS;
    let mut wide: [u32; 2 * LIMBS] = product(a, b);
    // Adds one half.
    wide[LIMB] += 1 << (SHIFT - 1);
    carry(&mut wide[LIMB..]);
    let result = core::array::from_fn(|i| {
        let next = wide[LIMB + i + 1] << (LIMB_BITS - SHIFT);
        (wide[LIMB + i] >> SHIFT | next) & LIMB_MASK
    });
    wide.zeroize();
    result
}

/// Subtracts modulo 2^(26 · len).
fn subtract(a: &mut [u32], b: &[u32]) {
    let mut borrow = 0;
    for (a, b) in a.iter_mut().zip(b) {
        let difference = a.wrapping_sub(*b).wrapping_sub(borrow);
        *a = difference & LIMB_MASK;
        borrow = difference >> 31;
    }
}

/// Moves what is above 26 bits to the next limb. The carry of the last limb stays there if the
/// numbers of the type have 256 bits, and is zero otherwise.
fn carry(limbs: &mut [u32]) {
    for i in 1..limbs.len() {
        limbs[i] += limbs[i - 1] >> LIMB_BITS;
        limbs[i - 1] &= LIMB_MASK;
    }
}

/// Returns `number` - n unless that is negative, and a mask that is true if `number` is below n.
/// `number` is below 2 · n.
fn subtract_order(number: &Limbs) -> (Limbs, Mask) {
    let mut difference = *number;
    let mut borrow = 0;
    for (limb, n) in difference.iter_mut().zip(N) {
        let result = limb.wrapping_sub(n).wrapping_sub(borrow);
        *limb = result & LIMB_MASK;
        borrow = result >> 31;
    }
    let is_below = Mask::from_bit(borrow);
    (limbs::select(is_below, number, &difference), is_below)
}
