//! One limb of the field arithmetic, and the operations on it.
//!
//! [`field51`](super::field51), [`field52`](super::field52) and [`field`](super::field) are written
//! for any [`Lane`]. The kernels run them on vectors. The tests run the same source on intervals
//! (`low/interval.rs`), which proves the bounds of the comments for all inputs.
//!
//! # Features
//! The code above this trait has the target features of the kernels, and runs on intervals only
//! where the CPU has them: without the features the compiler would build other code, and radix 2^52
//! would take 15 % longer (`cargo bench -p endseal-crypto --bench kernel`, Zen 5).

use core::arch::x86_64::{
    __m512i, _mm512_add_epi64, _mm512_and_si512, _mm512_madd52hi_epu64, _mm512_madd52lo_epu64,
    _mm512_mullo_epi64, _mm512_set1_epi64, _mm512_slli_epi64, _mm512_srli_epi64,
    _mm512_storeu_si512, _mm512_sub_epi64, _mm512_ternarylogic_epi64,
};

/// A limb of 64 bits. Functions that make a constant take any limb as the proof that limbs exist
/// here.
pub(in crate::low) trait Lane: Copy {
    /// A value with the constant `x` in each lane.
    fn all(self, x: u64) -> Self;

    /// The sum; it MUST be below 2^64.
    fn add(self, y: Self) -> Self;

    /// The difference; it MUST NOT be negative.
    fn sub(self, y: Self) -> Self;

    /// The product, as `vpmullq` makes it; it MUST be below 2^64.
    fn mul(self, y: Self) -> Self;

    fn and(self, y: Self) -> Self;

    /// The limb times 2^`BITS`; it MUST be below 2^64.
    fn shl<const BITS: u32>(self) -> Self;

    fn shr<const BITS: u32>(self) -> Self;

    /// `self` + (x y mod 2^52), of the low 52 bits of x and y: `vpmadd52luq`.
    fn lo(self, x: Self, y: Self) -> Self;

    /// `self` + floor(x y / 2^52), of the low 52 bits of x and y: `vpmadd52huq`.
    fn hi(self, x: Self, y: Self) -> Self;

    /// `self` where the mask is 0, `y` where it is all ones, by logic on whole vectors.
    fn choose(self, y: Self, mask: u64) -> Self;

    /// Asserts in debug builds that no lane is above `largest`.
    fn check(self, largest: u64, what: &str);

    #[inline(always)]
    fn zero(self) -> Self {
        self.all(0)
    }

    /// A vector of the constants `xs`, one in each lane.
    #[inline(always)]
    fn limbs(self, xs: [u64; 5]) -> [Self; 5] {
        [self.all(xs[0]), self.all(xs[1]), self.all(xs[2]), self.all(xs[3]), self.all(xs[4])]
    }

    #[inline(always)]
    fn twice(self) -> Self {
        self.add(self)
    }
}

// Each SAFETY below: only an intrinsic makes a `__m512i`, in a function that has the features or
// behind a promise that the CPU has them. In this crate these are AVX-512 F, DQ and IFMA together
// (`HaveIfma`); no other module under `x86_64` has fewer.
impl Lane for __m512i {
    #[inline(always)]
    fn all(self, x: u64) -> Self {
        // SAFETY: `self` exists.
        unsafe { _mm512_set1_epi64(x.cast_signed()) }
    }

    #[inline(always)]
    fn add(self, y: Self) -> Self {
        // SAFETY: `self` exists.
        unsafe { _mm512_add_epi64(self, y) }
    }

    #[inline(always)]
    fn sub(self, y: Self) -> Self {
        // SAFETY: `self` exists.
        unsafe { _mm512_sub_epi64(self, y) }
    }

    #[inline(always)]
    fn mul(self, y: Self) -> Self {
        // SAFETY: `self` exists.
        unsafe { _mm512_mullo_epi64(self, y) }
    }

    #[inline(always)]
    fn and(self, y: Self) -> Self {
        // SAFETY: `self` exists.
        unsafe { _mm512_and_si512(self, y) }
    }

    #[inline(always)]
    fn shl<const BITS: u32>(self) -> Self {
        // SAFETY: `self` exists.
        unsafe { _mm512_slli_epi64::<BITS>(self) }
    }

    #[inline(always)]
    fn shr<const BITS: u32>(self) -> Self {
        // SAFETY: `self` exists.
        unsafe { _mm512_srli_epi64::<BITS>(self) }
    }

    #[inline(always)]
    fn lo(self, x: Self, y: Self) -> Self {
        // SAFETY: `self` exists.
        unsafe { _mm512_madd52lo_epu64(self, x, y) }
    }

    #[inline(always)]
    fn hi(self, x: Self, y: Self) -> Self {
        // SAFETY: `self` exists.
        unsafe { _mm512_madd52hi_epu64(self, x, y) }
    }

    #[inline(always)]
    fn choose(self, y: Self, mask: u64) -> Self {
        // mask ? y : self, as a truth table.
        const CHOOSE: i32 = 0xca;
        // SAFETY: `self` exists.
        unsafe { _mm512_ternarylogic_epi64::<CHOOSE>(self.all(mask), y, self) }
    }

    #[inline(always)]
    fn check(self, largest: u64, what: &str) {
        if cfg!(debug_assertions) {
            let mut lanes = [0; 8];
            // SAFETY: `self` exists, and the target is 64 bytes that this function owns.
            unsafe { _mm512_storeu_si512(lanes.as_mut_ptr().cast(), self) }
            let lanes = lanes.map(i64::cast_unsigned);
            assert!(lanes.iter().all(|x| *x <= largest), "{what} out of its bound");
        }
    }
}
