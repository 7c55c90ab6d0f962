//! RSAES-OAEP (RFC 8017, 7.1) with SHA-256 for the label and for MGF1, for keys that others manage.
//!
//! Not against quantum computers, and 100 times slower to open than to make: new uses take
//! [`key_wrap`](crate::key_wrap) or an envelope. Feature `std`: no implementation without it has
//! constant time.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::ops::RangeInclusive;

use aws_lc_rs::encoding::{AsDer as _, PublicKeyX509Der};
use aws_lc_rs::rsa::{
    OAEP_SHA256_MGF1SHA256, OaepPrivateDecryptingKey, OaepPublicEncryptingKey,
    PrivateDecryptingKey, PublicEncryptingKey,
};

use crate::secret::Zeroizing;
use crate::segment::AuthenticationFailed;

/// Lengths of the modulus in bits.
pub const BITS: RangeInclusive<usize> = 2048..=4096;

/// Number of the modulus' bytes that OAEP with SHA-256 takes.
const OVERHEAD: usize = 2 * 32 + 2;

/// A key that opens. AWS-LC wipes it.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct PrivateKey {
    own: OaepPrivateDecryptingKey,
    public: PublicKey,
}

impl PrivateKey {
    /// Reads a `PrivateKeyInfo` (PKCS#8, RFC 5208) in DER, which the caller MUST wipe.
    ///
    /// # Errors
    /// [`InvalidRsaKey`] if the bytes are not such a key, its parts contradict each other, or its
    /// length is not one of [`BITS`].
    pub fn from_pkcs8(der: &[u8]) -> Result<Self, InvalidRsaKey> {
        let key = PrivateDecryptingKey::from_pkcs8(der).map_err(|_| InvalidRsaKey)?;
        let spki: PublicKeyX509Der<'_> = key.public_key().as_der().map_err(|_| InvalidRsaKey)?;
        // From its encoding: a public key that is taken from the private one still holds it.
        let public = PublicKey::from_spki(spki.as_ref())?;
        let own = OaepPrivateDecryptingKey::new(key).map_err(|_| InvalidRsaKey)?;
        Ok(Self { own, public })
    }

    /// The public key, whose ciphertexts this key opens.
    #[must_use]
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// Opens a ciphertext that [`PublicKey::encrypt`] made with the same label.
    ///
    /// # Errors
    /// [`AuthenticationFailed`] for everything that does not open. OAEP hides the plaintext but
    /// proves no sender: every holder of the public key can make a ciphertext that opens.
    pub fn decrypt(
        &self,
        label: &[u8],
        ciphertext: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, AuthenticationFailed> {
        if ciphertext.len() != self.own.key_size_bytes() {
            return Err(AuthenticationFailed);
        }
        let mut out = Zeroizing::new(vec![0; self.own.min_output_size()]);
        let len = self
            .own
            .decrypt(&OAEP_SHA256_MGF1SHA256, ciphertext, &mut out, Some(label))
            .map_err(|_| AuthenticationFailed)?
            .len();
        out.truncate(len);
        Ok(out)
    }
}

/// An RSA public key that encrypts short secrets with OAEP.
pub struct PublicKey {
    own: OaepPublicEncryptingKey,
    spki: Vec<u8>,
}

impl PublicKey {
    /// Reads a `SubjectPublicKeyInfo` (RFC 5280) in DER.
    ///
    /// # Errors
    /// [`InvalidRsaKey`] if the bytes are not such a key, or its length is not one of [`BITS`].
    pub fn from_spki(der: &[u8]) -> Result<Self, InvalidRsaKey> {
        let key = PublicEncryptingKey::from_der(der).map_err(|_| InvalidRsaKey)?;
        if !BITS.contains(&key.key_size_bits()) {
            return Err(InvalidRsaKey);
        }
        let spki: PublicKeyX509Der<'_> = key.as_der().map_err(|_| InvalidRsaKey)?;
        let spki = spki.as_ref().to_vec();
        let own = OaepPublicEncryptingKey::new(key).map_err(|_| InvalidRsaKey)?;
        Ok(Self { own, spki })
    }

    /// The `SubjectPublicKeyInfo` of the key in DER (RFC 5280), for storage or for a fingerprint.
    #[must_use]
    pub fn spki(&self) -> &[u8] {
        &self.spki
    }

    /// Length in bytes of a ciphertext of [`Self::encrypt`], which is that of the modulus.
    #[must_use]
    pub fn ciphertext_len(&self) -> usize {
        self.own.ciphertext_size()
    }

    /// Seals `plaintext`, which has at most [`Self::ciphertext_len`] - 66 bytes. `label` is bound,
    /// not sent.
    ///
    /// AWS-LC takes no source of randomness here: the seed of OAEP comes from its own generator,
    /// the same that [`OsRandom`](crate::random::OsRandom) reads.
    ///
    /// # Errors
    /// [`EncryptError`].
    pub fn encrypt(&self, label: &[u8], plaintext: &[u8]) -> Result<Vec<u8>, EncryptError> {
        if plaintext.len() > self.ciphertext_len() - OVERHEAD {
            return Err(EncryptError::TooLong);
        }
        let mut out = vec![0; self.ciphertext_len()];
        self.own
            .encrypt(&OAEP_SHA256_MGF1SHA256, plaintext, &mut out, Some(label))
            .map_err(|_| EncryptError::Random)?;
        Ok(out)
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rsa_oaep::PublicKey({} bits)", self.own.key_size_bits())
    }
}

/// Error: the bytes are not an RSA key, or the key has a length that is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidRsaKey;

impl fmt::Display for InvalidRsaKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not an RSA key of {} to {} bits", BITS.start(), BITS.end())
    }
}

impl core::error::Error for InvalidRsaKey {}

/// Error of encryption: the reason why there is no ciphertext.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncryptError {
    /// The source of randomness failed.
    Random,
    /// The plaintext is longer than OAEP with this modulus allows.
    TooLong,
}

impl fmt::Display for EncryptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Random => "the source of randomness failed",
            Self::TooLong => "more than an RSA key of this length can seal",
        })
    }
}

impl core::error::Error for EncryptError {}
