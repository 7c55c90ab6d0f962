//! Eight blocks at a time in AVX2: vector i has word i of each.

use core::arch::x86_64::{
    __m256i, _mm256_add_epi32, _mm256_loadu_si256, _mm256_or_si256, _mm256_permute2x128_si256,
    _mm256_set_epi8, _mm256_set_epi32, _mm256_set1_epi32, _mm256_setzero_si256,
    _mm256_shuffle_epi8, _mm256_slli_epi32, _mm256_srli_epi32, _mm256_storeu_si256,
    _mm256_unpackhi_epi32, _mm256_unpackhi_epi64, _mm256_unpacklo_epi32, _mm256_unpacklo_epi64,
    _mm256_xor_si256,
};
use core::hint::black_box;

use super::{BLOCK, State, apply_portable, xor_padded};
use crate::low::cpu::HaveAvx2;

const BLOCKS: u32 = 8;
const GROUP: usize = 8 * BLOCK;
const VECTOR: usize = 32;

/// Longest end in bytes that the portable kernel takes faster than a group, which costs the same
/// however full it is.
const SHORT: usize = 2 * BLOCK;

pub(super) fn apply(_: HaveAvx2, state: &mut State, data: &mut [u8]) {
    // SAFETY: the token proves that the CPU has AVX2.
    unsafe { apply_groups(state, data) }
}

#[target_feature(enable = "avx2")]
fn apply_groups(state: &mut State, data: &mut [u8]) {
    let (groups, rest) = data.as_chunks_mut();
    for group in groups {
        xor_group(state, group);
        state.advance(BLOCKS);
    }
    if rest.len() <= SHORT {
        apply_portable(state, rest);
    } else {
        xor_padded(rest, |group| xor_group(state, group));
    }
}

#[target_feature(enable = "avx2")]
fn xor_group(state: &State, group: &mut [u8; GROUP]) {
    let mut x = words(state);
    for _ in 0..10 {
        macro_rules! quarter_round {
            ($a:literal, $b:literal, $c:literal, $d:literal) => {
                [x[$a], x[$b], x[$c], x[$d]] = quarter_round([x[$a], x[$b], x[$c], x[$d]]);
            };
        }
        quarter_round!(0, 4, 8, 12);
        quarter_round!(1, 5, 9, 13);
        quarter_round!(2, 6, 10, 14);
        quarter_round!(3, 7, 11, 15);
        quarter_round!(0, 5, 10, 15);
        quarter_round!(1, 6, 11, 12);
        quarter_round!(2, 7, 8, 13);
        quarter_round!(3, 4, 9, 14);
    }
    // The black box makes the compiler load the words again: otherwise it keeps all vectors of them
    // on the stack, where they are not wiped.
    for (x, word) in x.iter_mut().zip(&words(black_box(state))) {
        *x = _mm256_add_epi32(*x, *word);
    }
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = x;
    let first_halves = transpose([a, b, c, d, e, f, g, h]);
    let second_halves = transpose([i, j, k, l, m, n, o, p]);
    let (halves, _) = group.as_chunks_mut();
    for (i, (first, second)) in first_halves.iter().zip(&second_halves).enumerate() {
        xor(&mut halves[2 * i], *first);
        xor(&mut halves[2 * i + 1], *second);
    }
}

/// Vector i has word i of the state eight times, but for the counters.
#[inline]
#[target_feature(enable = "avx2")]
fn words(state: &State) -> [__m256i; 16] {
    let mut words = [_mm256_setzero_si256(); 16];
    for (vector, word) in words.iter_mut().zip(&state.0) {
        *vector = _mm256_set1_epi32(word.cast_signed());
    }
    words[12] = _mm256_add_epi32(words[12], _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0));
    words
}

/// RFC 8439, section 2.1, in eight blocks.
#[inline]
#[target_feature(enable = "avx2")]
fn quarter_round([a, b, c, d]: [__m256i; 4]) -> [__m256i; 4] {
    let a = _mm256_add_epi32(a, b);
    let d = rotate_left_16(_mm256_xor_si256(d, a));
    let c = _mm256_add_epi32(c, d);
    let b = rotate_left::<12, 20>(_mm256_xor_si256(b, c));
    let a = _mm256_add_epi32(a, b);
    let d = rotate_left_8(_mm256_xor_si256(d, a));
    let c = _mm256_add_epi32(c, d);
    let b = rotate_left::<7, 25>(_mm256_xor_si256(b, c));
    [a, b, c, d]
}

#[inline]
#[target_feature(enable = "avx2")]
fn rotate_left_16(x: __m256i) -> __m256i {
    #[rustfmt::skip]
    let order = _mm256_set_epi8(
        13, 12, 15, 14, 9, 8, 11, 10, 5, 4, 7, 6, 1, 0, 3, 2,
        13, 12, 15, 14, 9, 8, 11, 10, 5, 4, 7, 6, 1, 0, 3, 2,
    );
    _mm256_shuffle_epi8(x, order)
}

#[inline]
#[target_feature(enable = "avx2")]
fn rotate_left_8(x: __m256i) -> __m256i {
    #[rustfmt::skip]
    let order = _mm256_set_epi8(
        14, 13, 12, 15, 10, 9, 8, 11, 6, 5, 4, 7, 2, 1, 0, 3,
        14, 13, 12, 15, 10, 9, 8, 11, 6, 5, 4, 7, 2, 1, 0, 3,
    );
    _mm256_shuffle_epi8(x, order)
}

/// `RIGHT` is 32 - `LEFT`.
#[inline]
#[target_feature(enable = "avx2")]
fn rotate_left<const LEFT: i32, const RIGHT: i32>(x: __m256i) -> __m256i {
    const { assert!(LEFT + RIGHT == 32) }
    _mm256_or_si256(_mm256_slli_epi32::<LEFT>(x), _mm256_srli_epi32::<RIGHT>(x))
}

/// Word j of vector i becomes word i of vector j.
#[inline]
#[target_feature(enable = "avx2")]
fn transpose([a, b, c, d, e, f, g, h]: [__m256i; 8]) -> [__m256i; 8] {
    let [s0, s1, s2, s3] = transpose_within_lanes([a, b, c, d]);
    let [t0, t1, t2, t3] = transpose_within_lanes([e, f, g, h]);
    [
        _mm256_permute2x128_si256::<0x20>(s0, t0),
        _mm256_permute2x128_si256::<0x20>(s1, t1),
        _mm256_permute2x128_si256::<0x20>(s2, t2),
        _mm256_permute2x128_si256::<0x20>(s3, t3),
        _mm256_permute2x128_si256::<0x31>(s0, t0),
        _mm256_permute2x128_si256::<0x31>(s1, t1),
        _mm256_permute2x128_si256::<0x31>(s2, t2),
        _mm256_permute2x128_si256::<0x31>(s3, t3),
    ]
}

/// The same with the four words of each lane of 128 bits.
#[inline]
#[target_feature(enable = "avx2")]
fn transpose_within_lanes([a, b, c, d]: [__m256i; 4]) -> [__m256i; 4] {
    let (ab, ab_high) = (_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
    let (cd, cd_high) = (_mm256_unpacklo_epi32(c, d), _mm256_unpackhi_epi32(c, d));
    [
        _mm256_unpacklo_epi64(ab, cd),
        _mm256_unpackhi_epi64(ab, cd),
        _mm256_unpacklo_epi64(ab_high, cd_high),
        _mm256_unpackhi_epi64(ab_high, cd_high),
    ]
}

#[inline]
#[target_feature(enable = "avx2")]
fn xor(bytes: &mut [u8; VECTOR], keystream: __m256i) {
    // SAFETY: reads 32 bytes, which need no alignment.
    let content = unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) };
    let content = _mm256_xor_si256(content, keystream);
    // SAFETY: writes 32 bytes, which need no alignment.
    unsafe { _mm256_storeu_si256(bytes.as_mut_ptr().cast(), content) }
}
