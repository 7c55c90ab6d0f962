//! ML-KEM-768 of AWS-LC with explicit randomness.
//!
//! The safe wrapper `aws-lc-rs` draws its own; endseal takes randomness as an argument, so that it
//! can be hedged and reproduced.

use core::ptr;

use aws_lc_sys::{
    EVP_PKEY, EVP_PKEY_CTX, EVP_PKEY_CTX_free, EVP_PKEY_CTX_kem_set_params, EVP_PKEY_CTX_new,
    EVP_PKEY_CTX_new_id, EVP_PKEY_KEM, EVP_PKEY_decapsulate, EVP_PKEY_encapsulate_deterministic,
    EVP_PKEY_free, EVP_PKEY_get_raw_public_key, EVP_PKEY_kem_new_raw_public_key,
    EVP_PKEY_keygen_deterministic, EVP_PKEY_keygen_init, NID_MLKEM768,
};

const PUBLIC: usize = 1184;
const CIPHERTEXT: usize = 1088;

/// A key of AWS-LC: an encapsulation key, or one with its decapsulation key.
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

struct Context(*mut EVP_PKEY_CTX);

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the pointer came from a constructor, is not null, and is freed once.
        unsafe { EVP_PKEY_CTX_free(self.0) }
    }
}

impl Key {
    /// ML-KEM.KeyGen_internal(d, z) with seed d || z. `None` if memory is exhausted.
    pub(crate) fn from_seed(seed: &[u8; 64]) -> Option<Self> {
        // SAFETY: a null engine is allowed; the result is checked for null.
        let context = unsafe { EVP_PKEY_CTX_new_id(EVP_PKEY_KEM, ptr::null_mut()) };
        let context = (!context.is_null()).then_some(Context(context))?;
        // SAFETY: `context` is a live KEM context.
        if unsafe { EVP_PKEY_CTX_kem_set_params(context.0, NID_MLKEM768) } != 1 {
            return None;
        }
        // SAFETY: `context` is live and has its parameters.
        if unsafe { EVP_PKEY_keygen_init(context.0) } != 1 {
            return None;
        }
        let mut key = ptr::null_mut();
        let mut len = seed.len();
        // SAFETY: `seed` has `len` readable bytes; `key` is null, so a new object is stored there.
        let done =
            unsafe { EVP_PKEY_keygen_deterministic(context.0, &mut key, seed.as_ptr(), &mut len) };
        (done == 1 && !key.is_null()).then_some(Self(key))
    }

    /// An encapsulation key whose coefficients the caller has checked.
    pub(crate) fn from_public(bytes: &[u8; PUBLIC]) -> Option<Self> {
        // SAFETY: `bytes` has PUBLIC readable bytes; the result is checked for null.
        let key = unsafe { EVP_PKEY_kem_new_raw_public_key(NID_MLKEM768, bytes.as_ptr(), PUBLIC) };
        (!key.is_null()).then_some(Self(key))
    }

    /// The encoded encapsulation key, or `None` if the library refuses to give it.
    pub(crate) fn public(&self) -> Option<[u8; PUBLIC]> {
        let mut out = [0; PUBLIC];
        let mut len = PUBLIC;
        // SAFETY: `out` has `len` writable bytes; the key is live.
        let done = unsafe { EVP_PKEY_get_raw_public_key(self.0, out.as_mut_ptr(), &mut len) };
        (done == 1 && len == PUBLIC).then_some(out)
    }

    fn context(&self) -> Option<Context> {
        // SAFETY: the key is live (the context takes its own reference); a null engine is allowed.
        let context = unsafe { EVP_PKEY_CTX_new(self.0, ptr::null_mut()) };
        (!context.is_null()).then_some(Context(context))
    }

    /// Encapsulates with given randomness: ML-KEM.Encaps_internal(ek, m) of FIPS 203.
    pub(crate) fn encapsulate(
        &self,
        m: &[u8; 32],
        ciphertext: &mut [u8; CIPHERTEXT],
        secret: &mut [u8; 32],
    ) -> Option<()> {
        let context = self.context()?;
        let (mut ciphertext_len, mut secret_len, mut seed_len) =
            (CIPHERTEXT, secret.len(), m.len());
        // SAFETY: each pointer has as many bytes as the length beside it says, and the three
        // buffers do not overlap (two are exclusive borrows).
        let done = unsafe {
            EVP_PKEY_encapsulate_deterministic(
                context.0,
                ciphertext.as_mut_ptr(),
                &mut ciphertext_len,
                secret.as_mut_ptr(),
                &mut secret_len,
                m.as_ptr(),
                &mut seed_len,
            )
        };
        (done == 1 && ciphertext_len == CIPHERTEXT && secret_len == 32).then_some(())
    }

    /// ML-KEM.Decaps(dk, c), with implicit rejection.
    pub(crate) fn decapsulate(
        &self,
        ciphertext: &[u8; CIPHERTEXT],
        secret: &mut [u8; 32],
    ) -> Option<()> {
        let context = self.context()?;
        let mut secret_len = secret.len();
        // SAFETY: `secret` has `secret_len` writable bytes, `ciphertext` CIPHERTEXT readable ones.
        let done = unsafe {
            EVP_PKEY_decapsulate(
                context.0,
                secret.as_mut_ptr(),
                &mut secret_len,
                ciphertext.as_ptr(),
                CIPHERTEXT,
            )
        };
        (done == 1 && secret_len == 32).then_some(())
    }
}
