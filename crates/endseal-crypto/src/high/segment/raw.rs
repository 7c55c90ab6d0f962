//! Keys of a stream as bytes, for an AES-GCM outside of this library.

use alloc::boxed::Box;

use zeroize::ZeroizeOnDrop;

use super::{AuthenticationFailed, COMMITMENT_LEN, ChunkKeys, INFO, KeySource, SALT_LEN, SealKeys};
use crate::mid::aes_gcm::AesGcm;
use crate::secret::{Zeroizing, constant_time_eq, declassify};

/// Key, base nonce and commitment of one stream, as bytes. A program that has another AES-256-GCM,
/// such as Web Cryptography, encrypts the chunks with it; every other one makes [`ChunkKeys`] or
/// [`SealKeys`] of them. [`hazmat::raw_keys`](crate::hazmat::raw_keys) and
/// [`hazmat::committed_raw_keys`](crate::hazmat::committed_raw_keys) derive them.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct RawKeys {
    key: Box<Zeroizing<[u8; 32]>>,
    base_nonce: Zeroizing<[u8; 12]>,
    commitment: [u8; COMMITMENT_LEN],
}

impl ZeroizeOnDrop for RawKeys {}

impl RawKeys {
    pub(crate) fn derive(source: &KeySource, salt: &[u8; SALT_LEN], context: &[u8]) -> Self {
        let mut okm = Zeroizing::new([0; 32 + 12 + COMMITMENT_LEN]);
        source.0.expand(&[INFO, salt, context], &mut okm[..]);
        let mut own = Self {
            key: Box::new(Zeroizing::new([0; 32])),
            base_nonce: Zeroizing::new([0; 12]),
            commitment: [0; COMMITMENT_LEN],
        };
        let (key, rest) = okm.split_at(32);
        let (base_nonce, commitment) = rest.split_at(12);
        own.key.copy_from_slice(key);
        own.base_nonce.copy_from_slice(base_nonce);
        own.commitment.copy_from_slice(commitment);
        own
    }

    /// Returns the keys if `commitment` is theirs.
    pub(crate) fn committed(
        self,
        commitment: &[u8; COMMITMENT_LEN],
    ) -> Result<Self, AuthenticationFailed> {
        if declassify(constant_time_eq(&self.commitment, commitment)) {
            Ok(self)
        } else {
            Err(AuthenticationFailed)
        }
    }

    /// The AES-256 key. The caller MUST wipe every copy that it makes.
    #[must_use]
    pub fn expose_key(&self) -> &[u8; 32] {
        &self.key
    }

    /// The nonce of chunk `index`. The caller MUST seal one plaintext at most under it.
    #[must_use]
    pub fn nonce(&self, index: u64) -> [u8; 12] {
        nonce(&self.base_nonce, index)
    }

    /// The commitment to the input key, which the stream or its format carries.
    #[must_use]
    pub fn commitment(&self) -> &[u8; COMMITMENT_LEN] {
        &self.commitment
    }

    /// Keys that seal the stream, which the caller MUST do only once.
    #[must_use]
    pub fn seal_keys(self) -> SealKeys {
        SealKeys(self.open_keys())
    }

    /// Keys that open the stream.
    #[must_use]
    pub fn open_keys(self) -> ChunkKeys {
        ChunkKeys { aead: self.cipher(), base_nonce: self.base_nonce }
    }

    #[allow(clippy::expect_used)]
    fn cipher(&self) -> AesGcm {
        AesGcm::new(&self.key[..]).expect("AES-256-GCM takes keys of 32 bytes")
    }
}

/// `base nonce xor index`, the index as a big-endian number at the end.
pub(super) fn nonce(base: &[u8; 12], index: u64) -> [u8; 12] {
    let mut nonce = *base;
    for (byte, i) in nonce[4..].iter_mut().zip(index.to_be_bytes()) {
        *byte ^= i;
    }
    nonce
}
