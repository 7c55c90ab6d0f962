//! The operations of the field arithmetic on four doubles or four integers of 64 bits.
//!
//! [`field`](super::field) and [`ladder`](super::ladder) are written for any [`Machine`]. The
//! kernel runs them on vectors, by the proof [`HaveFma`]. The tests run the same source on
//! intervals, which proves the bounds for all inputs.
//!
//! # Why doubles are exact here
//! Every double is an integer of at most 53 bits or a constant of the table, so that none is
//! subnormal, and sums of them are exact. A product x y has up to 102 bits and is split at 2^51:
//!
//! | step | value | exact because |
//! |---|---|---|
//! | a = `fma`(x, y, 3 * 2^102) | 3 * 2^102 + h * 2^51 | it is rounded, and that defines h |
//! | b = 3 * 2^102 + 3 * 2^51 - a | (3 - h) * 2^51 | 3 - h has at most 53 bits |
//! | c = `fma`(x, y, b) | 3 * 2^51 + l, where l = x y - h * 2^51 | between 2^52 and 2^53 |
//!
//! If |x y| is at most 2^102, then a is from 2^103 to 2^104, where doubles are the multiples of
//! 2^51. So the bits of a count h, and those of c count l: both are added as integers, and what the
//! constants add to their bits is subtracted once for a whole sum. |l| is at most 2^50.

use core::arch::x86_64::{
    __m256d, __m256i, _mm256_add_epi64, _mm256_add_pd, _mm256_and_si256, _mm256_castpd_si256,
    _mm256_castsi256_pd, _mm256_fmadd_pd, _mm256_loadu_si256, _mm256_mul_epu32, _mm256_or_si256,
    _mm256_set1_epi64x, _mm256_set1_pd, _mm256_slli_epi64, _mm256_srli_epi64, _mm256_storeu_si256,
    _mm256_sub_epi64, _mm256_sub_pd, _mm256_xor_si256,
};

use crate::low::cpu::HaveFma;

/// Mask of a limb, which has 51 bits.
pub(super) const MASK: u64 = (1 << 51) - 1;
/// The bits of 3 * 2^102.
const HIGH: u64 = 0x4668_0000_0000_0000;
/// The bits of 3 * 2^51.
const LOW: u64 = 0x4338_0000_0000_0000;
/// The bits of 3 * 2^102 + 3 * 2^51.
const BOTH: u64 = HIGH + 3;
/// The bits of 2^52. For an integer x below 2^52, the bits of 2^52 + x are these plus x.
const INTEGER: u64 = 0x4330_0000_0000_0000;

/// A sum of words, and the part of it that belongs to the constants of [`Machine::split`].
#[derive(Clone, Copy)]
pub(super) struct Sum<W> {
    pub(super) word: W,
    pub(super) offset: u64,
}

/// Four doubles and four words at a time. Every double MUST hold an integer.
pub(super) trait Machine: Copy {
    type Float: Copy;
    type Word: Copy;

    /// The integer `x` in each lane.
    fn float(self, x: i64) -> Self::Float;

    /// The sum; it MUST be at most 2^53 in size.
    fn add_floats(self, x: Self::Float, y: Self::Float) -> Self::Float;

    /// The difference; it MUST be at most 2^53 in size.
    fn subtract_floats(self, x: Self::Float, y: Self::Float) -> Self::Float;

    /// `x` where the mask is 0, `y` where it is all ones, by logic on whole vectors.
    fn choose(self, x: Self::Float, y: Self::Float, mask: u64) -> Self::Float;

    /// (h, l) with x y = h * 2^51 + l and |l| at most 2^50. The product MUST be at most 2^102 in
    /// size.
    fn split(self, x: Self::Float, y: Self::Float) -> (Sum<Self::Word>, Sum<Self::Word>);

    /// The same integer; it MUST be at most 2^51 in size.
    fn to_word(self, x: Self::Float) -> Sum<Self::Word>;

    /// x - `subtract`, for x from 0 to 2^52 - 1.
    fn to_float(self, x: Self::Word, subtract: i64) -> Self::Float;

    /// The integer `x` in each lane.
    fn word(self, x: i64) -> Self::Word;

    fn add(self, x: Self::Word, y: Self::Word) -> Self::Word;

    fn subtract(self, x: Self::Word, y: Self::Word) -> Self::Word;

    /// 2^`BITS` x.
    fn shift_left<const BITS: i32>(self, x: Self::Word) -> Self::Word;

    /// (floor(x / 2^51), x mod 2^51) for an x that MUST NOT be negative.
    fn split_limb(self, x: Self::Word) -> (Self::Word, Self::Word);

    /// 19 x, for an x that MUST be from 0 to 2^32 - 1.
    fn times_19(self, x: Self::Word) -> Self::Word;

    /// Removes the offset and adds `bias`.
    fn settle(self, x: Sum<Self::Word>, bias: i64) -> Self::Word;

    /// Asserts in debug builds that no lane is above `largest` in size.
    fn check_float(self, x: Self::Float, largest: i64);

    /// Asserts in debug builds that no lane, without its offset, is above `largest` in size.
    fn check_sum(self, x: Sum<Self::Word>, largest: i64);
}

/// Four words of memory as a vector.
#[inline(always)]
pub(super) fn load(_: HaveFma, x: &[u64; 4]) -> __m256i {
    // SAFETY: the proof stands for AVX2, and the source has 32 bytes.
    unsafe { _mm256_loadu_si256(x.as_ptr().cast()) }
}

#[inline(always)]
pub(super) fn store(_: HaveFma, x: __m256i) -> [u64; 4] {
    let mut out = [0_u64; 4];
    // SAFETY: the proof stands for AVX2, and the target has 32 bytes.
    unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), x) }
    out
}

#[inline(always)]
fn constant(_: HaveFma, bits: u64) -> __m256i {
    // SAFETY: the proof stands for AVX2.
    unsafe { _mm256_set1_epi64x(bits.cast_signed()) }
}

#[inline(always)]
fn bits(_: HaveFma, x: __m256d) -> __m256i {
    // SAFETY: the proof stands for AVX2.
    unsafe { _mm256_castpd_si256(x) }
}

#[inline(always)]
fn float_of(_: HaveFma, bits: __m256i) -> __m256d {
    // SAFETY: the proof stands for AVX2.
    unsafe { _mm256_castsi256_pd(bits) }
}

// Each SAFETY below: `self` is the proof that the CPU has AVX2 and FMA.
impl Machine for HaveFma {
    type Float = __m256d;
    type Word = __m256i;

    #[inline(always)]
    fn float(self, x: i64) -> __m256d {
        // SAFETY: as above.
        unsafe { _mm256_set1_pd(x as f64) }
    }

    #[inline(always)]
    fn add_floats(self, x: __m256d, y: __m256d) -> __m256d {
        // SAFETY: as above.
        unsafe { _mm256_add_pd(x, y) }
    }

    #[inline(always)]
    fn subtract_floats(self, x: __m256d, y: __m256d) -> __m256d {
        // SAFETY: as above.
        unsafe { _mm256_sub_pd(x, y) }
    }

    #[inline(always)]
    fn choose(self, x: __m256d, y: __m256d, mask: u64) -> __m256d {
        let (x, y) = (bits(self, x), bits(self, y));
        // SAFETY: as above.
        let difference = unsafe { _mm256_xor_si256(x, y) };
        // SAFETY: as above.
        let chosen = unsafe { _mm256_and_si256(difference, constant(self, mask)) };
        // SAFETY: as above.
        float_of(self, unsafe { _mm256_xor_si256(x, chosen) })
    }

    #[inline(always)]
    fn split(self, x: __m256d, y: __m256d) -> (Sum<__m256i>, Sum<__m256i>) {
        // SAFETY: as above.
        let high = unsafe { _mm256_fmadd_pd(x, y, float_of(self, constant(self, HIGH))) };
        let rest = self.subtract_floats(float_of(self, constant(self, BOTH)), high);
        // SAFETY: as above.
        let low = unsafe { _mm256_fmadd_pd(x, y, rest) };
        (Sum { word: bits(self, high), offset: HIGH }, Sum { word: bits(self, low), offset: LOW })
    }

    #[inline(always)]
    fn to_word(self, x: __m256d) -> Sum<__m256i> {
        let sum = self.add_floats(x, float_of(self, constant(self, LOW)));
        Sum { word: bits(self, sum), offset: LOW }
    }

    #[inline(always)]
    fn to_float(self, x: __m256i, subtract: i64) -> __m256d {
        // SAFETY: as above.
        let x = unsafe { _mm256_or_si256(x, constant(self, INTEGER)) };
        self.subtract_floats(float_of(self, x), self.float((1 << 52) + subtract))
    }

    #[inline(always)]
    fn word(self, x: i64) -> __m256i {
        constant(self, x.cast_unsigned())
    }

    #[inline(always)]
    fn add(self, x: __m256i, y: __m256i) -> __m256i {
        // SAFETY: as above.
        unsafe { _mm256_add_epi64(x, y) }
    }

    #[inline(always)]
    fn subtract(self, x: __m256i, y: __m256i) -> __m256i {
        // SAFETY: as above.
        unsafe { _mm256_sub_epi64(x, y) }
    }

    #[inline(always)]
    fn shift_left<const BITS: i32>(self, x: __m256i) -> __m256i {
        // SAFETY: as above.
        unsafe { _mm256_slli_epi64::<BITS>(x) }
    }

    #[inline(always)]
    fn split_limb(self, x: __m256i) -> (__m256i, __m256i) {
        // SAFETY: as above.
        let carry = unsafe { _mm256_srli_epi64::<51>(x) };
        // SAFETY: as above.
        (carry, unsafe { _mm256_and_si256(x, constant(self, MASK)) })
    }

    #[inline(always)]
    fn times_19(self, x: __m256i) -> __m256i {
        // SAFETY: as above.
        unsafe { _mm256_mul_epu32(x, constant(self, 19)) }
    }

    #[inline(always)]
    fn settle(self, x: Sum<__m256i>, bias: i64) -> __m256i {
        self.add(x.word, constant(self, bias.cast_unsigned().wrapping_sub(x.offset)))
    }

    #[allow(clippy::cast_possible_truncation, reason = "what does not fit is found")]
    #[inline(always)]
    fn check_float(self, x: __m256d, largest: i64) {
        if cfg!(debug_assertions) {
            let lanes = store(self, bits(self, x)).map(f64::from_bits);
            let fits = |x: &f64| {
                let integer = *x as i64;
                integer as f64 == *x && integer.unsigned_abs() <= largest.unsigned_abs()
            };
            assert!(lanes.iter().all(fits), "a limb out of its bound");
        }
    }

    #[inline(always)]
    fn check_sum(self, x: Sum<__m256i>, largest: i64) {
        if cfg!(debug_assertions) {
            let lanes = store(self, self.settle(x, 0)).map(u64::cast_signed);
            let fits = |x: &i64| x.unsigned_abs() <= largest.unsigned_abs();
            assert!(lanes.iter().all(fits), "a column out of its bound");
        }
    }
}
