//! RSASSA-PKCS1-v1_5 (RFC 8017, 8.2) with SHA-256, for services that demand it: `RS256` of JSON Web
//! Signatures (RFC 7518, 3.3).
//!
//! New formats of our own use [`ed25519`](crate::ed25519). Feature `std`: no implementation without
//! it has constant time.

use alloc::vec;
use alloc::vec::Vec;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeyPair;
use aws_lc_rs::signature::RSA_PKCS1_SHA256;

use crate::random::RandomError;
use crate::rsa_oaep::{BITS, InvalidRsaKey};

/// An RSA private key that signs. AWS-LC wipes it.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct SigningKey(KeyPair);

impl SigningKey {
    /// Reads a `PrivateKeyInfo` (PKCS#8, RFC 5208) in DER, which the caller MUST wipe.
    ///
    /// # Errors
    /// [`InvalidRsaKey`] if the bytes are not such a key, its parts contradict each other, or its
    /// length is not one of [`BITS`].
    pub fn from_pkcs8(der: &[u8]) -> Result<Self, InvalidRsaKey> {
        let key = KeyPair::from_pkcs8(der).map_err(|_| InvalidRsaKey)?;
        if BITS.contains(&(key.public_modulus_len() * 8)) {
            Ok(Self(key))
        } else {
            Err(InvalidRsaKey)
        }
    }

    /// Returns the signature of `message`, which is as long as the modulus. The same message has
    /// the same signature.
    ///
    /// # Errors
    /// [`RandomError`] if there is no randomness to blind the key with.
    pub fn sign(&self, message: &[u8]) -> Result<Vec<u8>, RandomError> {
        let mut signature = vec![0; self.0.public_modulus_len()];
        let random = SystemRandom::new();
        self.0
            .sign(&RSA_PKCS1_SHA256, &random, message, &mut signature)
            .map_err(|_| RandomError)?;
        Ok(signature)
    }
}
