//! Functions with a sharp edge: they take what must otherwise be random, or give what must otherwise
//! be checked. For test vectors and for protocols that are built on them.

use alloc::vec::Vec;

use crate::segment::InputKey;
use crate::{key_wrap, mlkem768};

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
