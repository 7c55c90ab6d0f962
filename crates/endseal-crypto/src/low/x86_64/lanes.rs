//! Field elements in memory: limb by limb, eight lanes each.

use core::arch::x86_64::{__m512i, _mm512_load_si512, _mm512_store_si512};

use zeroize::Zeroize;

use super::field::{Columns, MASK47, MASK52, Reduced};

/// Five limbs of eight numbers.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Lanes(pub(super) [[u64; 8]; 5]);

impl Lanes {
    pub(super) const ZERO: Self = Self([[0; 8]; 5]);

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn of(x: [__m512i; 5]) -> Self {
        let mut lanes = Self::ZERO;
        for (to, limb) in lanes.0.iter_mut().zip(x) {
            // SAFETY: `to` is 64 bytes that this function owns; `align(64)` and a multiple of 64
            // bytes before it align it.
            unsafe { _mm512_store_si512(to.as_mut_ptr().cast(), limb) }
        }
        lanes
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn limb(&self, i: usize) -> __m512i {
        // SAFETY: the source is 64 bytes of `self`, aligned as above.
        unsafe { _mm512_load_si512(self.0[i].as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn vectors(&self) -> [__m512i; 5] {
        [self.limb(0), self.limb(1), self.limb(2), self.limb(3), self.limb(4)]
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn reduced(&self) -> Reduced {
        Reduced(self.vectors())
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn columns(&self) -> Columns {
        Columns(self.vectors())
    }

    /// At most eight little-endian numbers; bit 255 is ignored, missing ones are 0.
    pub(super) fn from_bytes(bytes: &[[u8; 32]]) -> Self {
        let mut lanes = Self::ZERO;
        for (i, bytes) in bytes.iter().take(8).enumerate() {
            let words = bytes.as_chunks::<8>().0;
            let [a, b, c, d] = [0, 1, 2, 3].map(|i: usize| u64::from_le_bytes(words[i]));
            lanes.0[0][i] = a & MASK52;
            lanes.0[1][i] = (a >> 52 | b << 12) & MASK52;
            lanes.0[2][i] = (b >> 40 | c << 24) & MASK52;
            lanes.0[3][i] = (c >> 28 | d << 36) & MASK52;
            lanes.0[4][i] = d >> 16 & MASK47;
        }
        lanes
    }

    /// The encodings of at most eight canonical numbers.
    pub(super) fn to_bytes(self, out: &mut [[u8; 32]]) {
        for (i, out) in out.iter_mut().take(8).enumerate() {
            let [a, b, c, d, e] = self.0.map(|limb| limb[i]);
            let words = [a | b << 52, b >> 12 | c << 40, c >> 24 | d << 28, d >> 36 | e << 16];
            for (to, word) in out.as_chunks_mut::<8>().0.iter_mut().zip(words) {
                *to = word.to_le_bytes();
            }
        }
    }
}

impl Zeroize for Lanes {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}
