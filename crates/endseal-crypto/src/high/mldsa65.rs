//! ML-DSA-65 (FIPS 204): signatures that a quantum computer does not forge.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use base16ct::HexDisplay;
use zeroize::ZeroizeOnDrop;

use crate::mid::{backend, mldsa65_sign::MlDsa65Secret};
use crate::random::{Random, RandomError};
use crate::secret::Zeroizing;

/// Length of a public key in bytes.
pub const PUBLIC_LEN: usize = 1952;
/// Length of a signature in bytes.
pub const SIGNATURE_LEN: usize = 3309;
/// Length of the longest context in bytes.
pub const CONTEXT_MAX: usize = 255;
/// Length of a `SubjectPublicKeyInfo` in bytes.
pub const SPKI_LEN: usize = SPKI_PREFIX.len() + PUBLIC_LEN;

/// Bytes before the key in its `SubjectPublicKeyInfo` (RFC 9881): two sequences, the object
/// identifier 2.16.840.1.101.3.4.3.18 without parameters, a bit string without unused bits.
const SPKI_PREFIX: [u8; 22] = [
    0x30, 0x82, 0x07, 0xb2, 0x30, 0x0b, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x03,
    0x12, 0x03, 0x82, 0x07, 0xa1, 0x00,
];

crate::secret_bytes! {
    /// xi, from which the key pair follows (ML-DSA.KeyGen_internal).
    pub struct Seed[32];
}

impl Seed {
    /// Draws a new seed of 32 bytes (xi of FIPS 204) from `random`.
    ///
    /// # Errors
    /// [`RandomError`] if the source fails.
    pub fn generate(random: &mut impl Random) -> Result<Self, RandomError> {
        Self::try_init_with(|bytes| random.fill(bytes))
    }
}

/// An ML-DSA-65 key (FIPS 204) that signs, with its public key. Wiped when dropped.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct SigningKey {
    seed: Seed,
    secret: MlDsa65Secret,
    public: PublicKey,
}

impl ZeroizeOnDrop for SigningKey {}

impl SigningKey {
    /// The key of a seed. Takes about 0.1 ms.
    #[must_use]
    pub fn from_seed(seed: Seed) -> Self {
        let secret = MlDsa65Secret::from_seed(seed.expose_secret());
        let mut public = Box::new([0; PUBLIC_LEN]);
        secret.public(&mut public);
        Self { seed, secret, public: PublicKey(public) }
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

    /// ML-DSA.Sign: the hedged signature of `message` under `context`. Two signatures of one
    /// message differ.
    ///
    /// The caller MUST give each kind of message its own context, unless a standard that the caller
    /// implements separates them in another way (in TLS 1.3 the context is empty).
    ///
    /// # Errors
    /// [`SignError`].
    pub fn sign(
        &self,
        message: &[u8],
        context: &[u8],
        random: &mut impl Random,
    ) -> Result<Signature, SignError> {
        let mut rnd = Zeroizing::new([0; 32]);
        random.fill(&mut rnd[..]).map_err(|RandomError { .. }| SignError::Random)?;
        self.sign_with(message, context, &rnd)
    }

    pub(crate) fn sign_with(
        &self,
        message: &[u8],
        context: &[u8],
        rnd: &[u8; 32],
    ) -> Result<Signature, SignError> {
        if context.len() > CONTEXT_MAX {
            return Err(SignError::ContextTooLong);
        }
        let mut signature = Box::new([0; SIGNATURE_LEN]);
        self.secret.sign(message, context, rnd, &mut signature);
        Ok(Signature(signature))
    }
}

/// A key that signs by AWS-LC, hedged by AWS-LC's own generator: several times as fast as
/// [`SigningKey`], for handshakes. A caller who supplies the randomness uses [`SigningKey`].
#[cfg(feature = "aws-lc")]
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct SystemSigningKey(crate::low::mldsa65_ffi::Key);

// `EVP_PKEY_free` wipes the key.
#[cfg(feature = "aws-lc")]
impl ZeroizeOnDrop for SystemSigningKey {}

#[cfg(feature = "aws-lc")]
impl SystemSigningKey {
    /// The key of a seed. Takes about 0.1 ms.
    ///
    /// # Errors
    /// [`SignError::System`] if memory is exhausted.
    pub fn from_seed(seed: &Seed) -> Result<Self, SignError> {
        let key = crate::low::mldsa65_ffi::Key::from_seed(seed.expose_secret());
        key.map(Self).ok_or(SignError::System)
    }

    /// Signs `message` under `context` as [`SigningKey::sign`] does.
    ///
    /// # Errors
    /// [`SignError::ContextTooLong`]; [`SignError::System`] if memory or randomness is exhausted.
    pub fn sign(&self, message: &[u8], context: &[u8]) -> Result<Signature, SignError> {
        if context.len() > CONTEXT_MAX {
            return Err(SignError::ContextTooLong);
        }
        let mut signature = Box::new([0; SIGNATURE_LEN]);
        self.0.sign(message, context, &mut signature).ok_or(SignError::System)?;
        Ok(Signature(signature))
    }
}

/// A public key. Every string of [`PUBLIC_LEN`] bytes is one.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PublicKey(Box<[u8; PUBLIC_LEN]>);

impl PublicKey {
    /// Takes any bytes of this length; verification judges signatures, not keys.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; PUBLIC_LEN]) -> Self {
        Self(Box::new(*bytes))
    }

    /// The encoding of the public key (FIPS 204, pkEncode).
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; PUBLIC_LEN] {
        &self.0
    }

    /// The key of a `SubjectPublicKeyInfo` in DER (RFC 9881).
    ///
    /// # Errors
    /// [`InvalidSpki`] if it is anything but the one encoding of an ML-DSA-65 key.
    pub fn from_spki(der: &[u8]) -> Result<Self, InvalidSpki> {
        let key = der.strip_prefix(&SPKI_PREFIX).ok_or(InvalidSpki)?;
        key.try_into().map(Self::from_bytes).map_err(|_| InvalidSpki)
    }

    /// The `SubjectPublicKeyInfo` in DER (RFC 9881), [`SPKI_LEN`] bytes.
    #[must_use]
    pub fn to_spki(&self) -> Vec<u8> {
        let mut der = vec![0; SPKI_LEN];
        let (prefix, key) = der.split_at_mut(SPKI_PREFIX.len());
        prefix.copy_from_slice(&SPKI_PREFIX);
        key.copy_from_slice(&self.0[..]);
        der
    }

    /// ML-DSA.Verify: checks a signature of `message` under `context`.
    ///
    /// # Errors
    /// [`BadSignature`], also for a context that is too long to have been signed.
    pub fn verify(
        &self,
        message: &[u8],
        context: &[u8],
        signature: &Signature,
    ) -> Result<(), BadSignature> {
        let right = context.len() <= CONTEXT_MAX
            && backend::MlDsa65Public::new(&self.0).verify(message, context, &signature.0);
        if right { Ok(()) } else { Err(BadSignature) }
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mldsa65::PublicKey({:x}…)", HexDisplay(&self.0[..8]))
    }
}

/// An ML-DSA-65 signature in its encoding (FIPS 204), verified or not.
#[derive(Clone, PartialEq, Eq)]
pub struct Signature(Box<[u8; SIGNATURE_LEN]>);

impl Signature {
    /// Takes any bytes of this length; verification judges them.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; SIGNATURE_LEN]) -> Self {
        Self(Box::new(*bytes))
    }

    /// The encoding of the signature (FIPS 204, sigEncode).
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; SIGNATURE_LEN] {
        &self.0
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mldsa65::Signature({:x}…)", HexDisplay(&self.0[..8]))
    }
}

/// Error of signing: the reason why there is no signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SignError {
    /// The context has more than 255 bytes.
    ContextTooLong,
    /// The source of randomness failed.
    Random,
    /// Memory is exhausted, or the library's own generator failed.
    System,
}

impl fmt::Display for SignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ContextTooLong => "the context of a signature has more than 255 bytes",
            Self::Random => "the source of randomness failed",
            Self::System => "the system has no memory or no randomness left",
        })
    }
}

impl core::error::Error for SignError {}

/// The bytes are not the `SubjectPublicKeyInfo` of an ML-DSA-65 key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidSpki;

impl fmt::Display for InvalidSpki {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not the SubjectPublicKeyInfo of an ML-DSA-65 key")
    }
}

impl core::error::Error for InvalidSpki {}

/// The signature is not one of this key, message and context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BadSignature;

impl fmt::Display for BadSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the signature is wrong")
    }
}

impl core::error::Error for BadSignature {}
