//! ML-KEM-768 (FIPS 203), a key encapsulation that resists quantum computers.

use alloc::boxed::Box;
use core::fmt;

use base16ct::HexDisplay;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::mid::backend;
use crate::random::{Random, RandomError};

/// Length of an encapsulation key in bytes.
pub const PUBLIC_LEN: usize = 1184;
/// Length of a ciphertext in bytes.
pub const CIPHERTEXT_LEN: usize = 1088;
/// Modulus q of the coefficients (FIPS 203, 2.3).
const Q: u16 = 3329;

crate::secret_bytes! {
    /// d || z, from which the key pair follows (ML-KEM.KeyGen_internal).
    pub struct Seed[64];
}

crate::secret_bytes! {
    /// Secret that both sides share after encapsulation.
    pub struct SharedSecret[32];
}

impl Seed {
    /// Draws a new seed of 64 bytes (d and z of FIPS 203) from `random`.
    ///
    /// # Errors
    /// [`RandomError`] if the source fails.
    pub fn generate(random: &mut impl Random) -> Result<Self, RandomError> {
        Self::try_init_with(|bytes| random.fill(bytes))
    }
}

/// A decapsulation key (FIPS 203) that was expanded from its seed. Wiped when dropped.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct SecretKey {
    seed: Seed,
    secret: Box<backend::MlKem768Secret>,
}

impl ZeroizeOnDrop for SecretKey {}

impl SecretKey {
    /// Expands a seed to its decapsulation key.
    #[must_use]
    pub fn from_seed(seed: Seed) -> Self {
        let secret = Box::new(backend::MlKem768Secret::from_seed(seed.expose_secret()));
        Self { seed, secret }
    }

    /// The seed from which the key was made, for storage.
    #[must_use]
    pub fn seed(&self) -> &Seed {
        &self.seed
    }

    /// The encapsulation key, which others use to send a shared secret to this key.
    #[must_use]
    #[allow(clippy::missing_panics_doc, clippy::expect_used)]
    pub fn public_key(&self) -> PublicKey {
        PublicKey::from_bytes(&self.secret.public())
            .expect("a made key has its coefficients below q")
    }

    /// ML-KEM.Decaps: the secret of `ciphertext`. A ciphertext that was not made for this key gives
    /// a pseudo-random secret (implicit rejection), so the caller MUST confirm the key otherwise.
    #[must_use]
    pub fn decapsulate(&self, ciphertext: &[u8; CIPHERTEXT_LEN]) -> SharedSecret {
        SharedSecret::init_with(|out| self.secret.decapsulate(ciphertext, out))
    }
}

/// An encapsulation key whose coefficients are below q (FIPS 203, 7.2).
pub struct PublicKey {
    bytes: Box<[u8; PUBLIC_LEN]>,
    public: Box<backend::MlKem768Public>,
}

impl PublicKey {
    /// Makes an encapsulation key of its encoding, which must be valid (FIPS 203, 7.2).
    ///
    /// # Errors
    /// [`InvalidPublicKey`] if a coefficient is not below q.
    pub fn from_bytes(bytes: &[u8; PUBLIC_LEN]) -> Result<Self, InvalidPublicKey> {
        // The modulus check of FIPS 203, 7.2: 12 bits a coefficient, two in three bytes.
        let reduced = bytes[..PUBLIC_LEN - 32].chunks_exact(3).all(|c| {
            let (a, b, c) = (u16::from(c[0]), u16::from(c[1]), u16::from(c[2]));
            (a | (b & 0x0f) << 8) < Q && (b >> 4 | c << 4) < Q
        });
        if !reduced {
            return Err(InvalidPublicKey);
        }
        let public = backend::MlKem768Public::new(bytes).ok_or(InvalidPublicKey)?;
        Ok(Self { bytes: Box::new(*bytes), public: Box::new(public) })
    }

    /// The encoding of the encapsulation key (FIPS 203), which is the form that is sent.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; PUBLIC_LEN] {
        &self.bytes
    }

    /// ML-KEM.Encaps: a fresh secret, and the ciphertext that carries it.
    ///
    /// # Errors
    /// [`RandomError`] if the source fails.
    pub fn encapsulate(
        &self,
        random: &mut impl Random,
        ciphertext: &mut [u8; CIPHERTEXT_LEN],
    ) -> Result<SharedSecret, RandomError> {
        let mut m = [0; 32];
        random.fill(&mut m)?;
        let secret = self.encapsulate_with(&m, ciphertext);
        m.zeroize();
        Ok(secret)
    }

    /// ML-KEM.Encaps_internal(ek, m), exported under `hazmat`.
    pub(crate) fn encapsulate_with(
        &self,
        m: &[u8; 32],
        ciphertext: &mut [u8; CIPHERTEXT_LEN],
    ) -> SharedSecret {
        SharedSecret::init_with(|out| self.public.encapsulate(m, ciphertext, out))
    }
}

impl Clone for PublicKey {
    #[allow(clippy::expect_used)]
    fn clone(&self) -> Self {
        Self::from_bytes(&self.bytes).expect("these bytes were a key before")
    }
}

impl PartialEq for PublicKey {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for PublicKey {}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mlkem768::PublicKey({:x}…)", HexDisplay(&self.bytes[..8]))
    }
}

/// A coefficient of the key is not below q.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidPublicKey;

impl fmt::Display for InvalidPublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the ML-KEM-768 key has a coefficient that is not reduced")
    }
}

impl core::error::Error for InvalidPublicKey {}
