//! AES-256 (FIPS 197), encryption alone: four blocks a vector.

use core::arch::x86_64::{
    __m128i, __m512i, _mm_aeskeygenassist_si128, _mm_shuffle_epi32, _mm_slli_si128, _mm_xor_si128,
    _mm512_aesenc_epi128, _mm512_aesenclast_epi128, _mm512_xor_si512,
};

use zeroize::Zeroize;

use super::memory::{broadcast, load_block, store_block};
use crate::low::wipe::wipe;

/// Round keys 0 to 14.
pub(super) struct Aes256([[u8; 16]; 15]);

impl Aes256 {
    /// To be filled by [`Self::expand`], where it lies: a move would leave a copy behind.
    pub(super) const ZERO: Self = Self([[0; 16]; 15]);

    /// Key expansion (FIPS 197, 5.2): two round keys a step, the second without a round constant.
    #[target_feature(enable = "aes,sse2")]
    pub(super) fn expand(&mut self, key: &[u8; 32]) {
        let (halves, _) = key.as_chunks();
        let (mut even, mut odd) = (load_block(&halves[0]), load_block(&halves[1]));
        store_block(&mut self.0[0], even);
        store_block(&mut self.0[1], odd);
        macro_rules! step {
            ($round:literal, $constant:literal) => {
                // The last word of what the instruction gives is rotated and has the constant.
                let word = _mm_aeskeygenassist_si128::<$constant>(odd);
                even = _mm_xor_si128(running_sum(even), _mm_shuffle_epi32::<0b11_11_11_11>(word));
                store_block(&mut self.0[$round], even);
            };
            ($round:literal, $constant:literal, $next:literal) => {
                step!($round, $constant);
                // The third word is not rotated and has none.
                let word = _mm_aeskeygenassist_si128::<0>(even);
                odd = _mm_xor_si128(running_sum(odd), _mm_shuffle_epi32::<0b10_10_10_10>(word));
                store_block(&mut self.0[$next], odd);
            };
        }
        step!(2, 0x01, 3);
        step!(4, 0x02, 5);
        step!(6, 0x04, 7);
        step!(8, 0x08, 9);
        step!(10, 0x10, 11);
        step!(12, 0x20, 13);
        step!(14, 0x40);
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn round_key(&self, round: usize) -> __m512i {
        broadcast(&self.0[round])
    }

    /// Encrypts four blocks, one in each lane of the vector.
    #[inline]
    #[target_feature(enable = "avx512f,vaes")]
    pub(super) fn encrypt(&self, blocks: __m512i) -> __m512i {
        let mut blocks = _mm512_xor_si512(blocks, self.round_key(0));
        for round in 1..14 {
            blocks = _mm512_aesenc_epi128(blocks, self.round_key(round));
        }
        _mm512_aesenclast_epi128(blocks, self.round_key(14))
    }

    /// One of the rounds 1 to 13 of 32 blocks.
    #[inline]
    #[target_feature(enable = "avx512f,vaes")]
    pub(super) fn round(&self, round: usize, blocks: &mut [__m512i; 8]) {
        let key = self.round_key(round);
        for blocks in blocks {
            *blocks = _mm512_aesenc_epi128(*blocks, key);
        }
    }
}

/// (w0, w0 + w1, w0 + w1 + w2, w0 + w1 + w2 + w3) of words.
#[inline]
#[target_feature(enable = "sse2")]
fn running_sum(words: __m128i) -> __m128i {
    let pairs = _mm_xor_si128(words, _mm_slli_si128::<4>(words));
    _mm_xor_si128(pairs, _mm_slli_si128::<8>(pairs))
}

impl Zeroize for Aes256 {
    fn zeroize(&mut self) {
        wipe(self.0.as_flattened_mut());
    }
}
