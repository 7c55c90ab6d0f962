//! The back end of `no_std`: k256. The twin is `low/secp256k1_ffi.rs`, with the same names.

use k256::elliptic_curve::ops::Reduce;
use k256::elliptic_curve::point::AffineCoordinates as _;
use k256::schnorr::{Signature, SigningKey, VerifyingKey};
use k256::{FieldBytes, NonZeroScalar, ProjectivePoint, Scalar};
use zeroize::Zeroize as _;

/// Returns true for a secret key: big-endian, in `1..n`.
pub(crate) fn is_secret_key(secret: &[u8; 32]) -> bool {
    NonZeroScalar::from_repr((*secret).into()).is_some().into()
}

/// A point with an even y, decompressed.
#[derive(Clone, Copy)]
pub(crate) struct Point(VerifyingKey);

impl Point {
    /// lift_x of BIP-340: `None` if `x` is not below p, or no point has it.
    pub(crate) fn lift_x(x: &[u8; 32]) -> Option<Self> {
        VerifyingKey::from_bytes(x.into()).ok().map(Self)
    }

    /// The x-coordinate of secret * self. The caller has checked `secret`.
    pub(crate) fn multiply_x(&self, secret: &[u8; 32], x: &mut [u8; 32]) {
        // It is below n already, so that this reduces nothing: unlike other ways in, it has no
        // verdict to branch on.
        let mut scalar = <Scalar as Reduce<FieldBytes>>::reduce(secret.into());
        let mut shared = (ProjectivePoint::from(*self.0.as_affine()) * scalar).to_affine();
        x.copy_from_slice(&shared.x());
        scalar.zeroize();
        shared.zeroize();
    }

    /// Verifies a signature of `message` (BIP-340). Returns true if it is valid.
    pub(crate) fn verify(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        Signature::from_bytes(signature)
            .is_ok_and(|signature| self.0.verify_raw(message, &signature).is_ok())
    }
}

/// A secret key and its point.
pub(crate) struct KeyPair(SigningKey);

impl KeyPair {
    /// The pair of `secret`, which the caller has checked.
    #[allow(clippy::expect_used)]
    pub(crate) fn new(secret: &[u8; 32]) -> Self {
        Self(SigningKey::from_bytes(secret.into()).expect("only a secret key out of range fails"))
    }

    /// The public key, and its x-coordinate.
    pub(crate) fn public(&self) -> (Point, [u8; 32]) {
        let public = self.0.verifying_key();
        (Point(*public), public.to_bytes().into())
    }

    /// Signing of BIP-340, with `aux` as the auxiliary random data.
    #[allow(clippy::expect_used)]
    pub(crate) fn sign(&self, message: &[u8], aux: &[u8; 32]) -> [u8; 64] {
        let signature = self.0.sign_raw(message, aux);
        signature.expect("a number is zero with a probability of 2^-256").to_bytes()
    }
}
