//! Keys of a conversation and of its messages.

use endseal_crypto::hkdf_sha256::PseudorandomKey;
use endseal_crypto::secp256k1::{InvalidPublicKey, PublicKey, SecretKey, SharedX};
use endseal_crypto::sha256::HmacKey;
use endseal_crypto::{chacha20, hkdf_sha256, secret_bytes};

use super::payload::NONCE_LEN;

/// Salt of the HKDF extraction, which NIP-44 fixes.
const SALT: &[u8] = b"nip44-v2";

/// Key of all payloads between two keys, prepared: both states of HMAC are kept, so that the keys
/// of a message cost no compression for it. Wiped when dropped.
///
/// The same one serves both directions.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct Conversation {
    expand: HmacKey,
}

impl Conversation {
    /// The conversation between `own` and `peer`:
    /// `HKDF-Extract-SHA-256("nip44-v2", x of own · peer)`.
    ///
    /// One scalar multiplication, which is a hundred times the work of a short message: the caller
    /// SHOULD keep the result, for example in a [`Cache`](super::Cache).
    #[must_use]
    pub fn new(own: &SecretKey, peer: &PublicKey) -> Self {
        Self::of_shared(&own.ecdh_x(peer))
    }

    /// The conversation between `own` and the public key with these bytes. On a microcontroller
    /// this is a tenth less work than to check the key and to call [`new`](Self::new).
    ///
    /// # Errors
    /// [`InvalidPublicKey`] if the bytes are not the x-coordinate of a point on the curve.
    pub fn with_bytes(own: &SecretKey, peer: &[u8; 32]) -> Result<Self, InvalidPublicKey> {
        Ok(Self::of_shared(&own.ecdh_x_of_bytes(peer)?))
    }

    fn of_shared(shared: &SharedX) -> Self {
        Self { expand: extract(shared).prepare() }
    }

    /// Derives the key for [`from_key`](Self::from_key), for callers that store it:
    /// `HKDF-Extract-SHA-256("nip44-v2", x of own · peer)`.
    ///
    /// # Errors
    /// [`InvalidPublicKey`] if the bytes are not the x-coordinate of a point on the curve.
    pub fn derive_key(
        own: &SecretKey,
        peer: &[u8; 32],
    ) -> Result<PseudorandomKey, InvalidPublicKey> {
        Ok(extract(&own.ecdh_x_of_bytes(peer)?))
    }

    /// The conversation with a known conversation key, which the caller MUST wipe.
    #[must_use]
    pub fn from_key(key: &[u8; 32]) -> Self {
        Self { expand: HmacKey::new(key) }
    }

    /// Derives the keys of one message: `HKDF-Expand-SHA-256(conversation key, nonce, 76)`.
    #[allow(clippy::expect_used)]
    pub(super) fn message_keys(&self, nonce: &[u8; NONCE_LEN]) -> MessageKeys {
        MessageKeys::init_with(|keys| {
            hkdf_sha256::expand(&self.expand, &[nonce], keys).expect("76 of 8,160 bytes");
        })
    }
}

fn extract(shared: &SharedX) -> PseudorandomKey {
    hkdf_sha256::extract(SALT, shared.expose_secret())
}

secret_bytes! {
    /// Keys of one message: of ChaCha20, its nonce, of HMAC.
    pub(super) inline struct MessageKeys[76];
}

impl MessageKeys {
    /// Encrypts or decrypts `data`, which begins at block `counter` and ends before 2^38 bytes.
    #[allow(clippy::expect_used)]
    pub(super) fn apply_keystream(&self, counter: u32, data: &mut [u8]) {
        let (key, rest) = self.expose_secret().split_first_chunk().expect("32 of 76 bytes");
        let nonce = rest.first_chunk().expect("12 of 44 bytes");
        chacha20::apply_keystream(key, nonce, counter, data).expect("at most 2^26 + 1 blocks");
    }

    /// Key of HMAC over nonce and ciphertext.
    pub(super) fn mac(&self) -> HmacKey {
        HmacKey::new(&self.expose_secret()[44..])
    }
}
