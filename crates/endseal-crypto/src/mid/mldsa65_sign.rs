//! ML-DSA-65 signing (FIPS 204) in both builds: RustCrypto's, which takes its randomness as an
//! argument. The public interface of AWS-LC draws its own.

use alloc::boxed::Box;

use ml_dsa::{MlDsa65, SigningKey};

/// A signing key. `ml-dsa` wipes it (its feature `zeroize`).
pub(crate) struct MlDsa65Secret(Box<SigningKey<MlDsa65>>);

impl MlDsa65Secret {
    /// Expands a seed to a key: ML-DSA.KeyGen_internal(xi) of FIPS 204.
    pub(crate) fn from_seed(seed: &[u8; 32]) -> Self {
        Self(Box::new(SigningKey::from_seed(seed.into())))
    }

    pub(crate) fn public(&self, out: &mut [u8; 1952]) {
        out.copy_from_slice(&self.0.expanded_key().verifying_key().encode());
    }

    /// ML-DSA.Sign with `rnd`: hedged if these bytes are random.
    ///
    /// # Panics
    /// If `context` has more than 255 bytes.
    #[allow(clippy::expect_used)]
    pub(crate) fn sign(
        &self,
        message: &[u8],
        context: &[u8],
        rnd: &[u8; 32],
        signature: &mut [u8; 3309],
    ) {
        let len = u8::try_from(context.len()).expect("the caller keeps contexts within 255 bytes");
        // FIPS 204, algorithm 2, line 10: M' = 0 || length of the context || context || message.
        let made = self.0.expanded_key().sign_internal(&[&[0, len], context, message], rnd.into());
        signature.copy_from_slice(&made.encode());
    }
}
