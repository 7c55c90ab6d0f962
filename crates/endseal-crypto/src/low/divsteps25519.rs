//! Inversion modulo p = 2^255 - 19 by divsteps (Bernstein and Yang, "Fast constant-time gcd
//! computation and modular inversion", 2019), in portable, safe Rust.
//!
//! A step maps an odd f, any g, and zeta:
//!
//! ```text
//! zeta < 0 and g odd:  f, g, zeta = g, (g - f) / 2, -zeta - 2
//! otherwise, g odd:    f, g, zeta = f, (g + f) / 2, zeta - 1
//! g even:              f, g, zeta = f, g / 2,       zeta - 1
//! ```
//!
//! Started with zeta = -1, f = p and g = x, the greatest common divisor stays, and 590 steps end
//! with g = 0 for any f and g below 2^256 (Wuille's variant of delta = 1/2, and his bound for it,
//! which O'Connor and Poelstra have proved formally in 2021). Then f is 1 or -1, or p if x is 0.
//!
//! The effect of 59 steps depends on the low 59 bits of f and g alone. It is a matrix over 2^59,
//! made from one word of each and applied to f and g, and modulo p to d and e, which stay f/x and
//! g/x. Ten of these, and d is 1/x or -1/x.
//!
//! Nothing branches or indexes on a value, and the number of steps is fixed.
#![forbid(unsafe_code)]

use core::hint::black_box;

use zeroize::Zeroizing;

/// Steps of a matrix, and bits of a limb.
const STEPS: u32 = 59;
/// Number of matrices: 590 steps.
const MATRICES: u32 = 10;
const MASK: i64 = (1 << STEPS) - 1;
/// The top limb of 2^255.
const TOP: i64 = 1 << (255 - 4 * STEPS);
/// 1/p modulo 2^59: -19 is p there, and each round of Newton's doubles the bits that are right.
const P_INVERSE: i64 = {
    let mut inverse: i64 = 1;
    let mut bits = 1;
    while bits < STEPS {
        inverse = inverse.wrapping_mul(2_i64.wrapping_add(inverse.wrapping_mul(19)));
        bits *= 2;
    }
    inverse & MASK
};

/// limb_i * 2^(59 i): limbs 0 to 3 in 0..2^59, limb 4 has the sign.
type Limbs = [i64; 5];

const P: Limbs = [MASK - 18, MASK, MASK, MASK, TOP - 1];

/// 2^59 times what 59 steps do: u f + v g and q f + r g. |u| + |v| and |q| + |r| are at most 2^59.
struct Matrix {
    u: i64,
    v: i64,
    q: i64,
    r: i64,
}

/// The canonical little-endian 1/x for a canonical x; 0 for 0.
pub(super) fn invert(x: &[u8; 32]) -> [u8; 32] {
    // f, g, d, e.
    let mut state = Zeroizing::new([P, from_bytes(x), [0; 5], [1, 0, 0, 0, 0]]);
    let mut zeta = -1;
    for _ in 0..MATRICES {
        let [f, g, d, e] = &mut *state;
        let matrix = divsteps(&mut zeta, f[0], g[0]);
        apply(&matrix, f, g);
        apply_modulo_p(&matrix, d, e);
    }
    let [f, g, d, _] = &mut *state;
    debug_assert_eq!(*g, [0; 5], "590 steps are enough");
    canonical(d, f[4] >> black_box(63));
    to_bytes(d)
}

/// 59 steps on the low words of f and g.
fn divsteps(zeta: &mut i64, mut f: i64, mut g: i64) -> Matrix {
    // For the compiler these are any numbers: it cannot know that the masks below have two values,
    // of which it could choose by a branch.
    let (one, sign) = (black_box(1), black_box(63));
    let (mut u, mut v, mut q, mut r) = (1_i64, 0_i64, 0_i64, 1_i64);
    for _ in 0..STEPS {
        let negative = *zeta >> sign;
        let odd = -(g & one);
        let swap = negative & odd;
        let f_next = f ^ ((f ^ g) & swap);
        // For an odd g: g + f if zeta is not negative, g - f if it is.
        g = g.wrapping_sub(swap).wrapping_add((f ^ negative) & odd);
        q += ((u ^ negative) & odd) - swap;
        r += ((v ^ negative) & odd) - swap;
        // f + (g - f) = g, and the row of f likewise.
        f = f_next;
        u += q & swap;
        v += r & swap;
        *zeta = (*zeta ^ swap) - 1;
        g >>= 1;
        u <<= 1;
        v <<= 1;
    }
    debug_assert!([[u, v], [q, r]].iter().all(|[x, y]| x.abs() + y.abs() <= 1 << STEPS));
    Matrix { u, v, q, r }
}

/// f, g = (u f + v g) / 2^59, (q f + r g) / 2^59: exact, and no larger than the larger one was.
fn apply(m: &Matrix, f: &mut Limbs, g: &mut Limbs) {
    let (mut to_f, mut to_g) = (product(m.u, f[0], m.v, g[0]), product(m.q, f[0], m.r, g[0]));
    debug_assert!(low(to_f) == 0 && low(to_g) == 0, "the steps were made for these");
    for i in 1..5 {
        to_f = (to_f >> STEPS) + product(m.u, f[i], m.v, g[i]);
        to_g = (to_g >> STEPS) + product(m.q, f[i], m.r, g[i]);
        (f[i - 1], g[i - 1]) = (low(to_f), low(to_g));
    }
    (f[4], g[4]) = (word(to_f >> STEPS), word(to_g >> STEPS));
}

/// d, e = (u d + v e) / 2^59, (q d + r e) / 2^59 modulo p, both in -2p+1..p, as they were.
///
/// p is added to what is negative, which leaves -p+1..p; sums with the matrix are in -2^59 p..2^59
/// p; from these, 0 to 2^59 - 1 times p is taken away, so that 2^59 divides the rest.
fn apply_modulo_p(m: &Matrix, d: &mut Limbs, e: &mut Limbs) {
    // Masks that the compiler cannot take for conditions: d and e depend on the secret.
    let sign = black_box(63);
    let (d_sign, e_sign) = (d[4] >> sign, e[4] >> sign);
    let multiple = |u: i64, v: i64, sum: i128| {
        let added = (u & d_sign) + (v & e_sign);
        added - (P_INVERSE.wrapping_mul(low(sum)).wrapping_add(added) & MASK)
    };
    let (mut to_d, mut to_e) = (product(m.u, d[0], m.v, e[0]), product(m.q, d[0], m.r, e[0]));
    let (k, l) = (multiple(m.u, m.v, to_d), multiple(m.q, m.r, to_e));
    // p is 2^255 - 19.
    to_d -= 19 * i128::from(k);
    to_e -= 19 * i128::from(l);
    debug_assert!(low(to_d) == 0 && low(to_e) == 0, "the multiples of p were chosen for it");
    for i in 1..5 {
        to_d = (to_d >> STEPS) + product(m.u, d[i], m.v, e[i]);
        to_e = (to_e >> STEPS) + product(m.q, d[i], m.r, e[i]);
        if i == 4 {
            to_d += i128::from(k) * i128::from(TOP);
            to_e += i128::from(l) * i128::from(TOP);
        }
        (d[i - 1], e[i - 1]) = (low(to_d), low(to_e));
    }
    (d[4], e[4]) = (word(to_d >> STEPS), word(to_e >> STEPS));
    debug_assert!([d[4], e[4]].iter().all(|top| (-2 * TOP..TOP).contains(top)));
}

/// Product of one row of a matrix with two limbs: u * x + v * y, at most 2^118.
fn product(u: i64, x: i64, v: i64, y: i64) -> i128 {
    i128::from(u) * i128::from(x) + i128::from(v) * i128::from(y)
}

#[allow(clippy::cast_possible_truncation, reason = "the low bits are meant")]
fn low(x: i128) -> i64 {
    x as i64 & MASK
}

/// A top limb: the numbers are below 2^257.
#[allow(clippy::cast_possible_truncation, reason = "the bound is above")]
fn word(x: i128) -> i64 {
    debug_assert!(i64::try_from(x).is_ok());
    x as i64
}

/// x modulo p for a sign of 0, -x for one of -1, from -2p+1..p to 0..p.
fn canonical(x: &mut Limbs, sign: i64) {
    add_if_negative(x);
    // Now it is in -p+1..p, and so is its negative.
    x.iter_mut().for_each(|limb| *limb = (*limb ^ sign) - sign);
    carry(x);
    add_if_negative(x);
}

/// x + p if x is negative.
fn add_if_negative(x: &mut Limbs) {
    let negative = x[4] >> black_box(63);
    for (x, p) in x.iter_mut().zip(P) {
        *x += p & negative;
    }
    carry(x);
}

fn carry(x: &mut Limbs) {
    for i in 0..4 {
        x[i + 1] += x[i] >> STEPS;
        x[i] &= MASK;
    }
}

fn from_bytes(bytes: &[u8; 32]) -> Limbs {
    let words = bytes.as_chunks::<8>().0;
    let [a, b, c, d] = [0, 1, 2, 3].map(|i: usize| u64::from_le_bytes(words[i]));
    [a, a >> 59 | b << 5, b >> 54 | c << 10, c >> 49 | d << 15, d >> 44]
        .map(|limb| limb.cast_signed() & MASK)
}

fn to_bytes(x: &Limbs) -> [u8; 32] {
    let [a, b, c, d, e] = x.map(i64::cast_unsigned);
    let words = [a | b << 59, b >> 5 | c << 54, c >> 10 | d << 49, d >> 15 | e << 44];
    let mut bytes = [0; 32];
    for (to, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *to = word.to_le_bytes();
    }
    bytes
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::low::reference25519::{multiply_add, of_limbs, random_words};

    /// The number modulo p, which is between -2p and 2^257.
    fn residue(x: &Limbs) -> [u64; 8] {
        let mut sum: Limbs = core::array::from_fn(|i| x[i] + 2 * P[i]);
        carry(&mut sum);
        let sum = of_limbs(&sum.map(i64::cast_unsigned), 59);
        words(&multiply_add(&[0; 8], &[0; 8], &sum))
    }

    fn words(bytes: &[u8; 32]) -> [u64; 8] {
        let words = bytes.as_chunks::<8>().0;
        of_limbs(&[0, 1, 2, 3].map(|i: usize| u64::from_le_bytes(words[i])), 64)
    }

    /// m * p + x.
    fn near(m: i64, x: i64) -> Limbs {
        let mut sum = P.map(|limb| m * limb);
        sum[0] += x;
        carry(&mut sum);
        sum
    }

    /// -2p+1..p: both ends, what is near a multiple of p, and random ones.
    fn numbers() -> Vec<Limbs> {
        let mut numbers = Vec::from([near(-2, 1), near(-2, 2), near(1, -1), near(1, -2)]);
        for m in [-1, 0] {
            numbers.extend((-2..=2).map(|x| near(m, x)));
        }
        let mut random = random_words("endseal test: divsteps, numbers");
        numbers.extend((0..40).map(|_| {
            let [a, b, c, d, e] = core::array::from_fn(|_| random().cast_signed());
            [a & MASK, b & MASK, c & MASK, d & MASK, e.rem_euclid(3 * TOP - 1) - 2 * TOP + 1]
        }));
        numbers
    }

    #[test]
    fn any_matrix_keeps_the_range_and_the_residues() {
        let whole = 1_i64 << STEPS;
        let mut rows = Vec::from([[whole, 0], [0, whole], [whole / 2, whole / 2], [0, 0], [1, 1]]);
        rows.extend([[whole - 1, 1], [1, whole - 1]]);
        let mut random = random_words("endseal test: divsteps, matrices");
        rows.extend((0..4).map(|_| [random(), random()].map(|x| x.cast_signed() & MASK >> 1)));
        let rows: Vec<_> =
            rows.iter().flat_map(|[u, v]| [[*u, *v], [-u, *v], [*u, -v], [-u, -v]]).collect();
        let numbers = numbers();
        let whole = residue(&[0, 1, 0, 0, 0]);
        let expected = |[u, v]: [i64; 2], d: &Limbs, e: &Limbs| {
            let [u, v] = [u, v].map(|x| near(0, x)).map(|x| residue(&x));
            let first = multiply_add(&u, &residue(d), &[0; 8]);
            multiply_add(&v, &residue(e), &words(&first))
        };
        for (i, [u, v]) in rows.iter().copied().enumerate() {
            let [q, r] = rows[(5 * i + 3) % rows.len()];
            for d in &numbers {
                for e in &numbers {
                    let (mut next_d, mut next_e) = (*d, *e);
                    apply_modulo_p(&Matrix { u, v, q, r }, &mut next_d, &mut next_e);
                    let got =
                        [next_d, next_e].map(|next| multiply_add(&whole, &residue(&next), &[0; 8]));
                    assert_eq!(got, [expected([u, v], d, e), expected([q, r], d, e)]);
                }
            }
        }
    }

    #[test]
    fn both_signs_end_between_0_and_p() {
        let minus_one = residue(&near(0, -1));
        for x in numbers() {
            let (mut plus, mut minus) = (x, x);
            canonical(&mut plus, 0);
            canonical(&mut minus, -1);
            assert_eq!(to_bytes(&plus), multiply_add(&[0; 8], &[0; 8], &residue(&x)));
            assert_eq!(to_bytes(&minus), multiply_add(&minus_one, &residue(&x), &[0; 8]));
        }
    }
}
