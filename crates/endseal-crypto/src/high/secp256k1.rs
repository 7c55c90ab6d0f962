//! secp256k1 (SEC 2): agreement on an x-coordinate, and the Schnorr signatures of BIP-340.
//!
//! A public key is the x-coordinate of its point, of the two points with it the one with an even y
//! (lift_x of BIP-340). Agreement gives an x-coordinate, which is the same for both points.

use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};

use base16ct::HexDisplay;
use subtle::{Choice, ConstantTimeEq};
use zeroize::ZeroizeOnDrop;

use crate::mid::secp256k1::backend;
use crate::random::{Random, RandomError};
use crate::secret::declassify;

/// A secret key: a number in `1..n`, big-endian. Held inline and wiped when dropped; a move leaves
/// a copy behind.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct SecretKey(Scalar);

impl ZeroizeOnDrop for SecretKey {}

impl SecretKey {
    /// Length of a secret key in bytes.
    pub const LEN: usize = 32;

    /// Checks and copies a secret key, whose bytes the caller MUST wipe.
    ///
    /// # Errors
    /// [`InvalidSecretKey`] if it is zero, or not below n.
    pub fn from_bytes(bytes: &[u8; 32]) -> Result<Self, InvalidSecretKey> {
        if declassify(backend::is_secret_key(bytes)) {
            Ok(Self(Scalar::from_bytes(bytes)))
        } else {
            Err(InvalidSecretKey)
        }
    }

    /// Draws a new secret key in `1..n` from `random`.
    ///
    /// # Errors
    /// [`RandomError`] if the source fails, or gives no number in `1..n`, which a source of
    /// randomness does with a probability below 2^-127.
    pub fn generate(random: &mut impl Random) -> Result<Self, RandomError> {
        let scalar = Scalar::try_init_with(|bytes| random.fill(bytes))?;
        let is_in_range = declassify(backend::is_secret_key(scalar.expose_secret()));
        if is_in_range { Ok(Self(scalar)) } else { Err(RandomError) }
    }

    /// The bytes. The caller MUST NOT print, log or compare them with `==`.
    #[must_use]
    pub fn expose_secret(&self) -> &[u8; 32] {
        self.0.expose_secret()
    }

    /// The x-coordinate of secret * G. A [`SigningKey`] keeps it.
    #[must_use]
    pub fn public_key(&self) -> PublicKey {
        PublicKey::of(&backend::KeyPair::new(self.expose_secret()))
    }

    /// The x-coordinate of secret * public: what the other side computes with the keys exchanged.
    /// It does not hash.
    #[must_use]
    pub fn ecdh_x(&self, public: &PublicKey) -> SharedX {
        SharedX::init_with(|x| public.point.multiply_x(self.expose_secret(), x))
    }

    /// Returns the x-coordinate of secret * public for the bytes of a public key, as
    /// [`ecdh_x`](Self::ecdh_x) does for a checked one. Without std this saves a tenth of the work
    /// of checking a key that is used for this agreement only.
    ///
    /// # Errors
    /// [`InvalidPublicKey`] if the number is not below p, or no point has this x-coordinate.
    pub fn ecdh_x_of_bytes(&self, public: &[u8; 32]) -> Result<SharedX, InvalidPublicKey> {
        SharedX::try_init_with(|x| {
            let done = backend::Point::multiply_x_of(public, self.expose_secret(), x);
            done.ok_or(InvalidPublicKey)
        })
    }
}

impl ConstantTimeEq for SecretKey {
    fn ct_eq(&self, other: &Self) -> Choice {
        self.0.ct_eq(&other.0)
    }
}

impl PartialEq for SecretKey {
    fn eq(&self, other: &Self) -> bool {
        self.ct_eq(other).into()
    }
}

impl Eq for SecretKey {}

crate::secret_bytes! {
    /// The number of a secret key.
    inline struct Scalar[32];
}

crate::secret_bytes! {
    /// The outcome of an agreement: an x-coordinate, big-endian, not a uniform key. The caller MUST
    /// hash it before use. Held inline and wiped when dropped; a move leaves a copy behind.
    pub inline struct SharedX[32];
}

/// A secret key that signs: its public key is computed once.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct SigningKey {
    secret: SecretKey,
    pair: backend::KeyPair,
    public: PublicKey,
}

impl ZeroizeOnDrop for SigningKey {}

impl SigningKey {
    /// Computes the public key once, so that later signatures need not.
    #[must_use]
    pub fn new(secret: SecretKey) -> Self {
        let pair = backend::KeyPair::new(secret.expose_secret());
        let public = PublicKey::of(&pair);
        Self { secret, pair, public }
    }

    /// The secret key, to store it and to agree.
    #[must_use]
    pub fn secret_key(&self) -> &SecretKey {
        &self.secret
    }

    /// The public key (x-only, BIP-340) that verifies signatures of this key.
    #[must_use]
    pub fn public_key(&self) -> &PublicKey {
        &self.public
    }

    /// The signature of `message` (BIP-340), R.x || s.
    ///
    /// `aux` SHOULD be 32 random bytes: with them a fault in one of two signatures of a message
    /// does not reveal the key. With equal bytes the signature is deterministic, which is secure
    /// otherwise. The caller MUST take a 32-byte digest as the `message`, or begin it with a label,
    /// so that no signature of one kind can stand for another.
    #[must_use]
    pub fn sign(&self, message: &[u8], aux: &[u8; 32]) -> [u8; 64] {
        self.pair.sign(message, aux)
    }
}

/// A public key: an x-coordinate below p of a point on the curve. The point is kept, so that
/// nothing decompresses it again.
#[derive(Clone, Copy)]
pub struct PublicKey {
    x: [u8; 32],
    point: backend::Point,
}

impl PublicKey {
    /// Length of an x-only public key in bytes.
    pub const LEN: usize = 32;

    /// Checks a key, and decompresses its point.
    ///
    /// # Errors
    /// [`InvalidPublicKey`] if it is not below p, or no point has this x-coordinate.
    pub fn from_bytes(x: &[u8; 32]) -> Result<Self, InvalidPublicKey> {
        let point = backend::Point::lift_x(x).ok_or(InvalidPublicKey)?;
        Ok(Self { x: *x, point })
    }

    fn of(pair: &backend::KeyPair) -> Self {
        let (point, x) = pair.public();
        Self { x, point }
    }

    /// The x-coordinate of the point, big-endian, as BIP-340 encodes a public key.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; 32] {
        self.x
    }

    /// Checks a signature of `message` (BIP-340). The time depends on all three, which are public.
    ///
    /// # Errors
    /// [`InvalidSignature`] for every reason: a wrong length, encoding, key, message or signature.
    pub fn verify(&self, message: &[u8], signature: &[u8; 64]) -> Result<(), InvalidSignature> {
        if self.point.verify(message, signature) { Ok(()) } else { Err(InvalidSignature) }
    }
}

impl PartialEq for PublicKey {
    fn eq(&self, other: &Self) -> bool {
        self.x == other.x
    }
}

impl Eq for PublicKey {}

impl PartialOrd for PublicKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for PublicKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.x.cmp(&other.x)
    }
}

impl Hash for PublicKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.x.hash(state);
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "secp256k1::PublicKey({:x})", HexDisplay(&self.x))
    }
}

/// The bytes are zero, or a number that is not below n.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidSecretKey;

impl fmt::Display for InvalidSecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the secret key is zero or not below the order of the curve")
    }
}

impl core::error::Error for InvalidSecretKey {}

/// The bytes are not the x-coordinate of a point: a typing error, or another kind of key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidPublicKey;

impl fmt::Display for InvalidPublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the public key is not the x-coordinate of a point on the curve")
    }
}

impl core::error::Error for InvalidPublicKey {}

/// The signature is not one of this key and message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidSignature;

impl fmt::Display for InvalidSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the signature is wrong")
    }
}

impl core::error::Error for InvalidSignature {}
