//! Ed25519 verification with the cofactor, one signature or many, with the same verdict.
//!
//! RFC 8032, 5.1.7 leaves a choice between `8SB = 8R + 8kA` and `SB = R + kA`. They differ only for
//! signatures that a signer makes on purpose with points outside the prime-order subgroup. Only the
//! first can be checked for many signatures in one sum, so it is the one used throughout. The exact
//! rules are those of docs/spec/envelope.md, "Ed25519 verification".

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec;
use alloc::vec::Vec;
use core::iter::once;

use curve25519_dalek::constants::ED25519_BASEPOINT_POINT;
use curve25519_dalek::edwards::{CompressedEdwardsY, EdwardsPoint};
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::{IsIdentity, VartimeMultiscalarMul};

use super::{backend, hash, label};

/// One signature with its key and message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signed<'a> {
    pub(crate) public: &'a [u8; 32],
    /// The point that `public` encodes, decompressed.
    pub(crate) point: &'a EdwardsPoint,
    pub(crate) message: &'a [u8],
    pub(crate) signature: &'a [u8; 64],
}

/// The point that `bytes` encode, if they are the canonical encoding of a point on the curve.
pub(crate) fn decode_canonical(bytes: &[u8; 32]) -> Option<EdwardsPoint> {
    is_canonical(bytes).then(|| CompressedEdwardsY(*bytes).decompress()).flatten()
}

/// Returns true if y < p and, if x = 0, the sign bit is clear. Public data: variable time.
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

/// Returns true if a canonical encoding is one of the eight points of the torsion subgroup. They
/// have five y-coordinates. Public data: variable time.
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

/// Returns true if the signature is valid. The key is valid: canonical, not of low order.
pub(crate) fn verify(signed: &Signed<'_>) -> bool {
    Parsed::new(signed).is_some_and(|parsed| parsed.verify(signed.point))
}

/// Returns true if all signatures are valid, for about a third of the cost of one by one.
///
/// Checks `8·(Σ z_i R_i + Σ z_i k_i A_i - (Σ z_i S_i) B) = 0` with 128-bit weights z_i that depend
/// on every signature, key and message digest, so that a wrong one passes with probability 2^-128.
/// Keys that occur more than once are added up first.
pub(crate) fn verify_many(batch: &[Signed<'_>]) -> bool {
    let terms = terms(batch);
    terms.len() == batch.len() && is_zero(&sum(&terms))
}

/// The verdict of each signature, as [`verify`] gives it, with the units of work ([`SINGLE`]) that
/// were spent.
///
/// Terms are summed in groups. If a sum is not zero, its group is halved: the sum of the left half
/// is computed, that of the right half is the difference. So one wrong signature costs as much as
/// one more sum. Each sum is charged to a budget, to which right signatures add what they saved.
/// Without a budget, signatures are verified one by one. So no set of wrong ones costs more than
/// 1.3 times one by one, and [`ALLOWANCE`].
pub(crate) fn verify_each(batch: &[Signed<'_>]) -> (Vec<bool>, usize) {
    let terms = terms(batch);
    let mut verdicts = Verdicts {
        right: vec![false; batch.len()],
        budget: ALLOWANCE + terms.len() * SINGLE * 3 / 10,
        spent: terms.len() * PARSE,
    };
    let mut rest = &terms[..];
    while !rest.is_empty() {
        let (group, later) = rest.split_at(verdicts.affordable(rest));
        if group.is_empty() {
            verdicts.one_by_one(rest);
            break;
        }
        verdicts.bisect(group);
        rest = later;
    }
    (verdicts.right, verdicts.spent)
}

/// Units of work of one verification: [`PARSE`] of them for parsing and hashing, the others for the
/// sum.
const SINGLE: usize = 6;
const PARSE: usize = 1;
/// Units of a sum besides one for each point, measured: it costs 30 us, a point 5 us, a
/// verification 35 us.
const SUM: usize = 6;
/// Units that sums may waste in a batch of any size: small batches gain from them too.
const ALLOWANCE: usize = 10;
/// Units of a sum that may use all of the budget. Larger ones leave half of it, to halve the group.
const SMALL_SUM: usize = 38;
/// Terms of a group that is not halved: one by one costs no more.
const SMALL_GROUP: usize = 3;

/// Verdicts of a batch, and the work that sums may still cost.
struct Verdicts {
    right: Vec<bool>,
    budget: usize,
    spent: usize,
}

impl Verdicts {
    /// Number of leading terms to sum. 0 if verifying one by one is better.
    fn affordable(&self, terms: &[Term<'_>]) -> usize {
        let limit = (self.budget / 2).max(self.budget.min(SMALL_SUM));
        let mut keys = BTreeSet::new();
        let count = (1..)
            .zip(terms)
            .take_while(|(count, term)| {
                keys.insert(term.key);
                SUM + count + keys.len() <= limit
            })
            .count();
        if count < SMALL_GROUP { 0 } else { count }
    }

    /// Finds the wrong ones of a group by sums, as far as the budget goes.
    fn bisect(&mut self, group: &[Term<'_>]) {
        let first = self.sum(group);
        let mut groups = VecDeque::from([(group, first)]);
        while let Some((group, group_sum)) = groups.pop_front() {
            if is_zero(&group_sum) {
                group.iter().for_each(|term| self.right[term.index] = true);
                self.budget += group.len() * (SINGLE - PARSE);
                continue;
            }
            let (left, right) = group.split_at(group.len() / 2);
            if group.len() <= SMALL_GROUP || cost(left) > self.budget {
                self.one_by_one(group);
                continue;
            }
            let left_sum = self.sum(left);
            groups.extend([(left, left_sum), (right, group_sum - left_sum)]);
        }
    }

    fn sum(&mut self, terms: &[Term<'_>]) -> EdwardsPoint {
        self.budget -= cost(terms);
        self.spent += cost(terms);
        sum(terms)
    }

    fn one_by_one(&mut self, terms: &[Term<'_>]) {
        self.spent += terms.len() * (SINGLE - PARSE);
        terms.iter().for_each(|term| self.right[term.index] = term.parsed.verify(term.point));
    }
}

/// Units of the sum of these terms.
fn cost(terms: &[Term<'_>]) -> usize {
    // Inserted one by one: `collect` brings the code of another sort into WebAssembly.
    let mut keys = BTreeSet::new();
    terms.iter().for_each(|term| _ = keys.insert(term.key));
    SUM + terms.len() + keys.len()
}

/// One signature in the sum.
struct Term<'a> {
    /// Index of the signature in the batch.
    index: usize,
    /// Number of its key, in the order in which keys occur.
    key: usize,
    point: &'a EdwardsPoint,
    parsed: Parsed,
    weight: Scalar,
}

/// The terms of all signatures that can be parsed; the others are wrong.
fn terms<'a>(batch: &[Signed<'a>]) -> Vec<Term<'a>> {
    let mut keys = BTreeMap::new();
    let mut terms: Vec<_> = batch
        .iter()
        .enumerate()
        .filter_map(|(index, signed)| {
            let parsed = Parsed::new(signed)?;
            let next = keys.len();
            let key = *keys.entry(signed.public).or_insert(next);
            Some(Term { index, key, point: signed.point, parsed, weight: Scalar::ZERO })
        })
        .collect();
    set_weights(batch, &mut terms);
    terms
}

/// `Σ z_i R_i + Σ z_i k_i A_i - (Σ z_i S_i) B`
fn sum(terms: &[Term<'_>]) -> EdwardsPoint {
    let mut base = Scalar::ZERO;
    let mut keys = BTreeMap::<usize, (EdwardsPoint, Scalar)>::new();
    for Term { key, point, parsed, weight, .. } in terms {
        base -= weight * parsed.s;
        keys.entry(*key).or_insert((**point, Scalar::ZERO)).1 += weight * parsed.k;
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
        transcript.update(batch[term.index].public);
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
        /// Signatures of so many keys; those at `wrong` are of another message.
        fn new(n: usize, keys: usize, wrong: &[usize]) -> Self {
            let secret = |i: usize| Scalar::from(7 + (i % keys) as u64);
            let points = (0..n).map(|i| {
                let point = ED25519_BASEPOINT_POINT * secret(i);
                (point.compress().to_bytes(), point)
            });
            let keys: Vec<_> = points.collect();
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

    /// Checks the verdicts; gives the units that were spent.
    fn check(batch: &Batch, wrong: &[usize]) -> usize {
        let signed = batch.signed();
        let (verdicts, spent) = verify_each(&signed);
        for (i, verdict) in verdicts.iter().enumerate() {
            assert_eq!(*verdict, !wrong.contains(&i), "{i}");
        }
        assert_eq!(verify_many(&signed), wrong.is_empty());
        spent
    }

    #[test]
    fn one_wrong_signature_costs_at_most_as_much_as_one_more_sum() {
        for keys in [1, 7, N] {
            let right = check(&Batch::new(N, keys, &[]), &[]);
            let sums = SUM + N + keys;
            assert!(right <= N * PARSE + sums + 2 * SUM + keys, "{right} for {keys} keys");
            for wrong in [0, 1, 499, 500, 998, 999] {
                let spent = check(&Batch::new(N, keys, &[wrong]), &[wrong]);
                let most = right + sums + 10 * (SUM + 7) + SMALL_GROUP * SINGLE;
                assert!(spent <= most, "{spent} of {most} for {wrong} of {keys} keys");
            }
        }
    }

    #[test]
    fn wrong_signatures_cost_at_most_thirteen_tenths_of_one_by_one() {
        for n in [1_usize, 2, 3, 4, 7, 16, 17, 33, 90] {
            for keys in [1, n.div_ceil(2), n] {
                let mut batch = Batch::new(n, keys, &[]);
                let right = batch.messages.clone();
                for step in [1, 2, 4, 9, 40] {
                    for (from, to) in [(0, n), (0, n / 2), (n / 2, n), (n / 3, 2 * n / 3)] {
                        let wrong: Vec<_> = (from..to).step_by(step).collect();
                        batch.messages.clone_from(&right);
                        wrong.iter().for_each(|i| batch.messages[*i] = [0xff; 8]);
                        let spent = check(&batch, &wrong);
                        let most = n * SINGLE * 13 / 10 + ALLOWANCE;
                        assert!(spent <= most, "{spent} of {most}: {wrong:?} of {n}, {keys} keys");
                    }
                }
            }
        }
    }

    #[test]
    fn every_set_of_wrong_ones_of_a_small_batch_is_found() {
        for n in 0..7 {
            for set in 0..1_usize << n {
                let wrong: Vec<_> = (0..n).filter(|i| set >> i & 1 == 1).collect();
                check(&Batch::new(n, 7, &wrong), &wrong);
            }
        }
    }

    #[test]
    fn what_cannot_be_parsed_is_wrong_and_costs_no_sum() {
        let mut batch = Batch::new(20, 7, &[]);
        // S + L and an R that no point encodes.
        batch.signatures[3][63] |= 0xf0;
        batch.signatures[9][..32].fill(0xff);
        let right = check(&Batch::new(18, 7, &[]), &[]);
        assert_eq!(check(&batch, &[3, 9]), right);
    }

    #[test]
    fn verdicts_of_each_are_those_of_one_by_one() {
        let wrong = [4, 5, 60];
        let batch = Batch::new(64, 7, &wrong);
        let signed = batch.signed();
        let one_by_one: Vec<_> = signed.iter().map(verify).collect();
        assert_eq!(verify_each(&signed).0, one_by_one);
    }
}
