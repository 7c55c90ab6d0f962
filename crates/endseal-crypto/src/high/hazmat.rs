//! Functions that are easy to misuse: some take values that must otherwise be random, others return
//! data that must otherwise be checked. For test vectors and for protocols that are built on them.

use alloc::vec::Vec;

use crate::segment::{
    AuthenticationFailed, COMMITMENT_LEN, ChunkKeys, InputKey, KeySource, RawKeys, SALT_LEN,
    SealKeys,
};
use crate::{key_wrap, mldsa65, mlkem768};

/// ML-KEM.Encaps_internal(ek, m). `m` MUST be 32 random bytes that are used for nothing else.
#[must_use]
pub fn mlkem768_encapsulate(
    public: &mlkem768::PublicKey,
    m: &[u8; 32],
    ciphertext: &mut [u8; mlkem768::CIPHERTEXT_LEN],
) -> mlkem768::SharedSecret {
    public.encapsulate_with(m, ciphertext)
}

/// [`key_wrap::wrap`] with a given nonce, which MUST be 12 random bytes that were never used under
/// `wrapping`.
#[must_use]
pub fn wrap_key(
    wrapping: &key_wrap::WrappingKey,
    context: &[u8],
    key: &InputKey,
    nonce: &[u8; 12],
) -> Vec<u8> {
    key_wrap::wrap_with_nonce(wrapping, context, key, nonce)
}

/// ML-DSA.Sign_internal with a given `rnd`, which MUST be 32 random bytes, or zeros for the
/// deterministic variant.
///
/// # Errors
/// [`mldsa65::SignError::ContextTooLong`].
pub fn mldsa65_sign(
    key: &mldsa65::SigningKey,
    message: &[u8],
    context: &[u8],
    rnd: &[u8; 32],
) -> Result<mldsa65::Signature, mldsa65::SignError> {
    key.sign_with(message, context, rnd)
}

/// [`SealKeys::generate`] with a given salt, for formats that derive their salts: the keys and the
/// commitment.
///
/// The caller MUST NOT seal two streams under the same input key and salt: they would share their
/// nonces.
#[must_use]
pub fn seal_keys(
    source: &KeySource,
    salt: &[u8; SALT_LEN],
    context: &[u8],
) -> (SealKeys, [u8; COMMITMENT_LEN]) {
    source.seal_keys(salt, context)
}

/// The keys of [`seal_keys`] without the commitment, which is three of the five compressions of
/// SHA-512 if the context has at most 38 bytes. The duty is that of [`seal_keys`], and the format
/// MUST commit to the input key elsewhere.
#[must_use]
pub fn uncommitted_seal_keys(
    source: &KeySource,
    salt: &[u8; SALT_LEN],
    context: &[u8],
) -> SealKeys {
    source.uncommitted_seal_keys(salt, context)
}

/// The keys that open a stream without a commitment of its own.
///
/// The caller MUST have compared another commitment of the same input key before it opens anything:
/// without one, bytes can be made that open under several keys.
#[must_use]
pub fn uncommitted_keys(source: &KeySource, salt: &[u8; SALT_LEN], context: &[u8]) -> ChunkKeys {
    source.uncommitted_keys(salt, context)
}

/// The keys and the commitment of [`seal_keys`] as bytes, for an AES-256-GCM that is not of this
/// library. The duty is that of [`seal_keys`].
#[must_use]
pub fn raw_keys(source: &KeySource, salt: &[u8; SALT_LEN], context: &[u8]) -> RawKeys {
    RawKeys::derive(source, salt, context)
}

/// The keys of [`KeySource::derive_committed`] as bytes. The caller opens chunks with them, and
/// MUST NOT seal any.
///
/// # Errors
/// [`AuthenticationFailed`] if the input key, the salt or the context is another one.
pub fn committed_raw_keys(
    source: &KeySource,
    salt: &[u8; SALT_LEN],
    context: &[u8],
    commitment: &[u8; COMMITMENT_LEN],
) -> Result<RawKeys, AuthenticationFailed> {
    RawKeys::derive(source, salt, context).committed(commitment)
}
