//! The back end of `no_std`, written for chips with 32 bits. Its twin is `low/secp256k1_ffi.rs`,
//! with the same names.
//!
//! Secrets decide about no branch and no address on any instruction set: nothing here needs the
//! carry of an addition, of which a compiler makes a branch on Xtensa.

// On Xtensa products are those of `low::xtensa`, and the portable ones are not used.
#[cfg_attr(target_arch = "xtensa", allow(dead_code, unused_imports))]
mod field;
mod generator;
#[cfg_attr(target_arch = "xtensa", allow(dead_code))]
mod limbs;
mod point;
mod scalar;

use field::Field;
use point::{Affine, Jacobian};
use scalar::Scalar;
use zeroize::Zeroize as _;

use super::super::sha256::Hasher;

/// SHA-256 of the tags `BIP0340/aux`, `BIP0340/nonce` and `BIP0340/challenge`.
const AUX_TAG: [u8; 32] = [
    0xf1, 0xef, 0x4e, 0x5e, 0xc0, 0x63, 0xca, 0xda, 0x6d, 0x94, 0xca, 0xfa, 0x9d, 0x98, 0x7e, 0xa0,
    0x69, 0x26, 0x58, 0x39, 0xec, 0xc1, 0x1f, 0x97, 0x2d, 0x77, 0xa5, 0x2e, 0xd8, 0xc1, 0xcc, 0x90,
];
const NONCE_TAG: [u8; 32] = [
    0x07, 0x49, 0x77, 0x34, 0xa7, 0x9b, 0xcb, 0x35, 0x5b, 0x9b, 0x8c, 0x7d, 0x03, 0x4f, 0x12, 0x1c,
    0xf4, 0x34, 0xd7, 0x3e, 0xf7, 0x2d, 0xda, 0x19, 0x87, 0x00, 0x61, 0xfb, 0x52, 0xbf, 0xeb, 0x2f,
];
const CHALLENGE_TAG: [u8; 32] = [
    0x7b, 0xb5, 0x2d, 0x7a, 0x9f, 0xef, 0x58, 0x32, 0x3e, 0xb1, 0xbf, 0x7a, 0x40, 0x7d, 0xb3, 0x82,
    0xd2, 0xf3, 0xf2, 0xd8, 0x1b, 0xb1, 0x22, 0x4f, 0x49, 0xfe, 0x51, 0x8f, 0x6d, 0x48, 0xd3, 0x7c,
];

/// Returns true for a secret key: big-endian, in `1..n`.
pub(crate) fn is_secret_key(secret: &[u8; 32]) -> bool {
    Scalar::is_canonical(secret)
}

/// A point with an even y, decompressed.
#[derive(Clone, Copy)]
pub(crate) struct Point(Affine);

impl Point {
    /// lift_x of BIP-340: `None` if `x` is not below p, or no point has it.
    pub(crate) fn lift_x(x: &[u8; 32]) -> Option<Self> {
        Affine::lift_x(Field::from_bytes(x)?).map(Self)
    }

    /// Writes the x-coordinate of secret * self. The caller has checked `secret`.
    pub(crate) fn multiply_x(&self, secret: &[u8; 32], x: &mut [u8; 32]) {
        let mut scalar = Scalar::reduce(secret);
        *x = Jacobian::multiply(&self.0, &scalar).to_affine_x().to_bytes();
        scalar.zeroize();
    }

    /// Writes the x-coordinate of secret * P, where P has the x-coordinate `public`. `None` if
    /// lift_x is. The caller has checked `secret`.
    pub(crate) fn multiply_x_of(
        public: &[u8; 32],
        secret: &[u8; 32],
        x: &mut [u8; 32],
    ) -> Option<()> {
        let public = Field::from_bytes(public)?;
        let mut scalar = Scalar::reduce(secret);
        let product = Jacobian::multiply_x(&public, &scalar);
        scalar.zeroize();
        *x = product?.to_bytes();
        Some(())
    }

    /// Verifies a signature of `message` (BIP-340). Returns true if it is valid.
    pub(crate) fn verify(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        let [r, s] = signature.as_chunks::<32>().0 else { return false };
        if Field::from_bytes(r).is_none() {
            return false;
        }
        let scalar = Scalar::reduce(s);
        if scalar.to_bytes() != *s {
            return false;
        }
        // R = s · G - e · P.
        let minus_e = challenge(r, &self.0, message).negate();
        let mut sum = Jacobian::NEUTRAL;
        if !scalar.is_zero() {
            sum = generator::multiply(&scalar);
        }
        if !minus_e.is_zero() {
            sum = sum.add_any(&Jacobian::multiply(&self.0, &minus_e).to_affine());
        }
        let point = sum.to_affine();
        !sum.is_neutral() && point.y.lowest_bit() == 0 && point.x.to_bytes() == *r
    }
}

/// A secret key and its point. The secret is that of the point with an even y.
pub(crate) struct KeyPair {
    secret: Scalar,
    public: Affine,
}

impl Drop for KeyPair {
    fn drop(&mut self) {
        self.secret.zeroize();
    }
}

impl KeyPair {
    /// Returns the pair of `secret`, which the caller has checked.
    pub(crate) fn new(secret: &[u8; 32]) -> Self {
        let mut scalar = Scalar::reduce(secret);
        let (public, secret) = generator::key_pair(&scalar);
        scalar.zeroize();
        Self { secret, public }
    }

    /// Returns the public key, and its x-coordinate.
    pub(crate) fn public(&self) -> (Point, [u8; 32]) {
        (Point(self.public), self.public.x.to_bytes())
    }

    /// Returns a signature (BIP-340), with `aux` as the auxiliary random data.
    pub(crate) fn sign(&self, message: &[u8], aux: &[u8; 32]) -> [u8; 64] {
        let mut masked = self.secret.to_bytes();
        for (byte, mask) in masked.iter_mut().zip(tagged(&AUX_TAG, &[aux])) {
            *byte ^= mask;
        }
        let public = self.public.x.to_bytes();
        let mut hash = tagged(&NONCE_TAG, &[&masked, &public, message]);
        let mut number = Scalar::reduce(&hash);
        // It is zero with a probability of 2^-256.
        let (point, mut nonce) = generator::key_pair(&number);
        let r = point.x.to_bytes();
        let e = challenge(&r, &self.public, message);
        let mut product = e.mul(&self.secret);
        let s = nonce.add(&product).to_bytes();
        masked.zeroize();
        hash.zeroize();
        number.zeroize();
        nonce.zeroize();
        product.zeroize();
        let mut signature = [0; 64];
        signature[..32].copy_from_slice(&r);
        signature[32..].copy_from_slice(&s);
        signature
    }
}

/// Returns the number e of a signature.
fn challenge(r: &[u8; 32], public: &Affine, message: &[u8]) -> Scalar {
    Scalar::reduce(&tagged(&CHALLENGE_TAG, &[r, &public.x.to_bytes(), message]))
}

/// Returns the tagged hash of BIP-340.
fn tagged(tag: &[u8; 32], parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Hasher::new();
    hasher.update(tag);
    hasher.update(tag);
    parts.iter().for_each(|part| hasher.update(part));
    hasher.finish()
}
