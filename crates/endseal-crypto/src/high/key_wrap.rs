//! Keys under keys: AES-256-GCM (NIST SP 800-38D) with random nonces.
//!
//! ```text
//! wrapped = nonce (12) || ciphertext || tag (16)
//! ciphertext, tag = AES-256-GCM(wrapping key, nonce, key, associated data = context)
//! ```

use alloc::vec::Vec;

use zeroize::ZeroizeOnDrop;

use crate::mid::aes_gcm::AesGcm;
use crate::random::{Random, RandomError};
use crate::segment::{AuthenticationFailed, InputKey};

/// Length of the nonce, which is drawn for each key.
pub const NONCE_LEN: usize = 12;
const TAG_LEN: usize = 16;

/// Length in bytes of a wrapped key: nonce, encrypted key and tag.
pub const WRAPPED_LEN: usize = NONCE_LEN + InputKey::LEN + TAG_LEN;

crate::secret_bytes! {
    /// Key that encrypts other keys. Uniformly random.
    ///
    /// Nonces are random: after 2^32 keys a wrapping key MUST be replaced (SP 800-38D, 8.3).
    pub struct WrappingKey[32];
}

/// Wraps `key` under `wrapping`. `context` is bound, not sent.
///
/// # Errors
/// [`RandomError`] if the source fails.
pub fn wrap(
    wrapping: &WrappingKey,
    context: &[u8],
    key: &InputKey,
    random: &mut impl Random,
) -> Result<Vec<u8>, RandomError> {
    Wrapper::new(wrapping).wrap(context, key, random)
}

/// Unwraps a key that [`wrap`] wrapped.
///
/// # Errors
/// [`AuthenticationFailed`] if the wrapping key or context is another one, or anything was changed.
pub fn unwrap(
    wrapping: &WrappingKey,
    context: &[u8],
    wrapped: &[u8],
) -> Result<InputKey, AuthenticationFailed> {
    Wrapper::new(wrapping).unwrap(context, wrapped)
}

/// A wrapping key that was expanded once, for many keys.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct Wrapper(AesGcm);

impl ZeroizeOnDrop for Wrapper {}

impl Wrapper {
    /// Expands the AES key schedule of a wrapping key once, for many calls.
    #[must_use]
    #[allow(clippy::missing_panics_doc, clippy::expect_used)]
    pub fn new(wrapping: &WrappingKey) -> Self {
        let aead = AesGcm::new(wrapping.expose_secret());
        Self(aead.expect("AES-256-GCM takes keys of 32 bytes"))
    }

    /// Wraps `key` as [`wrap`] does, without expanding the wrapping key again.
    ///
    /// # Errors
    /// [`RandomError`] if the source fails.
    pub fn wrap(
        &self,
        context: &[u8],
        key: &InputKey,
        random: &mut impl Random,
    ) -> Result<Vec<u8>, RandomError> {
        let mut nonce = [0; NONCE_LEN];
        random.fill(&mut nonce)?;
        Ok(self.wrap_with_nonce(context, key, &nonce))
    }

    /// Unwraps a key as [`unwrap`] does, without expanding the wrapping key again.
    ///
    /// # Errors
    /// [`AuthenticationFailed`] if the wrapping key or context is another one, or anything was
    /// changed.
    pub fn unwrap(&self, context: &[u8], wrapped: &[u8]) -> Result<InputKey, AuthenticationFailed> {
        let (nonce, rest) = wrapped.split_first_chunk().ok_or(AuthenticationFailed)?;
        let (sealed, tag) = rest.split_last_chunk().ok_or(AuthenticationFailed)?;
        let sealed: &[u8; InputKey::LEN] = sealed.try_into().map_err(|_| AuthenticationFailed)?;
        InputKey::try_init_with(|out| self.0.open_bound(nonce, context, sealed, tag, out))
            .map_err(|()| AuthenticationFailed)
    }

    fn wrap_with_nonce(&self, context: &[u8], key: &InputKey, nonce: &[u8; NONCE_LEN]) -> Vec<u8> {
        let (mut sealed, mut tag) = ([0; InputKey::LEN], [0; TAG_LEN]);
        let key = &key.expose_secret()[..];
        self.0.seal_bound(nonce, context, key, &mut sealed, &mut tag);
        [&nonce[..], &sealed, &tag].concat()
    }
}

/// [`wrap`] with a given nonce.
pub(crate) fn wrap_with_nonce(
    wrapping: &WrappingKey,
    context: &[u8],
    key: &InputKey,
    nonce: &[u8; NONCE_LEN],
) -> Vec<u8> {
    Wrapper::new(wrapping).wrap_with_nonce(context, key, nonce)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> (WrappingKey, InputKey) {
        (WrappingKey::from_bytes(&[1; 32]), InputKey::from_bytes(&[2; 32]))
    }

    fn wrapped() -> Vec<u8> {
        let (wrapping, key) = keys();
        wrap_with_nonce(&wrapping, b"context", &key, &[3; 12])
    }

    #[test]
    fn a_key_opens_under_its_context_alone() {
        let (wrapping, key) = keys();
        assert_eq!(wrapped().len(), WRAPPED_LEN);
        assert!(unwrap(&wrapping, b"context", &wrapped()).unwrap() == key);
        let other = WrappingKey::from_bytes(&[9; 32]);
        assert_eq!(unwrap(&wrapping, b"contexu", &wrapped()).err(), Some(AuthenticationFailed));
        assert_eq!(unwrap(&wrapping, b"", &wrapped()).err(), Some(AuthenticationFailed));
        assert_eq!(unwrap(&other, b"context", &wrapped()).err(), Some(AuthenticationFailed));
    }

    #[test]
    fn every_change_is_refused() {
        let (wrapping, _) = keys();
        for at in 0..WRAPPED_LEN {
            let mut bad = wrapped();
            bad[at] ^= 0x10;
            assert_eq!(
                unwrap(&wrapping, b"context", &bad).err(),
                Some(AuthenticationFailed),
                "{at}"
            );
            assert_eq!(
                unwrap(&wrapping, b"context", &wrapped()[..at]).err(),
                Some(AuthenticationFailed)
            );
        }
        let long = [&wrapped()[..], &[0]].concat();
        assert_eq!(unwrap(&wrapping, b"context", &long).err(), Some(AuthenticationFailed));
    }

    #[test]
    fn an_expanded_key_wraps_and_opens_again_and_again() {
        let (wrapping, key) = keys();
        let wrapper = Wrapper::new(&wrapping);
        for nonce in 0..4 {
            let made = wrapper.wrap_with_nonce(b"context", &key, &[nonce; 12]);
            assert_eq!(made, wrap_with_nonce(&wrapping, b"context", &key, &[nonce; 12]));
            assert!(wrapper.unwrap(b"context", &made).unwrap() == key);
            assert_eq!(wrapper.unwrap(b"contexu", &made).err(), Some(AuthenticationFailed));
        }
    }

    #[cfg(any(feature = "aws-lc", feature = "getrandom"))]
    #[test]
    fn two_wraps_of_one_key_differ() {
        let (wrapping, key) = keys();
        let mut random: crate::random::OsRandom = Default::default();
        let mut one = || wrap(&wrapping, b"", &key, &mut random).unwrap();
        let (a, b) = (one(), one());
        assert_ne!(a, b);
        assert!(unwrap(&wrapping, b"", &a).unwrap() == unwrap(&wrapping, b"", &b).unwrap());
    }
}
