//! GHASH (NIST SP 800-38D, 6.4) in steps of up to 32 blocks.
//!
//! A block with its bytes reversed is a polynomial with its bits reversed: bit i stands for
//! x^(127 - i). The carry-less product of two such numbers is one place short, x^(254 - i);
//! so powers of H are kept multiplied by x once, and products come out right. The field is
//! GF(2)\[x\] / (x^128 + x^7 + x^2 + x + 1), whose polynomial without its first term is,
//! reversed, c2000000 00000000 00000000 00000001.

use core::arch::x86_64::{
    __m128i, __m512i, _mm_add_epi64, _mm_and_si128, _mm_set_epi64x, _mm_shuffle_epi32,
    _mm_srai_epi32, _mm_xor_si128, _mm256_castsi256_si128, _mm256_extracti128_si256,
    _mm256_xor_si256, _mm512_broadcast_i32x4, _mm512_castsi512_si128, _mm512_castsi512_si256,
    _mm512_clmulepi64_epi128, _mm512_extracti64x4_epi64, _mm512_inserti32x4, _mm512_set1_epi64,
    _mm512_setzero_si512, _mm512_shuffle_epi32, _mm512_ternarylogic_epi64, _mm512_xor_si512,
    _mm512_zextsi128_si512,
};

use zeroize::Zeroize;

use super::memory::{VECTOR, load, store};
use crate::low::wipe::wipe;

/// Blocks that are hashed with one reduction.
pub(super) const BLOCKS: usize = 32;
/// The terms x^127, x^126 and x^121 of the reversed polynomial, which are its upper half.
const UPPER: i64 = 0xc2_u64.cast_signed() << 56;
/// The same and its lowest bit, for the half of a doubled number that the other half carries into.
const UPPER_AND_CARRY: i64 = UPPER | 1;
/// a + b + c.
const SUM: i32 = 0x96;

/// H^32, H^31, … H^1, times x, and three zero blocks, so that four can be read from any of them on.
pub(super) struct Powers([u8; (BLOCKS + 4) * 16]);

impl Powers {
    /// To be filled by [`Self::expand`], where it lies: a move would leave a copy behind.
    pub(super) const ZERO: Self = Self([0; (BLOCKS + 4) * 16]);

    /// `h` is the encryption of the zero block, as AES gives it, with its bytes reversed.
    #[target_feature(enable = "avx512f,avx512bw,avx2,vpclmulqdq")]
    pub(super) fn expand(&mut self, h: __m128i) {
        let h1 = widen(times_x(h));
        let h2 = product(h1, h1);
        let h3 = product(h2, h1);
        let h4 = product(h2, h2);
        let four = _mm512_inserti32x4::<1>(h4, _mm512_castsi512_si128(h3));
        let four = _mm512_inserti32x4::<2>(four, _mm512_castsi512_si128(h2));
        let mut four = _mm512_inserti32x4::<3>(four, _mm512_castsi512_si128(h1));
        let h4 = _mm512_broadcast_i32x4(_mm512_castsi512_si128(h4));
        let (vectors, _) = self.0.as_chunks_mut::<VECTOR>();
        for to in vectors[..BLOCKS / 4].iter_mut().rev() {
            store(to, four);
            four = product(four, h4);
        }
    }

    /// The powers of four blocks, of which `remaining` and more follow, themselves included.
    ///
    /// # Panics
    /// If `remaining` is 0 or above [`BLOCKS`]: zero powers would authenticate nothing.
    #[inline]
    #[allow(clippy::expect_used)]
    #[target_feature(enable = "avx512f")]
    pub(super) fn of(&self, remaining: usize) -> __m512i {
        assert!((1..=BLOCKS).contains(&remaining), "there is a power for each block of a group");
        let from = &self.0[16 * (BLOCKS - remaining)..];
        load(from.first_chunk().expect("three zero blocks follow the powers"))
    }
}

impl Zeroize for Powers {
    fn zeroize(&mut self) {
        wipe(&mut self.0);
    }
}

/// A sum of products of 256 bits, lane by lane, not reduced: lo + mid x^64 + hi x^128.
#[derive(Clone, Copy)]
pub(super) struct Products {
    lo: __m512i,
    mid: __m512i,
    hi: __m512i,
}

impl Products {
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn none() -> Self {
        let zero = _mm512_setzero_si512();
        Self { lo: zero, mid: zero, hi: zero }
    }

    /// Adds a_i b_i of each lane.
    #[inline]
    #[target_feature(enable = "avx512f,vpclmulqdq")]
    pub(super) fn add(&mut self, a: __m512i, b: __m512i) {
        self.lo = _mm512_xor_si512(self.lo, _mm512_clmulepi64_epi128::<0x00>(a, b));
        self.hi = _mm512_xor_si512(self.hi, _mm512_clmulepi64_epi128::<0x11>(a, b));
        let (low_high, high_low) =
            (_mm512_clmulepi64_epi128::<0x01>(a, b), _mm512_clmulepi64_epi128::<0x10>(a, b));
        self.mid = _mm512_ternarylogic_epi64::<SUM>(self.mid, low_high, high_low);
    }

    /// The products in the field: the lowest 64 bits are cleared by adding a multiple of the
    /// polynomial, twice.
    ///
    /// Its lowest 64 bits are 1, so the multiple by lo's lower half l clears that, and adds l times
    /// the upper half, and l itself 128 bits up, which is where swapping the halves of lo takes it.
    #[inline]
    #[target_feature(enable = "avx512f,vpclmulqdq")]
    fn reduced(self) -> __m512i {
        let upper = _mm512_set1_epi64(UPPER);
        let fold = |to: __m512i, low: __m512i| {
            let multiple = _mm512_clmulepi64_epi128::<0x00>(low, upper);
            _mm512_ternarylogic_epi64::<SUM>(
                to,
                _mm512_shuffle_epi32::<0b01_00_11_10>(low),
                multiple,
            )
        };
        fold(self.hi, fold(self.mid, self.lo))
    }

    /// The sum over all lanes in the field, in the first lane; the others are zero.
    #[inline]
    #[target_feature(enable = "avx512f,avx2,vpclmulqdq")]
    pub(super) fn sum(self) -> __m512i {
        let four = self.reduced();
        let two =
            _mm256_xor_si256(_mm512_castsi512_si256(four), _mm512_extracti64x4_epi64::<1>(four));
        widen(_mm_xor_si128(_mm256_castsi256_si128(two), _mm256_extracti128_si256::<1>(two)))
    }
}

/// a_i b_i of each lane.
#[inline]
#[target_feature(enable = "avx512f,vpclmulqdq")]
fn product(a: __m512i, b: __m512i) -> __m512i {
    let mut products = Products::none();
    products.add(a, b);
    products.reduced()
}

/// A block in the first lane, zeros in the others.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn widen(block: __m128i) -> __m512i {
    _mm512_zextsi128_si512(block)
}

/// Doubles a reversed polynomial; if x^128 comes out, the polynomial of the field is added. No
/// branch.
#[inline]
#[target_feature(enable = "sse2")]
fn times_x(h: __m128i) -> __m128i {
    // All bits of a word: those of the lower half tell what leaves the upper half, and the other
    // way round.
    let carries = _mm_srai_epi32::<31>(_mm_shuffle_epi32::<0b11_01_00_11>(h));
    let carried = _mm_and_si128(carries, _mm_set_epi64x(UPPER_AND_CARRY, 1));
    _mm_xor_si128(_mm_add_epi64(h, h), carried)
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::Powers;
    use crate::low::cpu::HaveVaes;

    #[test]
    fn powers_beyond_a_group_are_refused() {
        if HaveVaes::detect().is_none() {
            return;
        }
        for remaining in [0, 33, usize::MAX] {
            let outcome = std::panic::catch_unwind(|| {
                // SAFETY: the CPU has AVX-512 F.
                let _ = unsafe { Powers::ZERO.of(remaining) };
            });
            assert!(outcome.is_err(), "{remaining}");
        }
    }
}
