//! Content of objects of guided-traffic's s3-encryption-proxy.

use bytes::{Bytes, BytesMut};
use endseal_crypto::aes_ctr::{self, AesCtr};
use endseal_crypto::aes_gcm::{self, NONCE_LEN, TAG_LEN};
use endseal_crypto::hkdf_sha256;
use endseal_crypto::secret::Zeroizing;
use endseal_crypto::sha256::{self, HmacKey, Mac};
use endseal_s3_protocol::S3Error;

use super::not_authentic;
use crate::transfer::Converter;

/// Salt and info of the key of the MAC.
const MAC_SALT: &[u8] = b"s3-proxy-integrity-v1";
const MAC_INFO: &[u8] = b"file-hmac-key";

/// Greatest length of an object under AES-GCM, which is authenticated in memory. The system writes
/// objects of 5 MB so, unless a client asks for more.
pub(super) const MAX_GCM: u64 = 64 << 20;

/// Opens an object under AES-CTR, and compares the MAC of its content if it has one.
pub(super) struct CtrReader {
    stream: AesCtr,
    mac: Option<(Mac, [u8; sha256::LEN])>,
    /// Sealed bytes that are still to come.
    left: u64,
}

impl CtrReader {
    /// Begins an object of `len` bytes.
    ///
    /// # Errors
    /// `ObjectNotAuthentic` if it has no bytes, and its MAC is another one.
    pub(super) fn new(
        key: &[u8; 32],
        iv: &[u8; aes_ctr::IV_LEN],
        mac: Option<[u8; sha256::LEN]>,
        len: u64,
    ) -> Result<Self, S3Error> {
        let mut mac = mac.map(|expected| (mac_key(key).start(), expected));
        // No piece of an empty object comes.
        if len == 0
            && let Some((mac, expected)) = mac.take()
        {
            is_right(mac, &expected)?;
        }
        Ok(Self { stream: AesCtr::new(key, iv), mac, left: len })
    }
}

impl Converter for CtrReader {
    fn convert(&mut self, sealed: Bytes) -> Result<Bytes, S3Error> {
        self.left = self.left.checked_sub(sealed.len() as u64).ok_or_else(not_authentic)?;
        let mut content = BytesMut::from(sealed);
        self.stream.apply(&mut content);
        if let Some((mac, _)) = &mut self.mac {
            mac.update(&content);
        }
        if self.left == 0
            && let Some((mac, expected)) = self.mac.take()
        {
            is_right(mac, &expected)?;
        }
        Ok(content.freeze())
    }
}

fn is_right(mac: Mac, expected: &[u8; sha256::LEN]) -> Result<(), S3Error> {
    if mac.verify(expected) { Ok(()) } else { Err(not_authentic()) }
}

/// Derives the key of the MAC from that of the object.
fn mac_key(key: &[u8; 32]) -> HmacKey {
    let mut derived = Zeroizing::new([0; 32]);
    let prk = hkdf_sha256::extract(MAC_SALT, key).prepare();
    // 32 bytes are not too many.
    let _ = hkdf_sha256::expand(&prk, &[MAC_INFO], &mut derived[..]);
    HmacKey::new(&derived[..])
}

/// Opens an object under AES-GCM, whose nonce is before the ciphertext.
pub(super) struct GcmReader {
    key: Zeroizing<[u8; 32]>,
    /// Key of the object, which is bound.
    name: String,
    len: usize,
    buffer: BytesMut,
}

impl GcmReader {
    /// Begins an object of `len` sealed bytes. Returns the length of its content, too. `None` if
    /// that is too short or too long.
    pub(super) fn new(key: Zeroizing<[u8; 32]>, name: &str, len: u64) -> Option<(Self, u64)> {
        let content_len = len.checked_sub((NONCE_LEN + TAG_LEN) as u64)?;
        let len = usize::try_from(len).ok().filter(|_| len <= MAX_GCM)?;
        Some((Self { key, name: name.to_owned(), len, buffer: BytesMut::new() }, content_len))
    }
}

impl Converter for GcmReader {
    fn convert(&mut self, sealed: Bytes) -> Result<Bytes, S3Error> {
        if self.buffer.is_empty() {
            self.buffer.reserve(self.len);
        }
        if sealed.len() > self.len - self.buffer.len() {
            return Err(not_authentic());
        }
        self.buffer.extend_from_slice(&sealed);
        if self.buffer.len() < self.len {
            return Ok(Bytes::new());
        }
        let mut content = core::mem::take(&mut self.buffer);
        let nonce: [u8; NONCE_LEN] =
            content.split_to(NONCE_LEN)[..].try_into().map_err(|_| not_authentic())?;
        let tag = content.split_off(content.len() - TAG_LEN);
        let tag: [u8; TAG_LEN] = tag[..].try_into().map_err(|_| not_authentic())?;
        aes_gcm::open(&self.key, &nonce, self.name.as_bytes(), &mut content, &tag)
            .map_err(|_| not_authentic())?;
        Ok(content.freeze())
    }
}
