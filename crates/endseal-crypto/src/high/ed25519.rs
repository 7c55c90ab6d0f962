//! Ed25519 (RFC 8032): signing, and verification with the cofactor.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use base16ct::HexDisplay;
use curve25519_dalek::edwards::EdwardsPoint;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::mid::{backend, ed25519_verify, x25519_batch};
use crate::random::{Random, RandomError};
use crate::x25519;

crate::secret_bytes! {
    /// The secret key of RFC 8032, from which everything else follows.
    pub struct Seed[32];
}

impl Seed {
    /// Draws a new seed of 32 bytes from `random`.
    ///
    /// # Errors
    /// [`RandomError`] if the source fails.
    pub fn generate(random: &mut impl Random) -> Result<Self, RandomError> {
        Self::try_init_with(|bytes| random.fill(bytes))
    }
}

/// An Ed25519 key (RFC 8032) that signs, with its seed and its public key. Wiped when dropped.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct SigningKey {
    seed: Seed,
    secret: Box<backend::Ed25519Secret>,
    public: PublicKey,
}

impl ZeroizeOnDrop for SigningKey {}

impl SigningKey {
    /// Expands a seed to its key and computes the public key.
    #[must_use]
    pub fn from_seed(seed: Seed) -> Self {
        let secret = Box::new(backend::Ed25519Secret::new(seed.expose_secret()));
        // A multiple of the base point by a clamped, nonzero scalar: canonical, not of low order.
        let public = PublicKey(secret.public());
        Self { seed, secret, public }
    }

    /// The seed from which the key was made, for storage.
    #[must_use]
    pub fn seed(&self) -> &Seed {
        &self.seed
    }

    /// The public key that verifies signatures of this key.
    #[must_use]
    pub fn public_key(&self) -> &PublicKey {
        &self.public
    }

    /// The signature of `message`. Deterministic.
    ///
    /// The caller MUST begin `message` with a label, so that no signature of one kind can stand for
    /// another.
    #[must_use]
    pub fn sign(&self, message: &[u8]) -> Signature {
        Signature(self.secret.sign(message))
    }

    /// The X25519 key of the same owner: `SHA-512(seed)[0..32]`, to be clamped.
    #[must_use]
    pub fn to_x25519(&self) -> x25519::SecretKey {
        let mut wide = backend::sha512(&[self.seed.expose_secret()]);
        let key = x25519::SecretKey::init_with(|out| out.copy_from_slice(&wide[..32]));
        wide.zeroize();
        key
    }
}

/// A public key: the canonical encoding of a point on the curve that is not of low order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    /// Length of an encoded public key in bytes.
    pub const LEN: usize = 32;

    /// Makes a public key of its encoding, and checks that it is canonical and not of low order.
    ///
    /// # Errors
    /// [`InvalidPublicKey`], which says what is wrong with it.
    pub fn from_bytes(bytes: &[u8; 32]) -> Result<Self, InvalidPublicKey> {
        VerifyingKey::from_bytes(bytes).map(|key| key.public)
    }

    /// Checks and takes many keys, for a fraction of the cost of one by one where the CPU has
    /// AVX-512 IFMA.
    ///
    /// # Errors
    /// The index of the first wrong key, and what is wrong with it.
    pub fn from_bytes_many(keys: &[[u8; 32]]) -> Result<Vec<Self>, (usize, InvalidPublicKey)> {
        match x25519_batch::first_invalid_key(keys) {
            None => Ok(keys.iter().map(|key| Self(*key)).collect()),
            // The batch says which; the reason is looked for once.
            Some(i) => match Self::from_bytes(&keys[i]) {
                Err(reason) => Err((i, reason)),
                // The two checks agree (tested); if ever not, the key is refused.
                Ok(_) => Err((i, InvalidPublicKey::NotOnCurve)),
            },
        }
    }

    /// Checks that keys are in the subgroup of prime order, for a fraction of the cost of one by
    /// one where the CPU has AVX-512 IFMA, or AVX2 and FMA.
    ///
    /// Keys outside the subgroup are valid nevertheless: signatures verify, and X25519 agrees. Up
    /// to eight of them belong to one secret key. The caller MUST refuse them where keys stand for
    /// people.
    ///
    /// # Errors
    /// The index of the first key outside the subgroup, and [`InvalidPublicKey::MixedOrder`].
    pub fn check_prime_order(keys: &[Self]) -> Result<(), (usize, InvalidPublicKey)> {
        let keys: Vec<_> = keys.iter().map(|key| key.0).collect();
        match x25519_batch::first_outside_subgroup(&keys) {
            None => Ok(()),
            Some(i) => Err((i, InvalidPublicKey::MixedOrder)),
        }
    }

    /// The 32-byte encoding of the key (RFC 8032, 5.1.2).
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The same key for X25519: `u = (1 + y) / (1 - y)`.
    #[must_use]
    pub fn to_x25519(&self) -> x25519::PublicKey {
        x25519::PublicKey::from_canonical(x25519_batch::edwards_to_montgomery(&[self.0])[0])
    }

    /// [`Self::to_x25519`] of many keys, with one inversion.
    #[must_use]
    pub fn to_x25519_many(keys: &[Self]) -> Vec<x25519::PublicKey> {
        let keys: Vec<_> = keys.iter().map(|key| key.0).collect();
        x25519_batch::edwards_to_montgomery(&keys)
            .into_iter()
            .map(x25519::PublicKey::from_canonical)
            .collect()
    }

    /// Takes a key together with a signature that it made, and checks both; decodes the key once.
    ///
    /// # Errors
    /// [`BadSignature`] if the key is no key, or the signature is not one of it and `message`.
    pub fn from_signed(
        bytes: &[u8; 32],
        message: &[u8],
        signature: &Signature,
    ) -> Result<Self, BadSignature> {
        let key = VerifyingKey::from_bytes(bytes).map_err(|_| BadSignature)?;
        key.verify(message, signature)?;
        Ok(key.public)
    }

    /// Checks a signature of `message` by this key (RFC 8032).
    ///
    /// # Errors
    /// [`BadSignature`].
    pub fn verify(&self, message: &[u8], signature: &Signature) -> Result<(), BadSignature> {
        Self::from_signed(&self.0, message, signature).map(drop)
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ed25519::PublicKey({:x})", HexDisplay(&self.0))
    }
}

/// A public key that is decoded, to verify with it more than once.
#[derive(Clone)]
pub struct VerifyingKey {
    public: PublicKey,
    point: EdwardsPoint,
}

impl VerifyingKey {
    /// Makes a verifying key of an encoding: checks it and decompresses the point.
    ///
    /// # Errors
    /// [`InvalidPublicKey`], which says what is wrong with it.
    pub fn from_bytes(bytes: &[u8; 32]) -> Result<Self, InvalidPublicKey> {
        if !ed25519_verify::is_canonical(bytes) {
            return Err(InvalidPublicKey::NotCanonical);
        }
        match ed25519_verify::decode_canonical(bytes) {
            None => Err(InvalidPublicKey::NotOnCurve),
            Some(_) if ed25519_verify::is_low_order(bytes) => Err(InvalidPublicKey::LowOrder),
            Some(point) => Ok(Self { public: PublicKey(*bytes), point }),
        }
    }

    /// The key as it is stored and compared.
    #[must_use]
    pub fn public_key(&self) -> &PublicKey {
        &self.public
    }

    /// Checks a signature of `message` by this key, without decompressing the point again.
    ///
    /// # Errors
    /// [`BadSignature`].
    pub fn verify(&self, message: &[u8], signature: &Signature) -> Result<(), BadSignature> {
        let signed = Signed { key: self, message, signature };
        if ed25519_verify::verify(&signed.parts()) { Ok(()) } else { Err(BadSignature) }
    }
}

impl fmt::Debug for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.public.fmt(f)
    }
}

/// A signature: R || S.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature([u8; 64]);

impl Signature {
    /// Length of a signature in bytes: R and S of 32 bytes each.
    pub const LEN: usize = 64;

    /// Takes any 64 bytes; verification judges them.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; 64]) -> Self {
        Self(*bytes)
    }

    /// The 64-byte encoding of the signature, R || S (RFC 8032).
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 64] {
        &self.0
    }
}

/// One signature of [`verify_many`] and [`verify_each`].
#[derive(Clone, Copy, Debug)]
#[allow(clippy::exhaustive_structs, reason = "a plain argument")]
pub struct Signed<'a> {
    /// Public key of the signer, with its point decompressed.
    pub key: &'a VerifyingKey,
    /// The message that was signed, whole and not hashed.
    pub message: &'a [u8],
    /// The signature of the message by the key, still to be verified.
    pub signature: &'a Signature,
}

impl<'a> Signed<'a> {
    fn parts(&self) -> ed25519_verify::Signed<'a> {
        ed25519_verify::Signed {
            public: &self.key.public.0,
            point: &self.key.point,
            message: self.message,
            signature: &self.signature.0,
        }
    }
}

/// Checks many signatures at about a third of the cost of one by one (a quarter if few keys
/// signed). The verdict is the same.
///
/// # Errors
/// [`BadSignature`] if any is wrong; [`verify_each`] says which.
pub fn verify_many(batch: &[Signed<'_>]) -> Result<(), BadSignature> {
    let batch: Vec<_> = batch.iter().map(Signed::parts).collect();
    if ed25519_verify::verify_many(&batch) { Ok(()) } else { Err(BadSignature) }
}

/// Verdict of each of many signatures, at about the cost of [`verify_many`] if all are right.
///
/// Wrong ones are found by halving. However many they are, the cost is at most 1.3 times that of
/// verification one by one, and two verifications.
#[must_use]
pub fn verify_each(batch: &[Signed<'_>]) -> Vec<bool> {
    let batch: Vec<_> = batch.iter().map(Signed::parts).collect();
    ed25519_verify::verify_each(&batch).0
}

/// Reason why bytes are not a public key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidPublicKey {
    /// One of the eight points of the torsion subgroup: agreement with it gives no secret.
    LowOrder,
    /// Outside the subgroup of prime order: the sum of a key and a point of low order.
    MixedOrder,
    /// The y-coordinate is not below p, or the sign of x = 0 is set.
    NotCanonical,
    /// No point has this y-coordinate: a typing error, or not an Ed25519 key at all.
    NotOnCurve,
}

impl fmt::Display for InvalidPublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LowOrder => "the public key is a point of low order",
            Self::MixedOrder => "the public key has a component of low order",
            Self::NotCanonical => "the public key is not canonically encoded",
            Self::NotOnCurve => "the public key is not a point on the curve",
        })
    }
}

impl core::error::Error for InvalidPublicKey {}

/// The signature is not one of this key and message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BadSignature;

impl fmt::Display for BadSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the signature is wrong")
    }
}

impl core::error::Error for BadSignature {}
