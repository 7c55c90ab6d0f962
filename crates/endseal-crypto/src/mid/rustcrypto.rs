//! The back end without AWS-LC, also for `no_std`: RustCrypto and dalek. The twin is `aws_lc`, with
//! the same names.

use alloc::boxed::Box;

use aes_gcm::aead::{AeadInOut, KeyInit};
use curve25519_dalek::MontgomeryPoint;
use ed25519_dalek::Signer;
use ml_dsa::MlDsa65;
use ml_kem::{Decapsulate as _, KeyExport as _};
use ml_kem::{DecapsulationKey, EncapsulationKey, MlKem768};
use sha2::{Digest as _, Sha512};

use crate::low::taint::declassify;

pub(crate) fn sha512(parts: &[&[u8]]) -> [u8; 64] {
    let mut hasher = Sha512::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize().into()
}

/// AES-GCM with 12-byte nonces. Boxed: the round keys are moved with what holds them. Only vectors
/// have keys of 16 bytes.
pub(crate) enum AesGcm {
    #[cfg(test)]
    Aes128(Box<aes_gcm::Aes128Gcm>),
    Aes256(Box<aes_gcm::Aes256Gcm>),
}

impl AesGcm {
    /// AES-256-GCM, in tests also AES-128-GCM, by the length of the key; `None` for other lengths.
    pub(crate) fn new(key: &[u8]) -> Option<Self> {
        match key.len() {
            #[cfg(test)]
            16 => aes_gcm::Aes128Gcm::new_from_slice(key).ok().map(Box::new).map(Self::Aes128),
            32 => aes_gcm::Aes256Gcm::new_from_slice(key).ok().map(Box::new).map(Self::Aes256),
            _ => None,
        }
    }

    /// `data` is bound, not sent. `out` is as long as `plaintext`, and the caller keeps both below
    /// the limit of the mode.
    pub(crate) fn seal_bound(
        &self,
        nonce: &[u8; 12],
        data: &[u8],
        plaintext: &[u8],
        out: &mut [u8],
        tag: &mut [u8; 16],
    ) {
        out.copy_from_slice(plaintext);
        *tag = self.seal_in_place(nonce, data, out);
    }

    /// Seals `buffer[from..]` into the beginning of `buffer`: the tag. Nothing behind that is
    /// written: plaintext moves there before.
    pub(crate) fn seal_within(
        &self,
        nonce: &[u8; 12],
        data: &[u8],
        buffer: &mut [u8],
        from: usize,
    ) -> [u8; 16] {
        let len = buffer.len() - from;
        buffer.copy_within(from.., 0);
        self.seal_in_place(nonce, data, &mut buffer[..len])
    }

    #[allow(clippy::expect_used)]
    fn seal_in_place(&self, nonce: &[u8; 12], data: &[u8], text: &mut [u8]) -> [u8; 16] {
        let made = match self {
            #[cfg(test)]
            Self::Aes128(aead) => aead.encrypt_inout_detached(nonce.into(), data, text.into()),
            Self::Aes256(aead) => aead.encrypt_inout_detached(nonce.into(), data, text.into()),
        };
        made.expect("a chunk is below 2^36 bytes, the only way to fail").into()
    }

    /// Opens `ciphertext` into `out` of the same length, which is all zero if the tag is wrong.
    pub(crate) fn open_bound(
        &self,
        nonce: &[u8; 12],
        data: &[u8],
        ciphertext: &[u8],
        tag: &[u8; 16],
        out: &mut [u8],
    ) -> Result<(), ()> {
        out.copy_from_slice(ciphertext);
        self.open_in_place(nonce, data, out, tag)
    }

    /// Opens `buffer[from..]` into the beginning of `buffer`. If the tag is wrong, the place of the
    /// content is zeroed. Nothing behind it is written: the bytes that move are ciphertext.
    pub(crate) fn open_within(
        &self,
        nonce: &[u8; 12],
        data: &[u8],
        buffer: &mut [u8],
        from: usize,
        tag: &[u8; 16],
    ) -> Result<(), ()> {
        let len = buffer.len() - from;
        buffer.copy_within(from.., 0);
        let text = &mut buffer[..len];
        self.open_in_place(nonce, data, text, tag)
    }

    fn open_in_place(
        &self,
        nonce: &[u8; 12],
        data: &[u8],
        text: &mut [u8],
        tag: &[u8; 16],
    ) -> Result<(), ()> {
        let inout = (&mut *text).into();
        let opened = match self {
            #[cfg(test)]
            Self::Aes128(aead) => {
                aead.decrypt_inout_detached(nonce.into(), data, inout, tag.into())
            }
            Self::Aes256(aead) => {
                aead.decrypt_inout_detached(nonce.into(), data, inout, tag.into())
            }
        };
        let verdict = opened.map_err(|_| ());
        declassify(verdict).map_err(|()| text.fill(0))
    }
}

crate::secret_bytes! {
    /// An X25519 secret key, ready for use. Boxed: it is moved with the keys that hold it.
    pub(crate) struct X25519Secret[32];
}

impl X25519Secret {
    pub(crate) fn new(secret: &[u8; 32]) -> Self {
        Self::from_bytes(secret)
    }

    pub(crate) fn public(&self) -> [u8; 32] {
        MontgomeryPoint::mul_base_clamped(*self.0).to_bytes()
    }

    /// X25519(secret, u); all zero for a point of low order.
    pub(crate) fn agree(&self, u: &[u8; 32]) -> [u8; 32] {
        MontgomeryPoint(*u).mul_clamped(*self.0).to_bytes()
    }
}

/// An Ed25519 secret key, ready for use.
pub(crate) struct Ed25519Secret(ed25519_dalek::SigningKey);

impl Ed25519Secret {
    pub(crate) fn new(seed: &[u8; 32]) -> Self {
        Self(ed25519_dalek::SigningKey::from_bytes(seed))
    }

    pub(crate) fn public(&self) -> [u8; 32] {
        self.0.verifying_key().to_bytes()
    }

    pub(crate) fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).to_bytes()
    }
}

/// An ML-KEM-768 decapsulation key of the RustCrypto library.
pub(crate) struct MlKem768Secret(DecapsulationKey<MlKem768>);

impl MlKem768Secret {
    pub(crate) fn from_seed(seed: &[u8; 64]) -> Self {
        Self(DecapsulationKey::from_seed((*seed).into()))
    }

    pub(crate) fn public(&self) -> [u8; 1184] {
        self.0.encapsulation_key().to_bytes().into()
    }

    pub(crate) fn decapsulate(&self, ciphertext: &[u8; 1088], secret: &mut [u8; 32]) {
        secret.copy_from_slice(&self.0.decapsulate(ciphertext.into()));
    }
}

/// An ML-KEM-768 encapsulation key, its coefficients checked by the caller.
pub(crate) struct MlKem768Public(EncapsulationKey<MlKem768>);

impl MlKem768Public {
    pub(crate) fn new(bytes: &[u8; 1184]) -> Option<Self> {
        EncapsulationKey::new(bytes.into()).ok().map(Self)
    }

    pub(crate) fn encapsulate(
        &self,
        m: &[u8; 32],
        ciphertext: &mut [u8; 1088],
        secret: &mut [u8; 32],
    ) {
        let (made, shared) = self.0.encapsulate_deterministic(m.into());
        ciphertext.copy_from_slice(&made);
        secret.copy_from_slice(&shared);
    }
}

/// An ML-DSA-65 public key, ready for use.
pub(crate) struct MlDsa65Public(Box<ml_dsa::VerifyingKey<MlDsa65>>);

impl MlDsa65Public {
    pub(crate) fn new(bytes: &[u8; 1952]) -> Self {
        Self(Box::new(ml_dsa::VerifyingKey::decode(bytes.into())))
    }

    /// The caller keeps `context` within 255 bytes.
    pub(crate) fn verify(&self, message: &[u8], context: &[u8], signature: &[u8; 3309]) -> bool {
        ml_dsa::Signature::decode(signature.into())
            .is_some_and(|signature| self.0.verify_with_context(message, context, &signature))
    }
}
