//! Ed25519 verification with the cofactor, one signature or many, with the same verdict.
//!
//! RFC 8032, 5.1.7 leaves a choice between `8SB = 8R + 8kA` and `SB = R + kA`. They differ only for
//! signatures that a signer makes on purpose with points outside the prime-order subgroup. Only the
//! first can be checked for many signatures in one sum, so it is the one used throughout. The exact
//! rules are those of docs/spec/envelope.md, "Ed25519 verification".

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec;
use alloc::vec::Vec;
use core::iter::once;

use curve25519_dalek::constants::ED25519_BASEPOINT_POINT;
use curve25519_dalek::edwards::{CompressedEdwardsY, EdwardsPoint};
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::{IsIdentity, VartimeMultiscalarMul};

use super::{backend, hash, label};

/// One signature with what it is about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signed<'a> {
    pub(crate) public: &'a [u8; 32],
    /// What `public` encodes.
    pub(crate) point: &'a EdwardsPoint,
    pub(crate) message: &'a [u8],
    pub(crate) signature: &'a [u8; 64],
}

/// The point that `bytes` encode, if they are the canonical encoding of a point on the curve.
pub(crate) fn decode_canonical(bytes: &[u8; 32]) -> Option<EdwardsPoint> {
    is_canonical(bytes).then(|| CompressedEdwardsY(*bytes).decompress()).flatten()
}

/// Whether y < p and, if x = 0, the sign bit is clear. Public data: variable time.
pub(crate) fn is_canonical(bytes: &[u8; 32]) -> bool {
    let mut y = *bytes;
    let sign = y[31] >> 7;
    y[31] &= 0x7f;
    // p = 2^255 - 19: the bytes ed ff … ff 7f.
    let below_p = y[31] != 0x7f || y[1..31].iter().any(|&b| b != 0xff) || y[0] < 0xed;
    // x = 0 exactly for y = 1 and y = -1.
    let one = y[0] == 1 && y[1..].iter().all(|&b| b == 0);
    let minus_one = y[0] == 0xec && y[1..31].iter().all(|&b| b == 0xff) && y[31] == 0x7f;
    below_p && !(sign == 1 && (one || minus_one))
}

/// Whether a canonical encoding is one of the eight points of the torsion subgroup. They have five
/// y-coordinates. Public data: variable time.
pub(crate) fn is_low_order(bytes: &[u8; 32]) -> bool {
    let mut y = *bytes;
    y[31] &= 0x7f;
    LOW_ORDER_Y.contains(&y)
}

/// y of the points of order 1, 4, 2, 8 and 8.
const LOW_ORDER_Y: [[u8; 32]; 5] = [
    first_then(1, 0, 0),
    [0; 32],
    first_then(0xec, 0xff, 0x7f),
    [
        0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67,
        0x0f, 0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac,
        0x03, 0x7a,
    ],
    [
        0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98,
        0xf0, 0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53,
        0xfc, 0x05,
    ],
];

const fn first_then(first: u8, middle: u8, last: u8) -> [u8; 32] {
    let mut bytes = [middle; 32];
    bytes[0] = first;
    bytes[31] = last;
    bytes
}

struct Parsed {
    r: EdwardsPoint,
    s: Scalar,
    /// SHA-512(R || A || M) mod L
    k: Scalar,
}

impl Parsed {
    fn new(signed: &Signed<'_>) -> Option<Self> {
        let (r_bytes, s_bytes) = signed.signature.split_first_chunk::<32>()?;
        let s = Option::from(Scalar::from_canonical_bytes(*s_bytes.first_chunk()?))?;
        let r = decode_canonical(r_bytes)?;
        let k = backend::sha512(&[r_bytes, signed.public, signed.message]);
        Some(Self { r, s, k: Scalar::from_bytes_mod_order_wide(&k) })
    }

    fn verify(&self, point: &EdwardsPoint) -> bool {
        let sum = EdwardsPoint::vartime_double_scalar_mul_basepoint(&self.k, &-point, &self.s);
        is_zero(&(sum - self.r))
    }
}

/// Whether the signature is right. The key is valid: canonical, not of low order.
pub(crate) fn verify(signed: &Signed<'_>) -> bool {
    Parsed::new(signed).is_some_and(|parsed| parsed.verify(signed.point))
}

/// Whether all signatures are right, for about a third of the cost of one by one.
///
/// Checks `8·(Σ z_i R_i + Σ z_i k_i A_i - (Σ z_i S_i) B) = 0` with 128-bit weights z_i that depend
/// on every signature, key and message digest, so that a wrong one passes with probability 2^-128.
/// Keys that occur more than once are added up first.
pub(crate) fn verify_many(batch: &[Signed<'_>]) -> bool {
    let terms = terms(batch);
    terms.len() == batch.len() && is_zero(&sum(&terms))
}

/// The verdict of each signature, as [`verify`] gives it, with the number of terms that were summed
/// again.
///
/// If the sum over all terms is not zero, it is halved: the sum of the left half is computed, that of
/// the right half is the difference. So one wrong signature among n costs log2(n) sums of n terms in
/// all. Terms are summed again [`MAX_AGAIN`] times their number at most, then signatures are verified
/// one by one: many wrong ones cost little more than without the sums.
pub(crate) fn verify_each(batch: &[Signed<'_>]) -> (Vec<bool>, usize) {
    let mut verdicts = vec![false; batch.len()];
    let terms = terms(batch);
    let (budget, mut again) = (terms.len() * MAX_AGAIN, 0);
    let mut groups = VecDeque::from([(&terms[..], sum(&terms))]);
    while let Some((group, group_sum)) = groups.pop_front() {
        if is_zero(&group_sum) {
            group.iter().for_each(|term| verdicts[term.index] = true);
            continue;
        }
        let (left, right) = group.split_at(group.len() / 2);
        if left.is_empty() {
            // The sum of one term is zero exactly if its signature is right.
            continue;
        }
        if again + left.len() > budget {
            group.iter().for_each(|term| verdicts[term.index] = term.parsed.verify(term.point));
            continue;
        }
        again += left.len();
        let left_sum = sum(left);
        groups.extend([(left, left_sum), (right, group_sum - left_sum)]);
    }
    (verdicts, again)
}

/// Bound of the terms that [`verify_each`] sums again, in multiples of the batch.
const MAX_AGAIN: usize = 3;

/// One signature in the sum.
struct Term<'a> {
    /// Its index in the batch.
    index: usize,
    public: &'a [u8; 32],
    point: &'a EdwardsPoint,
    parsed: Parsed,
    weight: Scalar,
}

/// The terms of all signatures that can be parsed; the others are wrong.
fn terms<'a>(batch: &[Signed<'a>]) -> Vec<Term<'a>> {
    let mut terms: Vec<_> = batch
        .iter()
        .enumerate()
        .filter_map(|(index, signed)| {
            let parsed = Parsed::new(signed)?;
            let Signed { public, point, .. } = *signed;
            Some(Term { index, public, point, parsed, weight: Scalar::ZERO })
        })
        .collect();
    set_weights(batch, &mut terms);
    terms
}

/// `Σ z_i R_i + Σ z_i k_i A_i - (Σ z_i S_i) B`
fn sum(terms: &[Term<'_>]) -> EdwardsPoint {
    let mut base = Scalar::ZERO;
    let mut keys = BTreeMap::<&[u8; 32], (EdwardsPoint, Scalar)>::new();
    for Term { public, point, parsed, weight, .. } in terms {
        base -= weight * parsed.s;
        keys.entry(public).or_insert((**point, Scalar::ZERO)).1 += weight * parsed.k;
    }
    let (points, scalars): (Vec<_>, Vec<_>) = keys.into_values().unzip();
    let weights = terms.iter().map(|term| term.weight);
    let scalars = once(base).chain(weights).chain(scalars).collect::<Vec<_>>();
    let rs = terms.iter().map(|term| term.parsed.r);
    let points = once(ED25519_BASEPOINT_POINT).chain(rs).chain(points).collect::<Vec<_>>();
    EdwardsPoint::vartime_multiscalar_mul(scalars, points)
}

/// Returns true if the point is in the torsion subgroup.
fn is_zero(point: &EdwardsPoint) -> bool {
    point.mul_by_cofactor().is_identity()
}

/// 128-bit weights from a digest of the whole batch.
fn set_weights(batch: &[Signed<'_>], terms: &mut [Term<'_>]) {
    let mut transcript = hash::Digest::new();
    for term in terms.iter() {
        transcript.update(term.public);
        transcript.update(batch[term.index].signature);
        transcript.update(term.parsed.k.as_bytes());
    }
    let mut stream = vec![0; 16 * terms.len()];
    hash::derive_into(label::ED25519_BATCH, &[&transcript.finish()], &mut stream);
    for (term, weight) in terms.iter_mut().zip(stream.as_chunks::<16>().0) {
        term.weight = Scalar::from(u128::from_le_bytes(*weight));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: usize = 1000;

    struct Batch {
        keys: Vec<([u8; 32], EdwardsPoint)>,
        messages: Vec<[u8; 8]>,
        signatures: Vec<[u8; 64]>,
    }

    impl Batch {
        /// Signatures of seven keys; those at `wrong` are of another message.
        fn new(n: usize, wrong: &[usize]) -> Self {
            let secret = |i: usize| Scalar::from(7 + i as u64 % 7);
            let keys = (0..n).map(|i| {
                let point = ED25519_BASEPOINT_POINT * secret(i);
                (point.compress().to_bytes(), point)
            });
            let keys: Vec<_> = keys.collect();
            let messages: Vec<_> = (0..n as u64).map(u64::to_le_bytes).collect();
            let sign = |i: usize| {
                let nonce = Scalar::from(1000 + i as u64);
                let r = (ED25519_BASEPOINT_POINT * nonce).compress().to_bytes();
                let message = if wrong.contains(&i) { [0xff; 8] } else { messages[i] };
                let k = backend::sha512(&[&r, &keys[i].0, &message]);
                let s = nonce + Scalar::from_bytes_mod_order_wide(&k) * secret(i);
                let mut signature = [0; 64];
                signature[..32].copy_from_slice(&r);
                signature[32..].copy_from_slice(s.as_bytes());
                signature
            };
            let signatures = (0..n).map(sign).collect();
            Self { keys, messages, signatures }
        }

        fn signed(&self) -> Vec<Signed<'_>> {
            let all = self.keys.iter().zip(&self.messages).zip(&self.signatures);
            all.map(|(((public, point), message), signature)| Signed {
                public,
                point,
                message,
                signature,
            })
            .collect()
        }
    }

    fn check(batch: &Batch, wrong: &[usize]) -> usize {
        let signed = batch.signed();
        let (verdicts, again) = verify_each(&signed);
        for (i, verdict) in verdicts.iter().enumerate() {
            assert_eq!(*verdict, !wrong.contains(&i), "{i}");
        }
        assert_eq!(verify_many(&signed), wrong.is_empty());
        again
    }

    #[test]
    fn one_wrong_signature_costs_at_most_the_terms_of_one_more_sum() {
        assert_eq!(check(&Batch::new(N, &[]), &[]), 0);
        for wrong in [0, 1, 499, 500, 998, 999] {
            let again = check(&Batch::new(N, &[wrong]), &[wrong]);
            assert!((N - 11..N).contains(&again), "{again} terms for {wrong}");
        }
    }

    #[test]
    fn many_wrong_signatures_are_bounded() {
        let all: Vec<_> = (0..N).collect();
        for step in [1, 2, 7, 40, 250] {
            let wrong: Vec<_> = all.iter().copied().step_by(step).collect();
            let again = check(&Batch::new(N, &wrong), &wrong);
            assert!(again <= N * MAX_AGAIN, "{again} terms for each {step}th");
        }
    }

    #[test]
    fn every_set_of_wrong_ones_of_a_small_batch_is_found() {
        for n in 0..7 {
            for set in 0..1_usize << n {
                let wrong: Vec<_> = (0..n).filter(|i| set >> i & 1 == 1).collect();
                check(&Batch::new(n, &wrong), &wrong);
            }
        }
    }

    #[test]
    fn what_cannot_be_parsed_is_wrong_and_costs_no_sum() {
        let mut batch = Batch::new(20, &[]);
        // S + L and an R that no point encodes.
        batch.signatures[3][63] |= 0xf0;
        batch.signatures[9][..32].fill(0xff);
        assert_eq!(check(&batch, &[3, 9]), 0);
    }

    #[test]
    fn verdicts_of_each_are_those_of_one_by_one() {
        let wrong = [4, 5, 60];
        let batch = Batch::new(64, &wrong);
        let signed = batch.signed();
        let one_by_one: Vec<_> = signed.iter().map(verify).collect();
        assert_eq!(verify_each(&signed).0, one_by_one);
    }
}
