//! The back end of hosts: AWS-LC. The twin is [`rustcrypto`](super::rustcrypto), with the same
//! names.

use aws_lc_rs::aead::{AES_128_GCM, AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::agreement::{PrivateKey, UnparsedPublicKey, X25519, agree};
use aws_lc_rs::digest;
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};

use crate::low::{mldsa65_ffi, mlkem768_ffi};

/// Fills `buffer` from AWS-LC's generator, which is seeded by the operating system.
pub(crate) fn random(buffer: &mut [u8]) -> Result<(), ()> {
    aws_lc_rs::rand::fill(buffer).map_err(|_| ())
}

pub(crate) fn constant_time_eq(a: &[u8], b: &[u8]) -> bool {
    aws_lc_rs::constant_time::verify_slices_are_equal(a, b).is_ok()
}

pub(crate) fn sha512(parts: &[&[u8]]) -> [u8; 64] {
    let mut context = digest::Context::new(&digest::SHA512);
    for part in parts {
        context.update(part);
    }
    let mut out = [0; 64];
    out.copy_from_slice(context.finish().as_ref());
    out
}

/// An AES-256-GCM key for nonces of 12 bytes.
pub(crate) struct AesGcm(LessSafeKey);

impl AesGcm {
    /// AES-128-GCM or AES-256-GCM by the length of the key; `None` for any other length.
    pub(crate) fn new(key: &[u8]) -> Option<Self> {
        let algorithm = if key.len() == 16 { &AES_128_GCM } else { &AES_256_GCM };
        UnboundKey::new(algorithm, key).ok().map(LessSafeKey::new).map(Self)
    }

    /// `data` is bound, not sent. `out` is as long as `plaintext`, and the caller keeps both below
    /// the limit of the mode.
    #[allow(clippy::expect_used)]
    pub(crate) fn seal_bound(
        &self,
        nonce: &[u8; 12],
        data: &[u8],
        plaintext: &[u8],
        out: &mut [u8],
        tag: &mut [u8; 16],
    ) {
        let nonce = Nonce::assume_unique_for_key(*nonce);
        self.0
            .seal_out_of_place_scatter(nonce, Aad::from(data), plaintext, out, &[], tag)
            .expect("lengths are equal and below 2^36 bytes, the only ways to fail");
    }

    /// Seals `buffer[from..]` into the beginning of `buffer`: the tag. Nothing behind that is
    /// written: plaintext moves there before.
    #[allow(clippy::expect_used)]
    pub(crate) fn seal_within(
        &self,
        nonce: &[u8; 12],
        data: &[u8],
        buffer: &mut [u8],
        from: usize,
    ) -> [u8; 16] {
        let len = buffer.len() - from;
        buffer.copy_within(from.., 0);
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let made = self.0.seal_in_place_separate_tag(nonce, Aad::from(data), &mut buffer[..len]);
        let made = made.expect("a chunk is below 2^36 bytes, the only way to fail");
        let mut tag = [0; 16];
        tag.copy_from_slice(made.as_ref());
        tag
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
        let nonce = Nonce::assume_unique_for_key(*nonce);
        self.0.open_separate_gather(nonce, Aad::from(data), ciphertext, tag, out).map_err(|_| {
            out.fill(0);
        })
    }

    /// Opens `buffer[from..]` into the beginning of `buffer`. If the tag is wrong, the place of the
    /// content is zeroed. Nothing behind it is written: the bytes that the library moves are
    /// ciphertext.
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
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let opened =
            self.0.open_in_place_separate_tag(nonce, Aad::from(data), tag, text).map(|_| ());
        opened.map_err(|_| text.fill(0))
    }
}

/// An X25519 secret key, ready for use.
pub(crate) struct X25519Secret(PrivateKey);

impl X25519Secret {
    #[allow(clippy::expect_used)]
    pub(crate) fn new(secret: &[u8; 32]) -> Self {
        Self(
            PrivateKey::from_private_key(&X25519, secret)
                .expect("any 32 bytes are an X25519 secret key"),
        )
    }

    #[allow(clippy::expect_used)]
    pub(crate) fn public(&self) -> [u8; 32] {
        let public = self.0.compute_public_key().expect("the key has a public key");
        let mut out = [0; 32];
        out.copy_from_slice(public.as_ref());
        out
    }

    /// X25519(secret, u); all zero for a point of low order.
    pub(crate) fn agree(&self, u: &[u8; 32]) -> [u8; 32] {
        let mut out = [0; 32];
        // The only failure for a key of the right length is the all-zero result (RFC 7748, 6.1).
        let _low_order = agree(&self.0, UnparsedPublicKey::new(&X25519, u), (), |shared| {
            out.copy_from_slice(shared);
            Ok(())
        });
        out
    }
}

/// An Ed25519 secret key, ready for use.
pub(crate) struct Ed25519Secret(Ed25519KeyPair);

impl Ed25519Secret {
    #[allow(clippy::expect_used)]
    pub(crate) fn new(seed: &[u8; 32]) -> Self {
        Self(Ed25519KeyPair::from_seed_unchecked(seed).expect("any 32 bytes are an Ed25519 seed"))
    }

    pub(crate) fn public(&self) -> [u8; 32] {
        let mut out = [0; 32];
        out.copy_from_slice(self.0.public_key().as_ref());
        out
    }

    pub(crate) fn sign(&self, message: &[u8]) -> [u8; 64] {
        let mut out = [0; 64];
        out.copy_from_slice(self.0.sign(message).as_ref());
        out
    }
}

/// An ML-KEM-768 decapsulation key of AWS-LC.
pub(crate) struct MlKem768Secret(mlkem768_ffi::Key);

impl MlKem768Secret {
    #[allow(clippy::expect_used)]
    pub(crate) fn from_seed(seed: &[u8; 64]) -> Self {
        Self(mlkem768_ffi::Key::from_seed(seed).expect("only exhausted memory fails here"))
    }

    #[allow(clippy::expect_used)]
    pub(crate) fn public(&self) -> [u8; 1184] {
        self.0.public().expect("the key has a public key of this length")
    }

    #[allow(clippy::expect_used)]
    pub(crate) fn decapsulate(&self, ciphertext: &[u8; 1088], secret: &mut [u8; 32]) {
        self.0.decapsulate(ciphertext, secret).expect("only exhausted memory fails here");
    }
}

/// An ML-KEM-768 encapsulation key, its coefficients checked by the caller.
pub(crate) struct MlKem768Public(mlkem768_ffi::Key);

impl MlKem768Public {
    pub(crate) fn new(bytes: &[u8; 1184]) -> Option<Self> {
        mlkem768_ffi::Key::from_public(bytes).map(Self)
    }

    #[allow(clippy::expect_used)]
    pub(crate) fn encapsulate(
        &self,
        m: &[u8; 32],
        ciphertext: &mut [u8; 1088],
        secret: &mut [u8; 32],
    ) {
        self.0.encapsulate(m, ciphertext, secret).expect("only exhausted memory fails here");
    }
}

/// An ML-DSA-65 public key, ready for use.
pub(crate) struct MlDsa65Public(mldsa65_ffi::Key);

impl MlDsa65Public {
    #[allow(clippy::expect_used)]
    pub(crate) fn new(bytes: &[u8; 1952]) -> Self {
        Self(mldsa65_ffi::Key::from_public(bytes).expect("only exhausted memory fails here"))
    }

    /// The caller keeps `context` within 255 bytes.
    pub(crate) fn verify(&self, message: &[u8], context: &[u8], signature: &[u8; 3309]) -> bool {
        self.0.verify(message, context, signature)
    }
}
