//! Key wrapping: a content key for each object, wrapped under a master key.

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use aws_lc_rs::cipher::{
    AES_256, DecryptionContext, EncryptionContext, StreamingDecryptingKey, StreamingEncryptingKey,
    UnboundCipherKey,
};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::hmac::{Context, HMAC_SHA256, Key};
use aws_lc_rs::iv::FixedLength;

use crate::subject::Failure;

const TAG_LEN: usize = 16;

/// Master key that wraps content keys.
pub(super) struct MasterKey(RandomizedNonceKey);

/// Content key of one object.
pub(super) struct ContentKey([u8; 32]);

impl MasterKey {
    pub(super) fn generate() -> Result<Self, Unspecified> {
        let mut key = [0; 32];
        aws_lc_rs::rand::fill(&mut key)?;
        Ok(Self(RandomizedNonceKey::new(&AES_256_GCM, &key)?))
    }

    /// Wraps a content key. Returns it in hexadecimal digits, for the metadata.
    pub(super) fn wrap(&self, key: &ContentKey) -> Result<String, Unspecified> {
        Ok(hex(&seal(&self.0, key.0.to_vec())?))
    }

    pub(super) fn unwrap(&self, wrapped: &str) -> Result<ContentKey, Failure> {
        let key = open(&self.0, unhex(wrapped).ok_or("a wrapped key is not hexadecimal")?)?;
        Ok(ContentKey(key.try_into().map_err(|_| "a wrapped key has another length")?))
    }
}

impl ContentKey {
    pub(super) fn generate() -> Result<Self, Unspecified> {
        let mut key = [0; 32];
        aws_lc_rs::rand::fill(&mut key)?;
        Ok(Self(key))
    }

    /// Encrypts a short object in one piece.
    pub(super) fn seal(&self, content: Vec<u8>) -> Result<Vec<u8>, Unspecified> {
        seal(&RandomizedNonceKey::new(&AES_256_GCM, &self.0)?, content)
    }

    pub(super) fn open(&self, sealed: Vec<u8>) -> Result<Vec<u8>, Failure> {
        Ok(open(&RandomizedNonceKey::new(&AES_256_GCM, &self.0)?, sealed)?)
    }

    /// Returns the key stream, and its initial counter block in hexadecimal digits.
    pub(super) fn encryptor(&self) -> Result<(StreamingEncryptingKey, String), Failure> {
        let mut counter = [0; 16];
        // The lower half of the counter block counts blocks.
        aws_lc_rs::rand::fill(&mut counter[..8])?;
        let context = EncryptionContext::Iv128(FixedLength::from(&counter));
        let key = UnboundCipherKey::new(&AES_256, &self.0)?;
        Ok((StreamingEncryptingKey::less_safe_ctr(key, context)?, hex(&counter)))
    }

    pub(super) fn decryptor(&self, counter: &str) -> Result<StreamingDecryptingKey, Failure> {
        let counter = unhex(counter).and_then(|bytes| <[u8; 16]>::try_from(bytes).ok());
        let counter = counter.ok_or("a counter block is not 16 bytes")?;
        let context = DecryptionContext::Iv128(FixedLength::from(&counter));
        Ok(StreamingDecryptingKey::ctr(UnboundCipherKey::new(&AES_256, &self.0)?, context)?)
    }

    /// Returns a new HMAC over the ciphertext.
    pub(super) fn hmac(&self) -> Context {
        Context::with_key(&Key::new(HMAC_SHA256, &self.0))
    }
}

fn seal(key: &RandomizedNonceKey, mut content: Vec<u8>) -> Result<Vec<u8>, Unspecified> {
    let nonce = key.seal_in_place_append_tag(Aad::empty(), &mut content)?;
    content.extend_from_slice(nonce.as_ref());
    Ok(content)
}

fn open(key: &RandomizedNonceKey, mut sealed: Vec<u8>) -> Result<Vec<u8>, Unspecified> {
    let at = sealed.len().checked_sub(NONCE_LEN).filter(|at| *at >= TAG_LEN).ok_or(Unspecified)?;
    let nonce = Nonce::try_assume_unique_for_key(&sealed[at..])?;
    sealed.truncate(at);
    let len = key.open_in_place(nonce, Aad::empty(), &mut sealed)?.len();
    sealed.truncate(len);
    Ok(sealed)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(core::str::from_utf8(pair).ok()?, 16).ok()).collect()
}
