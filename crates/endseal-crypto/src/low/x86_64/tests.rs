//! Field operations on limbs at and beyond all bounds, against schoolbook arithmetic. In debug
//! builds the operations check their own bounds on each lane besides.

use alloc::vec::Vec;
use core::array;

use super::edwards::D;
use super::field::{Columns, Table, add_small_multiple, bounds, multiply, square};
use super::inversion::{Fractions, RUN};
use super::lanes::Lanes;
use super::limb::{limb_mask, top_mask};
use crate::low::cpu::HaveIfma;
use crate::low::field25519::Element;
use crate::low::reference25519::{P, multiply_add, of_limbs, random_words};

type Limbs = [u64; 5];

/// Bits that a multiplication reads of a limb.
const READ: u64 = limb_mask(52);

/// Runs it for both radixes where the CPU has IFMA.
macro_rules! with_ifma {
    ($run:ident) => {
        if HaveIfma::detect().is_some() {
            // SAFETY: the CPU has AVX-512 F, DQ and IFMA.
            unsafe { $run::<51>() }
            // SAFETY: as above.
            unsafe { $run::<52>() }
        }
    };
}
pub(super) use with_ifma;

/// All extreme limbs, p and its neighbours, and random ones; with rubbish where it must not count.
fn operands<const BITS: u32>() -> Vec<Limbs> {
    let mut operands = Vec::new();
    let [largest, top] = bounds(BITS).reduced;
    let (largest, mask, top_mask) = (largest & READ, limb_mask(BITS), top_mask(BITS));
    let limb = [0, 1, largest];
    for i in 0..81 {
        let [a, b, c, d] = [1, 3, 9, 27].map(|place| limb[i / place % 3]);
        operands.extend([0, 1, top_mask, top].map(|top| [a, b, c, d, top]));
    }
    for low in [mask - 19, mask - 18, mask - 17, mask - 1] {
        operands.push([low, mask, mask, mask, top_mask]);
    }
    let mut random = random_words("endseal test: field operands");
    for _ in 0..60 {
        let [a, b, c, d, e] = array::from_fn(|_| random());
        let [a, b, c, d] = [a, b, c, d].map(|limb| limb % (largest + 1));
        operands.push([a, b, c, d, e % (top + 1)]);
    }
    if BITS == 52 {
        for operand in &mut operands {
            operand[..4].iter_mut().for_each(|limb| *limb |= random() << 52);
        }
    }
    operands
}

fn value<const BITS: u32>(x: &Limbs) -> [u64; 8] {
    let limbs = [x[0] & READ, x[1] & READ, x[2] & READ, x[3] & READ, x[4]];
    of_limbs(&limbs, BITS as usize)
}

/// Eight operands, the last repeated.
fn lanes<const BITS: u32>(xs: &[Limbs]) -> Lanes<BITS> {
    Lanes(array::from_fn(|limb| array::from_fn(|lane| xs[lane.min(xs.len() - 1)][limb])))
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn bytes<const BITS: u32>(x: Columns<BITS>) -> [[u8; 32]; 8] {
    canonical_bytes(x.carry().canonical())
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn canonical_bytes<const BITS: u32>(x: Columns<BITS>) -> [[u8; 32]; 8] {
    let mut out = [[0; 32]; 8];
    Lanes::<BITS>::of(x.0).to_bytes(&mut out);
    out
}

#[test]
fn products_like_schoolbook() {
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn run<const BITS: u32>() {
        let operands = operands::<BITS>();
        for x in &operands {
            let one_x = lanes::<BITS>(&[*x]).reduced();
            let table = Table::new(one_x);
            for ys in operands.chunks(8) {
                let y = lanes::<BITS>(ys).reduced();
                let got = [
                    bytes(multiply::<BITS, false, _>(one_x, y)),
                    bytes(multiply::<BITS, true, _>(y, one_x)),
                    bytes(table.multiply::<false>(y)),
                    bytes(table.multiply::<true>(y)),
                ];
                for (i, other) in ys.iter().enumerate() {
                    let expected = multiply_add(&value::<BITS>(x), &value::<BITS>(other), &[0; 8]);
                    assert_eq!(got.map(|got| got[i]), [expected; 4], "{x:x?} {other:x?}");
                }
            }
        }
    }
    with_ifma!(run);
}

#[test]
fn squares_and_small_multiples_like_schoolbook() {
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn run<const BITS: u32>() {
        let operands = operands::<BITS>();
        for xs in operands.chunks(8) {
            let x = lanes::<BITS>(xs).reduced();
            let squares = [bytes(square::<BITS, false, _>(x)), bytes(square::<BITS, true, _>(x))];
            let small = bytes(add_small_multiple(square::<BITS, false, _>(x), x));
            let a24 = of_limbs(&[121_666], 64);
            for (i, x) in xs.iter().enumerate() {
                let x = value::<BITS>(x);
                let expected = multiply_add(&x, &x, &[0; 8]);
                assert_eq!(squares.map(|got| got[i]), [expected; 2]);
                let expected = multiply_add(&x, &a24, &of_limbs(&words(&expected), 64));
                assert_eq!(small[i], expected);
            }
        }
    }
    with_ifma!(run);
}

#[test]
fn sums_and_differences_like_schoolbook() {
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn run<const BITS: u32>() {
        let operands = operands::<BITS>();
        let one = of_limbs(&[1], 64);
        let minus_one = of_limbs(&[P[0] - 1, P[1], P[2], P[3]], 64);
        for xs in operands.chunks(8) {
            for ys in operands.chunks(8).step_by(3) {
                let (x, y) = (lanes::<BITS>(xs).reduced(), lanes::<BITS>(ys).reduced());
                // x^2 +- y^2, as the ladder has them: of products not yet carried.
                let (xx, yy) = (square::<BITS, true, _>(x), square::<BITS, false, _>(y));
                let sums = bytes(xx.plus(yy));
                let differences = bytes(xx.minus(yy));
                for (i, (x, y)) in xs.iter().zip(ys).enumerate() {
                    let square = |x: &Limbs| {
                        let x = value::<BITS>(x);
                        of_limbs(&words(&multiply_add(&x, &x, &[0; 8])), 64)
                    };
                    let (xx, yy) = (square(x), square(y));
                    assert_eq!(sums[i], multiply_add(&xx, &one, &yy));
                    assert_eq!(differences[i], multiply_add(&yy, &minus_one, &xx));
                }
            }
        }
    }
    with_ifma!(run);
}

#[test]
fn carries_and_encodings_like_schoolbook() {
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn run<const BITS: u32>() {
        let one = of_limbs(&[1], 64);
        let (mask, top) = (limb_mask(BITS), top_mask(BITS));
        let largest = (bounds(BITS).carried << 52) - 1;
        let limb = [0, 1, top, top + 1, mask, mask + 1, largest];
        let columns: Vec<Limbs> = (0..7_usize.pow(5))
            .map(|i| array::from_fn(|place| limb[i / [1, 7, 49, 343, 2401][place] % 7]))
            .collect();
        for columns in columns.chunks(8) {
            let got = bytes(lanes::<BITS>(columns).columns());
            for (columns, got) in columns.iter().zip(got) {
                let value = of_limbs(columns, BITS as usize);
                assert_eq!(got, multiply_add(&[0; 8], &one, &value), "{columns:x?}");
            }
        }
        // Every reduced value, most of all those near p and 2^255.
        for operands in operands::<BITS>().chunks(8) {
            let got = canonical_bytes(lanes::<BITS>(operands).reduced().canonical());
            for (x, got) in operands.iter().zip(got) {
                assert_eq!(got, multiply_add(&value::<BITS>(x), &one, &[0; 8]), "{x:x?}");
            }
        }
    }
    with_ifma!(run);
}

#[test]
fn selection_is_lane_by_lane() {
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn run<const BITS: u32>() {
        let operands = operands::<BITS>();
        let (x, y) = (lanes::<BITS>(&operands[..8]), lanes::<BITS>(&operands[80..88]));
        for mask in 0..=255_u8 {
            let got = Lanes::<BITS>::of(x.reduced().select(y.reduced(), mask).0);
            for limb in 0..5 {
                for lane in 0..8 {
                    let from = if mask >> lane & 1 == 0 { x } else { y };
                    assert_eq!(got.0[limb][lane], from.0[limb][lane]);
                }
            }
        }
    }
    with_ifma!(run);
}

#[test]
fn fractions_with_zero_denominators() {
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn run<const BITS: u32>() {
        let mut random = random_words("endseal test: fractions");
        let mut fractions = Fractions::<BITS>::new();
        // Used again, with more and with fewer than before.
        for len in [1, 2, RUN, 3] {
            let mut encoded = Vec::new();
            for _ in 0..len {
                let pair: [[[u8; 32]; 8]; 2] = array::from_fn(|_| {
                    array::from_fn(|_| match random() % 4 {
                        0 => [0; 32],
                        // p, which is 0 too.
                        1 => encode(P),
                        _ => encode(array::from_fn(|_| random())),
                    })
                });
                let [numerator, denominator] =
                    pair.map(|x| Lanes::<BITS>::from_bytes(&x).columns());
                fractions.push(numerator, denominator);
                encoded.push(pair);
            }
            let mut seen = 0;
            fractions.divide(|i, quotient| {
                seen += 1;
                for (lane, got) in canonical_bytes(quotient).into_iter().enumerate() {
                    let [x, y] = encoded[i].map(|x| Element::from_bytes(&x[lane]));
                    assert_eq!(got, x.mul(y.invert()).to_bytes());
                }
            });
            assert_eq!(seen, len);
        }
    }
    with_ifma!(run);
}

#[test]
fn edwards_d_is_that_of_the_portable_twin() {
    assert_eq!(D, Element::EDWARDS_D.to_bytes());
    // d * 121666 = -121665.
    let d = of_limbs(&words(&D), 64);
    let sum = multiply_add(&d, &of_limbs(&[121_666], 64), &of_limbs(&[121_665], 64));
    assert_eq!(sum, [0; 32]);
}

fn words(bytes: &[u8; 32]) -> [u64; 4] {
    let chunks = bytes.as_chunks::<8>().0;
    array::from_fn(|i| u64::from_le_bytes(chunks[i]))
}

fn encode(words: [u64; 4]) -> [u8; 32] {
    let mut out = [0; 32];
    out.as_chunks_mut::<8>().0.copy_from_slice(&words.map(u64::to_le_bytes));
    out
}
