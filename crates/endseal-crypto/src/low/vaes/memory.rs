//! Vectors from and to memory.

use core::arch::x86_64::{
    __m128i, __m512i, _mm_loadu_si128, _mm_storeu_si128, _mm512_broadcast_i32x4,
    _mm512_loadu_si512, _mm512_maskz_loadu_epi8, _mm512_set_epi8, _mm512_shuffle_epi8,
    _mm512_storeu_si512,
};

/// Bytes of a vector: four blocks.
pub(super) const VECTOR: usize = 64;

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn load(from: &[u8; VECTOR]) -> __m512i {
    // SAFETY: reads 64 bytes, which need no alignment.
    unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn store(to: &mut [u8; VECTOR], vector: __m512i) {
    // SAFETY: writes 64 bytes, which need no alignment.
    unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), vector) }
}

/// At most 64 bytes, and zeros behind them.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn load_partial(from: &[u8]) -> __m512i {
    // SAFETY: the mask lets as many bytes be read as there are, and others are not touched.
    unsafe { _mm512_maskz_loadu_epi8(mask(from.len()), from.as_ptr().cast()) }
}

/// One bit for each of the first `len` bytes of a vector; all of them from 64 on.
#[inline]
pub(super) const fn mask(len: usize) -> u64 {
    if len < VECTOR { (1 << len) - 1 } else { u64::MAX }
}

#[inline]
#[target_feature(enable = "sse2")]
pub(super) fn load_block(from: &[u8; 16]) -> __m128i {
    // SAFETY: reads 16 bytes, which need no alignment.
    unsafe { _mm_loadu_si128(from.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "sse2")]
pub(super) fn store_block(to: &mut [u8; 16], block: __m128i) {
    // SAFETY: writes 16 bytes, which need no alignment.
    unsafe { _mm_storeu_si128(to.as_mut_ptr().cast(), block) }
}

/// The same block in all four places.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn broadcast(block: &[u8; 16]) -> __m512i {
    _mm512_broadcast_i32x4(load_block(block))
}

/// Reverses the bytes of each of the four blocks.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn reverse(vector: __m512i) -> __m512i {
    #[rustfmt::skip]
    let order = _mm512_set_epi8(
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
    );
    _mm512_shuffle_epi8(vector, order)
}
