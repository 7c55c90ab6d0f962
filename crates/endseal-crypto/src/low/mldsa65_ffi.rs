//! ML-DSA-65 of AWS-LC with a context string.
//!
//! The safe wrapper `aws-lc-rs` has no way to pass one.

use core::ptr;

use aws_lc_sys::{
    EVP_DigestSign, EVP_DigestSignInit, EVP_DigestVerify, EVP_DigestVerifyInit, EVP_MD_CTX,
    EVP_MD_CTX_free, EVP_MD_CTX_new, EVP_PKEY, EVP_PKEY_CTX_set1_signature_context_string,
    EVP_PKEY_free, EVP_PKEY_pqdsa_new_raw_private_key, EVP_PKEY_pqdsa_new_raw_public_key,
    NID_MLDSA65,
};

const PUBLIC: usize = 1952;
const SIGNATURE: usize = 3309;

/// A key of AWS-LC: one that verifies, or one that signs too.
pub(crate) struct Key(*mut EVP_PKEY);

// SAFETY: an EVP_PKEY belongs to no thread; AWS-LC documents that it may be used by several threads
// at once as long as none mutates it, and no function below does after construction.
unsafe impl Send for Key {}
// SAFETY: as above.
unsafe impl Sync for Key {}

impl Drop for Key {
    fn drop(&mut self) {
        // SAFETY: the pointer came from a constructor below, is not null, and is freed once.
        unsafe { EVP_PKEY_free(self.0) }
    }
}

struct Context(*mut EVP_MD_CTX);

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the pointer came from EVP_MD_CTX_new, is not null, and is freed once.
        unsafe { EVP_MD_CTX_free(self.0) }
    }
}

impl Context {
    fn new() -> Option<Self> {
        // SAFETY: the function has no precondition; the result is checked for null.
        let context = unsafe { EVP_MD_CTX_new() };
        (!context.is_null()).then_some(Self(context))
    }
}

impl Key {
    /// ML-DSA.KeyGen_internal(xi). `None` if memory is exhausted.
    pub(crate) fn from_seed(seed: &[u8; 32]) -> Option<Self> {
        // SAFETY: `seed` has as many readable bytes as the length says; the result is checked.
        let key =
            unsafe { EVP_PKEY_pqdsa_new_raw_private_key(NID_MLDSA65, seed.as_ptr(), seed.len()) };
        (!key.is_null()).then_some(Self(key))
    }

    /// Any bytes of this length are a key.
    pub(crate) fn from_public(bytes: &[u8; PUBLIC]) -> Option<Self> {
        // SAFETY: `bytes` has PUBLIC readable bytes; the result is checked for null.
        let key = unsafe { EVP_PKEY_pqdsa_new_raw_public_key(NID_MLDSA65, bytes.as_ptr(), PUBLIC) };
        (!key.is_null()).then_some(Self(key))
    }

    /// ML-DSA.Sign, hedged by AWS-LC's own generator. `None` if memory or randomness is exhausted.
    /// The caller keeps `context` within 255 bytes.
    pub(crate) fn sign(
        &self,
        message: &[u8],
        context: &[u8],
        signature: &mut [u8; SIGNATURE],
    ) -> Option<()> {
        let digest = Context::new()?;
        let mut parameters = ptr::null_mut();
        // SAFETY: `digest` and the key are live; a null digest and engine are what the algorithm
        // asks for; `parameters` is stored and belongs to `digest`.
        let ready = unsafe {
            EVP_DigestSignInit(digest.0, &mut parameters, ptr::null(), ptr::null_mut(), self.0)
        };
        if ready != 1 || parameters.is_null() {
            return None;
        }
        // SAFETY: `parameters` lives as long as `digest`; `context` is copied.
        let set = unsafe {
            EVP_PKEY_CTX_set1_signature_context_string(parameters, context.as_ptr(), context.len())
        };
        let mut len = SIGNATURE;
        // SAFETY: `signature` has `len` writable bytes, `message` as many readable ones as its
        // length says, and they do not overlap (one is an exclusive borrow).
        let signed = set == 1
            && unsafe {
                EVP_DigestSign(
                    digest.0,
                    signature.as_mut_ptr(),
                    &mut len,
                    message.as_ptr(),
                    message.len(),
                )
            } == 1;
        (signed && len == SIGNATURE).then_some(())
    }

    /// ML-DSA.Verify. The caller keeps `context` within 255 bytes.
    pub(crate) fn verify(
        &self,
        message: &[u8],
        context: &[u8],
        signature: &[u8; SIGNATURE],
    ) -> bool {
        let Some(digest) = Context::new() else { return false };
        let mut parameters = ptr::null_mut();
        // SAFETY: as in `sign`.
        let ready = unsafe {
            EVP_DigestVerifyInit(digest.0, &mut parameters, ptr::null(), ptr::null_mut(), self.0)
        };
        if ready != 1 || parameters.is_null() {
            return false;
        }
        // SAFETY: as in `sign`.
        let set = unsafe {
            EVP_PKEY_CTX_set1_signature_context_string(parameters, context.as_ptr(), context.len())
        };
        // SAFETY: both slices have as many readable bytes as the lengths beside them say.
        set == 1
            && unsafe {
                EVP_DigestVerify(
                    digest.0,
                    signature.as_ptr(),
                    SIGNATURE,
                    message.as_ptr(),
                    message.len(),
                )
            } == 1
    }
}
