//! The compression of SHA-512 (FIPS 180-4, 6.4.2) of two messages side by side, with the rotations and three-operand
//! logic that AVX-512 VL has for vectors of 128 bits: one in each half. It takes about as long as a library takes for one.
//! [`HaveRotations`] proves that the CPU runs it.
//!
//! There is no branch and no address that depends on content.

use core::arch::x86_64::{
    __m128i, _mm_add_epi64, _mm_cvtsi128_si64, _mm_loadu_si128, _mm_ror_epi64, _mm_set_epi8,
    _mm_set_epi64x, _mm_set1_epi64x, _mm_setzero_si128, _mm_shuffle_epi8, _mm_srli_epi64,
    _mm_ternarylogic_epi64, _mm_unpackhi_epi64, _mm_unpacklo_epi64,
};

use super::cpu::HaveRotations;

/// Words of a block.
const WORDS: usize = 16;

/// FIPS 180-4, 4.2.3.
static K: [u64; 80] = [
    0x428a_2f98_d728_ae22,
    0x7137_4491_23ef_65cd,
    0xb5c0_fbcf_ec4d_3b2f,
    0xe9b5_dba5_8189_dbbc,
    0x3956_c25b_f348_b538,
    0x59f1_11f1_b605_d019,
    0x923f_82a4_af19_4f9b,
    0xab1c_5ed5_da6d_8118,
    0xd807_aa98_a303_0242,
    0x1283_5b01_4570_6fbe,
    0x2431_85be_4ee4_b28c,
    0x550c_7dc3_d5ff_b4e2,
    0x72be_5d74_f27b_896f,
    0x80de_b1fe_3b16_96b1,
    0x9bdc_06a7_25c7_1235,
    0xc19b_f174_cf69_2694,
    0xe49b_69c1_9ef1_4ad2,
    0xefbe_4786_384f_25e3,
    0x0fc1_9dc6_8b8c_d5b5,
    0x240c_a1cc_77ac_9c65,
    0x2de9_2c6f_592b_0275,
    0x4a74_84aa_6ea6_e483,
    0x5cb0_a9dc_bd41_fbd4,
    0x76f9_88da_8311_53b5,
    0x983e_5152_ee66_dfab,
    0xa831_c66d_2db4_3210,
    0xb003_27c8_98fb_213f,
    0xbf59_7fc7_beef_0ee4,
    0xc6e0_0bf3_3da8_8fc2,
    0xd5a7_9147_930a_a725,
    0x06ca_6351_e003_826f,
    0x1429_2967_0a0e_6e70,
    0x27b7_0a85_46d2_2ffc,
    0x2e1b_2138_5c26_c926,
    0x4d2c_6dfc_5ac4_2aed,
    0x5338_0d13_9d95_b3df,
    0x650a_7354_8baf_63de,
    0x766a_0abb_3c77_b2a8,
    0x81c2_c92e_47ed_aee6,
    0x9272_2c85_1482_353b,
    0xa2bf_e8a1_4cf1_0364,
    0xa81a_664b_bc42_3001,
    0xc24b_8b70_d0f8_9791,
    0xc76c_51a3_0654_be30,
    0xd192_e819_d6ef_5218,
    0xd699_0624_5565_a910,
    0xf40e_3585_5771_202a,
    0x106a_a070_32bb_d1b8,
    0x19a4_c116_b8d2_d0c8,
    0x1e37_6c08_5141_ab53,
    0x2748_774c_df8e_eb99,
    0x34b0_bcb5_e19b_48a8,
    0x391c_0cb3_c5c9_5a63,
    0x4ed8_aa4a_e341_8acb,
    0x5b9c_ca4f_7763_e373,
    0x682e_6ff3_d6b2_b8a3,
    0x748f_82ee_5def_b2fc,
    0x78a5_636f_4317_2f60,
    0x84c8_7814_a1f0_ab72,
    0x8cc7_0208_1a64_39ec,
    0x90be_fffa_2363_1e28,
    0xa450_6ceb_de82_bde9,
    0xbef9_a3f7_b2c6_7915,
    0xc671_78f2_e372_532b,
    0xca27_3ece_ea26_619c,
    0xd186_b8c7_21c0_c207,
    0xeada_7dd6_cde0_eb1e,
    0xf57d_4f7f_ee6e_d178,
    0x06f0_67aa_7217_6fba,
    0x0a63_7dc5_a2c8_98a6,
    0x113f_9804_bef9_0dae,
    0x1b71_0b35_131c_471b,
    0x28db_77f5_2304_7d84,
    0x32ca_ab7b_40c7_2493,
    0x3c9e_be0a_15c9_bebc,
    0x431d_67c4_9c10_0d4c,
    0x4cc5_d4be_cb3e_42b6,
    0x597f_299c_fc65_7e2a,
    0x5fcb_6fab_3ad6_faec,
    0x6c44_198c_4a47_5817,
];

/// Compresses a block into each of two states.
pub(crate) fn compress(_: HaveRotations, states: [&mut [u64; 8]; 2], blocks: [&[u8; 128]; 2]) {
    // SAFETY: the token proves that the CPU has the features.
    unsafe { compress_both(states, blocks) }
}

#[target_feature(enable = "avx512f,avx512vl")]
fn compress_both([state, other]: [&mut [u64; 8]; 2], blocks: [&[u8; 128]; 2]) {
    let mut words = both_blocks(blocks);
    let mut first = [_mm_setzero_si128(); 8];
    for (both, (one, other)) in first.iter_mut().zip(state.iter().zip(other.iter())) {
        *both = _mm_set_epi64x(other.cast_signed(), one.cast_signed());
    }
    let mut both = first;
    let (constants, _) = K.as_chunks::<WORDS>();
    // The schedule is made for the rounds that follow, and there are none behind the last.
    for (i, constants) in constants.iter().enumerate() {
        if i + 1 < K.len() / WORDS {
            sixteen::<true>(&mut both, &mut words, constants);
        } else {
            sixteen::<false>(&mut both, &mut words, constants);
        }
    }
    for (i, (both, first)) in both.into_iter().zip(first).enumerate() {
        let sum = _mm_add_epi64(both, first);
        state[i] = _mm_cvtsi128_si64(sum).cast_unsigned();
        other[i] = _mm_cvtsi128_si64(_mm_unpackhi_epi64(sum, sum)).cast_unsigned();
    }
}

/// Words of both blocks.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn both_blocks([block, other]: [&[u8; 128]; 2]) -> [__m128i; WORDS] {
    let swap = _mm_set_epi8(8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
    let mut words = [_mm_setzero_si128(); WORDS];
    let pairs = block.as_chunks::<16>().0.iter().zip(other.as_chunks::<16>().0);
    for (words, (one, other)) in words.as_chunks_mut::<2>().0.iter_mut().zip(pairs) {
        let one = _mm_shuffle_epi8(load(one), swap);
        let other = _mm_shuffle_epi8(load(other), swap);
        *words = [_mm_unpacklo_epi64(one, other), _mm_unpackhi_epi64(one, other)];
    }
    words
}

#[inline]
#[target_feature(enable = "sse2")]
fn load(from: &[u8; 16]) -> __m128i {
    // SAFETY: reads 16 bytes, which need no alignment.
    unsafe { _mm_loadu_si128(from.as_ptr().cast()) }
}

/// Sixteen rounds, each with a word, which the word replaces that is sixteen rounds on, if there are any.
///
/// Written out, as every place is known then: a loop is left as it is, with all of the state in memory, and takes twice
/// as long.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn sixteen<const MORE: bool>(
    state: &mut [__m128i; 8],
    words: &mut [__m128i; WORDS],
    constants: &[u64; WORDS],
) {
    macro_rules! rounds {
        ($($i:literal)+) => {$(
            let constant = _mm_set1_epi64x(constants[$i].cast_signed());
            round::<$i>(state, _mm_add_epi64(words[$i], constant));
            if MORE {
                schedule::<$i>(words);
            }
        )+};
    }
    rounds!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
}

/// Round I of those that begin with a at 0: one place before that of the round before. Nothing but d and h changes.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn round<const I: usize>(state: &mut [__m128i; 8], word: __m128i) {
    let place = |variable: usize| (variable + 8 - I % 8) % 8;
    let [a, b, c, d, e, f, g, h] = [0, 1, 2, 3, 4, 5, 6, 7].map(place).map(|at| state[at]);
    let choice = _mm_ternarylogic_epi64::<0xca>(e, f, g);
    let sum = xor(_mm_ror_epi64::<14>(e), _mm_ror_epi64::<18>(e), _mm_ror_epi64::<41>(e));
    // What hangs on e of the round before comes last.
    let first = _mm_add_epi64(_mm_add_epi64(_mm_add_epi64(h, word), choice), sum);
    let majority = _mm_ternarylogic_epi64::<0xe8>(a, b, c);
    let sum = xor(_mm_ror_epi64::<28>(a), _mm_ror_epi64::<34>(a), _mm_ror_epi64::<39>(a));
    state[place(3)] = _mm_add_epi64(d, first);
    state[place(7)] = _mm_add_epi64(first, _mm_add_epi64(sum, majority));
}

/// Replaces word I by the one that is sixteen on.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn schedule<const I: usize>(words: &mut [__m128i; WORDS]) {
    let at = |n: usize| (I + n) % WORDS;
    let (early, late) = (words[at(1)], words[at(14)]);
    let early =
        xor(_mm_ror_epi64::<1>(early), _mm_ror_epi64::<8>(early), _mm_srli_epi64::<7>(early));
    let late = xor(_mm_ror_epi64::<19>(late), _mm_ror_epi64::<61>(late), _mm_srli_epi64::<6>(late));
    let sum = _mm_add_epi64(words[at(0)], words[at(9)]);
    words[at(0)] = _mm_add_epi64(_mm_add_epi64(sum, early), late);
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn xor(a: __m128i, b: __m128i, c: __m128i) -> __m128i {
    _mm_ternarylogic_epi64::<0x96>(a, b, c)
}

#[cfg(test)]
mod tests {
    use sha2::block_api::compress512;

    use super::*;

    #[test]
    fn each_half_is_compressed_as_by_itself() {
        let Some(token) = HaveRotations::detect() else { return };
        let mut states = [[0x0123_4567_89ab_cdef_u64; 8], [u64::MAX; 8]];
        let mut expected = states;
        let mut blocks = [[0_u8; 128], [0xff; 128]];
        for i in 0..10_000_usize {
            let [one, other] = &mut states;
            compress(token, [one, other], [&blocks[0], &blocks[1]]);
            for (state, block) in expected.iter_mut().zip(&blocks) {
                compress512(state, core::slice::from_ref(block));
            }
            assert_eq!(states, expected, "{i}");
            // All words of the next blocks are of what came out.
            for (block, state) in blocks.iter_mut().zip(&states) {
                let at = i % 16 * 8;
                block[at..at + 8].copy_from_slice(&state[i % 8].to_le_bytes());
            }
        }
    }
}
