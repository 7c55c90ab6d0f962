//! Sixteen blocks at a time in AVX-512: vector i has word i of each. At the end of the data, four
//! or eight blocks in another form: a vector has a row of the state, four words, of four blocks.
//! That costs more operations, and less time where few blocks are left.

use core::arch::x86_64::{
    __m512i, _mm_loadu_si128, _mm512_add_epi32, _mm512_broadcast_i32x4, _mm512_loadu_si512,
    _mm512_mask_storeu_epi8, _mm512_maskz_loadu_epi8, _mm512_rol_epi32, _mm512_set_epi32,
    _mm512_set1_epi32, _mm512_setzero_si512, _mm512_shuffle_epi32, _mm512_shuffle_i32x4,
    _mm512_storeu_si512, _mm512_unpackhi_epi32, _mm512_unpackhi_epi64, _mm512_unpacklo_epi32,
    _mm512_unpacklo_epi64, _mm512_xor_si512,
};
use core::hint::black_box;

use super::{BLOCK, State, xor_padded};
use crate::low::cpu::HaveAvx512;

const BLOCKS: u32 = 16;
const GROUP: usize = 16 * BLOCK;
/// Length of four blocks in bytes, the unit of this kernel.
const QUAD: usize = 4 * BLOCK;

pub(super) fn apply(_: HaveAvx512, state: &mut State, data: &mut [u8]) {
    // SAFETY: the token proves that the CPU has AVX-512 F and BW.
    unsafe { apply_groups(state, data) }
}

#[target_feature(enable = "avx512f,avx512bw")]
fn apply_groups(state: &mut State, data: &mut [u8]) {
    let (groups, rest) = data.as_chunks_mut();
    for group in groups {
        xor_group(state, group);
        state.advance(BLOCKS);
    }
    match rest.len().div_ceil(QUAD) {
        0 => {}
        1 => xor_quads::<1>(state, rest),
        2 => xor_quads::<2>(state, rest),
        _ => xor_padded(rest, |group| xor_group(state, group)),
    }
}

#[target_feature(enable = "avx512f,avx512bw")]
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
        *x = _mm512_add_epi32(*x, *word);
    }
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = x;
    // Lane j of vector i of a row has four words of block 4 j + i.
    let rows = [
        transpose_within_lanes([a, b, c, d]),
        transpose_within_lanes([e, f, g, h]),
        transpose_within_lanes([i, j, k, l]),
        transpose_within_lanes([m, n, o, p]),
    ];
    let (blocks, _) = group.as_chunks_mut();
    for i in 0..4 {
        let every_fourth = transpose_lanes([rows[0][i], rows[1][i], rows[2][i], rows[3][i]]);
        for (j, keystream) in every_fourth.iter().enumerate() {
            xor(&mut blocks[4 * j + i], *keystream);
        }
    }
}

/// Vector i has word i of the state sixteen times, but for the counters.
#[inline]
#[target_feature(enable = "avx512f")]
fn words(state: &State) -> [__m512i; 16] {
    let mut words = [_mm512_setzero_si512(); 16];
    for (vector, word) in words.iter_mut().zip(&state.0) {
        *vector = _mm512_set1_epi32(word.cast_signed());
    }
    let ahead = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    words[12] = _mm512_add_epi32(words[12], ahead);
    words
}

/// At most 4 `N` blocks, of which the last may be a part of one. `data` is not longer.
#[target_feature(enable = "avx512f,avx512bw")]
fn xor_quads<const N: usize>(state: &State, mut data: &mut [u8]) {
    let mut quads = rows::<N>(state);
    for _ in 0..10 {
        for quad in &mut quads {
            *quad = double_round(*quad);
        }
    }
    // As above.
    for (quad, rows) in quads.iter_mut().zip(&rows::<N>(black_box(state))) {
        for (x, row) in quad.iter_mut().zip(rows) {
            *x = _mm512_add_epi32(*x, *row);
        }
        for keystream in &transpose_lanes(*quad) {
            if data.is_empty() {
                return;
            }
            let part;
            (part, data) = data.split_at_mut(data.len().min(BLOCK));
            xor_part(part, *keystream);
        }
    }
}

/// Rows of the state, each four times in a vector, but for the counters; for `N` times four blocks.
#[inline]
#[target_feature(enable = "avx512f")]
fn rows<const N: usize>(state: &State) -> [[__m512i; 4]; N] {
    let mut rows = [_mm512_setzero_si512(); 4];
    for (vector, row) in rows.iter_mut().zip(state.0.as_chunks::<4>().0) {
        // SAFETY: reads 16 bytes, which need no alignment.
        *vector = _mm512_broadcast_i32x4(unsafe { _mm_loadu_si128(row.as_ptr().cast()) });
    }
    let mut quads = [rows; N];
    let mut ahead = _mm512_set_epi32(0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0);
    let four = _mm512_set_epi32(0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 4);
    for [_, _, _, counters] in &mut quads {
        *counters = _mm512_add_epi32(*counters, ahead);
        ahead = _mm512_add_epi32(ahead, four);
    }
    quads
}

/// Quarter rounds on columns, then on diagonals. Row b stays in place and the other rows are
/// rotated by one, because row b is the last result of a quarter round.
#[inline]
#[target_feature(enable = "avx512f")]
fn double_round(rows: [__m512i; 4]) -> [__m512i; 4] {
    const BY_ONE: i32 = 0b00_11_10_01;
    const BY_TWO: i32 = 0b01_00_11_10;
    const BY_THREE: i32 = 0b10_01_00_11;
    let [a, b, c, d] = quarter_round(rows);
    let [a, b, c, d] = quarter_round([
        _mm512_shuffle_epi32::<BY_THREE>(a),
        b,
        _mm512_shuffle_epi32::<BY_ONE>(c),
        _mm512_shuffle_epi32::<BY_TWO>(d),
    ]);
    [
        _mm512_shuffle_epi32::<BY_ONE>(a),
        b,
        _mm512_shuffle_epi32::<BY_THREE>(c),
        _mm512_shuffle_epi32::<BY_TWO>(d),
    ]
}

/// RFC 8439, section 2.1, sixteen at a time.
#[inline]
#[target_feature(enable = "avx512f")]
fn quarter_round([a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
    let a = _mm512_add_epi32(a, b);
    let d = _mm512_rol_epi32::<16>(_mm512_xor_si512(d, a));
    let c = _mm512_add_epi32(c, d);
    let b = _mm512_rol_epi32::<12>(_mm512_xor_si512(b, c));
    let a = _mm512_add_epi32(a, b);
    let d = _mm512_rol_epi32::<8>(_mm512_xor_si512(d, a));
    let c = _mm512_add_epi32(c, d);
    let b = _mm512_rol_epi32::<7>(_mm512_xor_si512(b, c));
    [a, b, c, d]
}

/// In each lane of 128 bits, word j of vector i becomes word i of vector j.
#[inline]
#[target_feature(enable = "avx512f")]
fn transpose_within_lanes([a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
    let (ab, ab_high) = (_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    let (cd, cd_high) = (_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
    [
        _mm512_unpacklo_epi64(ab, cd),
        _mm512_unpackhi_epi64(ab, cd),
        _mm512_unpacklo_epi64(ab_high, cd_high),
        _mm512_unpackhi_epi64(ab_high, cd_high),
    ]
}

/// Lane j of vector i becomes lane i of vector j.
#[inline]
#[target_feature(enable = "avx512f")]
fn transpose_lanes([a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
    const FIRST: i32 = 0b01_00_01_00;
    const LAST: i32 = 0b11_10_11_10;
    const EVEN: i32 = 0b10_00_10_00;
    const ODD: i32 = 0b11_01_11_01;
    let (ab, ab_last) = (_mm512_shuffle_i32x4::<FIRST>(a, b), _mm512_shuffle_i32x4::<LAST>(a, b));
    let (cd, cd_last) = (_mm512_shuffle_i32x4::<FIRST>(c, d), _mm512_shuffle_i32x4::<LAST>(c, d));
    [
        _mm512_shuffle_i32x4::<EVEN>(ab, cd),
        _mm512_shuffle_i32x4::<ODD>(ab, cd),
        _mm512_shuffle_i32x4::<EVEN>(ab_last, cd_last),
        _mm512_shuffle_i32x4::<ODD>(ab_last, cd_last),
    ]
}

#[inline]
#[target_feature(enable = "avx512f")]
fn xor(block: &mut [u8; BLOCK], keystream: __m512i) {
    // SAFETY: reads 64 bytes, which need no alignment.
    let content = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
    let content = _mm512_xor_si512(content, keystream);
    // SAFETY: writes 64 bytes, which need no alignment.
    unsafe { _mm512_storeu_si512(block.as_mut_ptr().cast(), content) }
}

/// A block, the beginning of one, or nothing.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn xor_part(part: &mut [u8], keystream: __m512i) {
    if let Ok(block) = part.try_into() {
        return xor(block, keystream);
    }
    let mask = (1 << part.len()) - 1;
    // SAFETY: the mask lets as many bytes be read as there are, and others are not touched.
    let content = unsafe { _mm512_maskz_loadu_epi8(mask, part.as_ptr().cast()) };
    let content = _mm512_xor_si512(content, keystream);
    // SAFETY: the mask lets as many bytes be written as there are, and others are not touched.
    unsafe { _mm512_mask_storeu_epi8(part.as_mut_ptr().cast(), mask, content) }
}
