//! Field operations on limbs at all bounds, against schoolbook arithmetic. In debug builds the
//! operations check their own bounds on each lane besides.

use alloc::vec::Vec;
use core::array;

use super::batch::{elements, number};
use super::field::{
    CARRIED, COLUMN, Columns, LOOSE, Number, Table, add_small_multiple, multiply, square,
};
use super::float_environment::{read, write};
use super::machine::{MASK, Machine, Sum, load};
use super::montgomery_batch;
use crate::low::cpu::HaveFma;
use crate::low::reference25519::{P, multiply_add, of_limbs, random_words};
use crate::low::x25519_portable;

type Limbs = [i64; 5];

/// Runs it with the proof where the CPU has AVX2 and FMA.
fn with_fma(run: unsafe fn(HaveFma)) {
    if let Some(token) = HaveFma::detect() {
        // SAFETY: the CPU has AVX2 and FMA.
        unsafe { run(token) }
    }
}

/// Limbs of three sizes with both signs in all combinations, and random ones.
fn operands(size: i64) -> Vec<Limbs> {
    let limb = [-size, 0, size];
    let mut operands: Vec<Limbs> =
        (0..243).map(|i| array::from_fn(|place| limb[i / [1, 3, 9, 27, 81][place] % 3])).collect();
    operands.extend([[1, 0, 0, 0, 0], [-1, 0, 0, 0, 0], [-19, 0, 0, 0, 0], [0, 0, 0, 0, 1]]);
    let mut random = random_words("endseal test: limbs with signs");
    operands.extend((0..61).map(|_| array::from_fn(|_| random().cast_signed() % (size + 1))));
    operands
}

/// The number modulo p, as words for [`multiply_add`].
fn value(limbs: &Limbs) -> [u64; 8] {
    // 2^12 p makes every limb positive.
    let p = [MASK - 18, MASK, MASK, MASK, MASK];
    let positive: [u64; 5] = array::from_fn(|i| (p[i] << 12).wrapping_add_signed(limbs[i]));
    words(&multiply_add(&[0; 8], &[0; 8], &of_limbs(&positive, 51)))
}

fn words(bytes: &[u8; 32]) -> [u64; 8] {
    let chunks = bytes.as_chunks::<8>().0;
    of_limbs(&[0, 1, 2, 3].map(|i: usize| u64::from_le_bytes(chunks[i])), 64)
}

/// Four of them in the lanes, the last repeated.
#[target_feature(enable = "avx2,fma")]
fn columns(token: HaveFma, xs: &[Limbs]) -> Columns<HaveFma> {
    Columns(array::from_fn(|limb| {
        let lanes: [u64; 4] =
            array::from_fn(|lane| xs[lane.min(xs.len() - 1)][limb].cast_unsigned());
        Sum { word: load(token, &lanes), offset: 0 }
    }))
}

/// Limbs as they are, not carried: sums of two halves, because a double is made of 52 bits.
#[target_feature(enable = "avx2,fma")]
fn numbers(token: HaveFma, xs: &[Limbs]) -> Number<HaveFma> {
    let size = 1 << 51;
    let halves: [Vec<Limbs>; 2] = [0, 1].map(|odd| {
        let half = |limb: i64| limb / 2 + odd * (limb % 2);
        xs.iter().map(|x| x.map(half)).collect()
    });
    let [x, y] = halves.map(|xs| {
        Number(columns(token, &xs).0.map(|limb| token.to_float(token.settle(limb, size), size)))
    });
    x.plus(token, y)
}

#[target_feature(enable = "avx2,fma")]
fn bytes(token: HaveFma, x: Columns<HaveFma>) -> [[u8; 32]; 4] {
    elements(token, x.carry(token)).map(|element| element.to_bytes())
}

#[test]
fn products_like_schoolbook() {
    #[target_feature(enable = "avx2,fma")]
    fn run(token: HaveFma) {
        let operands = operands(CARRIED);
        for (x, loose) in operands.iter().zip(self::operands(LOOSE)) {
            let (one_x, loose_x) = (numbers(token, &[*x]), numbers(token, &[loose]));
            let table = Table::new(token, one_x);
            for ys in operands.chunks(4) {
                let y = numbers(token, ys);
                let got = [
                    bytes(token, multiply(token, one_x, y)),
                    bytes(token, multiply(token, y, one_x)),
                    bytes(token, table.multiply(token, y)),
                ];
                let of_loose = bytes(token, multiply(token, loose_x, y));
                for (i, y) in ys.iter().map(value).enumerate() {
                    let expected = multiply_add(&value(x), &y, &[0; 8]);
                    assert_eq!(got.map(|got| got[i]), [expected; 3], "{x:?} {:?}", ys[i]);
                    assert_eq!(of_loose[i], multiply_add(&value(&loose), &y, &[0; 8]));
                }
            }
        }
    }
    with_fma(run);
}

#[test]
fn squares_and_small_multiples_like_schoolbook() {
    #[target_feature(enable = "avx2,fma")]
    fn run(token: HaveFma) {
        let a24 = of_limbs(&[121_666], 64);
        for (xs, loose) in operands(CARRIED).chunks(4).zip(operands(LOOSE).chunks(4)) {
            let squares = square(token, numbers(token, xs));
            let small = add_small_multiple(token, squares, numbers(token, loose));
            let (squares, small) = (bytes(token, squares), bytes(token, small));
            for (i, (x, loose)) in xs.iter().zip(loose).enumerate() {
                let squared = multiply_add(&value(x), &value(x), &[0; 8]);
                assert_eq!(squares[i], squared, "{x:?}");
                assert_eq!(small[i], multiply_add(&value(loose), &a24, &words(&squared)));
            }
        }
    }
    with_fma(run);
}

#[test]
fn sums_and_differences_like_schoolbook() {
    #[target_feature(enable = "avx2,fma")]
    fn run(token: HaveFma) {
        let operands = operands(CARRIED);
        let one = of_limbs(&[1], 64);
        let minus_one = of_limbs(&[P[0] - 1, P[1], P[2], P[3]], 64);
        for xs in operands.chunks(4) {
            for ys in operands.chunks(4).step_by(3) {
                let (x, y) = (numbers(token, xs), numbers(token, ys));
                let (xx, yy) = (square(token, x), square(token, y));
                let sums = [bytes(token, xx.plus(token, yy)), {
                    let sum = multiply(token, x.plus(token, y), Number::small(token, 1));
                    bytes(token, sum)
                }];
                let differences = [bytes(token, xx.minus(token, yy)), {
                    let difference = multiply(token, x.minus(token, y), Number::small(token, 1));
                    bytes(token, difference)
                }];
                for (i, (x, y)) in xs.iter().zip(ys).enumerate() {
                    let (x, y) = (value(x), value(y));
                    let [xx, yy] = [x, y].map(|x| words(&multiply_add(&x, &x, &[0; 8])));
                    let sum = [multiply_add(&xx, &one, &yy), multiply_add(&x, &one, &y)];
                    assert_eq!(sums.map(|got| got[i]), sum);
                    let difference =
                        [multiply_add(&yy, &minus_one, &xx), multiply_add(&y, &minus_one, &x)];
                    assert_eq!(differences.map(|got| got[i]), difference);
                }
            }
        }
    }
    with_fma(run);
}

#[test]
fn carries_and_encodings_like_schoolbook() {
    #[target_feature(enable = "avx2,fma")]
    fn run(token: HaveFma) {
        let half = 1 << 50;
        let limb = [-COLUMN, -half - 1, -half, 0, half - 1, half, COLUMN];
        let columns: Vec<Limbs> = (0..7_usize.pow(5))
            .map(|i| array::from_fn(|place| limb[i / [1, 7, 49, 343, 2401][place] % 7]))
            .collect();
        for columns in columns.chunks(4) {
            let got = bytes(token, self::columns(token, columns));
            for (columns, got) in columns.iter().zip(got) {
                assert_eq!(words(&got), value(columns), "{columns:?}");
            }
        }
        for xs in operands(CARRIED).chunks(4) {
            let got = elements(token, numbers(token, xs)).map(|element| element.to_bytes());
            for (x, got) in xs.iter().zip(got) {
                assert_eq!(words(&got), value(x), "{x:?}");
            }
        }
    }
    with_fma(run);
}

#[test]
fn bytes_are_decoded_modulo_p() {
    #[target_feature(enable = "avx2,fma")]
    fn run(token: HaveFma) {
        let mut random = random_words("endseal test: bytes to doubles");
        let mut encodings: Vec<[u64; 4]> = (0..64).map(|_| array::from_fn(|_| random())).collect();
        encodings.extend([[0; 4], [u64::MAX; 4], P, [P[0] - 1, P[1], P[2], P[3]]]);
        for numbers in encodings.chunks(4) {
            let bytes: Vec<[u8; 32]> = numbers
                .iter()
                .map(|words| {
                    let mut bytes = [0; 32];
                    bytes.as_chunks_mut::<8>().0.copy_from_slice(&words.map(u64::to_le_bytes));
                    bytes
                })
                .collect();
            let got = elements(token, number(token, &bytes)).map(|element| element.to_bytes());
            for (words, got) in numbers.iter().zip(got) {
                let low = [words[0], words[1], words[2], words[3] & (u64::MAX >> 1)];
                assert_eq!(got, multiply_add(&[0; 8], &[0; 8], &of_limbs(&low, 64)));
            }
        }
    }
    with_fma(run);
}

#[test]
fn selection_is_by_the_mask() {
    #[target_feature(enable = "avx2,fma")]
    fn run(token: HaveFma) {
        let operands = operands(CARRIED);
        let (x, y) = (numbers(token, &operands[..4]), numbers(token, &operands[80..84]));
        for (mask, expected) in [(0, &operands[..4]), (u64::MAX, &operands[80..84])] {
            let got = elements(token, x.choose(token, y, mask)).map(|element| element.to_bytes());
            for (got, expected) in got.iter().zip(expected) {
                assert_eq!(words(got), value(expected));
            }
        }
    }
    with_fma(run);
}

/// A caller's settings of floating-point arithmetic change no result and are kept with their flags.
/// Without the exchange of settings, those that raise an exception would stop this test.
#[test]
fn settings_of_floating_point_arithmetic_do_not_matter() {
    const FLUSH_RESULTS: u32 = 1 << 15;
    const FLUSH_OPERANDS: u32 = 1 << 6;
    const NO_EXCEPTIONS: u32 = 0x1f80;
    let Some(token) = HaveFma::detect() else { return };
    let scalar = [7; 32];
    let us: [[u8; 32]; 5] = array::from_fn(|i| [u8::try_from(i).unwrap() + 9; 32]);
    let mut expected = [[0; 32]; 5];
    x25519_portable::montgomery_batch(&scalar, &us, &mut expected);
    let before = read();
    for exceptions in [NO_EXCEPTIONS, 0] {
        for rounding in [0, 1 << 13, 2 << 13, 3 << 13] {
            for flush in [0, FLUSH_RESULTS | FLUSH_OPERANDS] {
                let settings = exceptions | rounding | flush;
                let mut out = [[0; 32]; 5];
                write(settings);
                montgomery_batch(token, &scalar, &us, &mut out);
                let after = read();
                write(before);
                assert_eq!(after, settings, "settings and flags are the caller's");
                assert_eq!(out, expected, "{settings:#x}");
            }
        }
    }
}
