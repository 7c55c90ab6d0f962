//! Field elements in memory: limb by limb, eight lanes each.

use core::arch::x86_64::{__m512i, _mm512_load_si512, _mm512_store_si512};

use zeroize::Zeroize;

use super::field::{Columns, Reduced};
use super::limb::{limb_mask, top_mask};

/// Five limbs of `BITS` bits of eight numbers.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Lanes<const BITS: u32>(pub(super) [[u64; 8]; 5]);

impl<const BITS: u32> Lanes<BITS> {
    pub(super) const ZERO: Self = Self([[0; 8]; 5]);

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
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
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn limb(&self, i: usize) -> __m512i {
        // SAFETY: the source is 64 bytes of `self`, aligned as above.
        unsafe { _mm512_load_si512(self.0[i].as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn vectors(&self) -> [__m512i; 5] {
        [self.limb(0), self.limb(1), self.limb(2), self.limb(3), self.limb(4)]
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn reduced(&self) -> Reduced<BITS> {
        Reduced(self.vectors())
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn columns(&self) -> Columns<BITS> {
        Columns(self.vectors())
    }

    /// At most eight little-endian numbers; bit 255 is ignored, missing ones are 0.
    pub(super) fn from_bytes(bytes: &[[u8; 32]]) -> Self {
        let mut lanes = Self::ZERO;
        for (i, bytes) in bytes.iter().take(8).enumerate() {
            let words = bytes.as_chunks::<8>().0;
            let [a, b, c, d] = [0, 1, 2, 3].map(|i: usize| u64::from_le_bytes(words[i]));
            // Limb k begins at bit BITS * k, which is bit BITS * k - 64 * (k - 1) of word k - 1.
            let (m, up) = (limb_mask(BITS), 64 - BITS);
            lanes.0[0][i] = a & m;
            lanes.0[1][i] = (a >> BITS | b << up) & m;
            lanes.0[2][i] = (b >> (BITS - up) | c << (2 * up)) & m;
            lanes.0[3][i] = (c >> (BITS - 2 * up) | d << (3 * up)) & m;
            lanes.0[4][i] = d >> (BITS - 3 * up) & top_mask(BITS);
        }
        lanes
    }

    /// The encodings of at most eight canonical numbers.
    pub(super) fn to_bytes(self, out: &mut [[u8; 32]]) {
        let up = 64 - BITS;
        for (i, out) in out.iter_mut().take(8).enumerate() {
            let [a, b, c, d, e] = self.0.map(|limb| limb[i]);
            let words = [
                a | b << BITS,
                b >> up | c << (BITS - up),
                c >> (2 * up) | d << (BITS - 2 * up),
                d >> (3 * up) | e << (BITS - 3 * up),
            ];
            for (to, word) in out.as_chunks_mut::<8>().0.iter_mut().zip(words) {
                *to = word.to_le_bytes();
            }
        }
    }
}

impl<const BITS: u32> Zeroize for Lanes<BITS> {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}
