//! Ed25519 verification with the cofactor, one signature or many, with the same verdict.
//!
//! RFC 8032, 5.1.7 leaves a choice between `8SB = 8R + 8kA` and `SB = R + kA`. They differ only for
//! signatures that a signer makes on purpose with points outside the prime-order subgroup. Only the
//! first can be checked for many signatures in one sum, so it is the one used throughout. The exact
//! rules are those of docs/spec/envelope.md, "Ed25519 verification".

use alloc::collections::BTreeMap;
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
}

/// Whether the signature is right. The key is valid: canonical, not of low order.
pub(crate) fn verify(signed: &Signed<'_>) -> bool {
    let Some(parsed) = Parsed::new(signed) else { return false };
    let sum =
        EdwardsPoint::vartime_double_scalar_mul_basepoint(&parsed.k, &-signed.point, &parsed.s);
    (sum - parsed.r).mul_by_cofactor().is_identity()
}

/// Whether all signatures are right, for about a third of the cost of one by one.
///
/// Checks `8·(Σ z_i R_i + Σ z_i k_i A_i - (Σ z_i S_i) B) = 0` with 128-bit weights z_i that depend
/// on every signature, key and message digest, so that a wrong one passes with probability 2^-128.
/// Keys that occur more than once are added up first.
pub(crate) fn verify_many(batch: &[Signed<'_>]) -> bool {
    let Some(parsed) = batch.iter().map(Parsed::new).collect::<Option<Vec<_>>>() else {
        return false;
    };
    let weights = weights(batch, &parsed);
    let mut base = Scalar::ZERO;
    let mut keys = BTreeMap::<&[u8; 32], (EdwardsPoint, Scalar)>::new();
    for ((signed, parsed), z) in batch.iter().zip(&parsed).zip(&weights) {
        base -= z * parsed.s;
        keys.entry(signed.public).or_insert((*signed.point, Scalar::ZERO)).1 += z * parsed.k;
    }
    let (points, scalars): (Vec<_>, Vec<_>) = keys.into_values().unzip();
    let scalars = once(base).chain(weights).chain(scalars).collect::<Vec<_>>();
    let points = once(ED25519_BASEPOINT_POINT).chain(parsed.iter().map(|p| p.r)).chain(points);
    let points = points.collect::<Vec<_>>();
    EdwardsPoint::vartime_multiscalar_mul(scalars, points).mul_by_cofactor().is_identity()
}

/// 128-bit scalars from a digest of the whole batch.
fn weights(batch: &[Signed<'_>], parsed: &[Parsed]) -> Vec<Scalar> {
    let mut transcript = hash::Digest::new();
    for (signed, parsed) in batch.iter().zip(parsed) {
        transcript.update(signed.public);
        transcript.update(signed.signature);
        transcript.update(parsed.k.as_bytes());
    }
    let mut stream = alloc::vec![0; 16 * batch.len()];
    hash::derive_into(label::ED25519_BATCH, &[&transcript.finish()], &mut stream);
    stream
        .chunks_exact(16)
        .map(|z| {
            let mut bytes = [0; 16];
            bytes.copy_from_slice(z);
            Scalar::from(u128::from_le_bytes(bytes))
        })
        .collect()
}
