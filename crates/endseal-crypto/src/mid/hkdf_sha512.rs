//! HKDF-SHA-512 (RFC 5869) in both builds: RustCrypto's, which keeps the two hash states that HMAC
//! derives from its key. Each further output of one key costs two compressions less.

use alloc::boxed::Box;

use hkdf::Hkdf;
use sha2::Sha512;
use zeroize::Zeroizing;

/// Longest pseudorandom key in bytes: the block of SHA-512, beyond which HMAC hashes its key.
const KEY_MAX: usize = 128;

/// A prepared key. `sha2` and `hmac` wipe it (their feature `zeroize`).
pub(crate) struct ExpandKey(Box<Hkdf<Sha512>>);

impl ExpandKey {
    /// Prepares a pseudorandom key of at most [`KEY_MAX`] bytes.
    ///
    /// # Panics
    /// If `prk` is longer.
    #[allow(clippy::expect_used)]
    pub(crate) fn new(prk: &[u8]) -> Self {
        // `Hkdf::from_prk` refuses keys shorter than the hash; HMAC (RFC 2104) pads them with
        // zeros.
        let mut padded = Zeroizing::new([0; KEY_MAX]);
        padded[..prk.len()].copy_from_slice(prk);
        let key = Hkdf::from_prk(&padded[..]).expect("the key is padded to the block length");
        Self(Box::new(key))
    }

    /// HKDF-Extract: the prepared key of `salt` and `secret`, both of any length.
    pub(crate) fn extract(salt: &[u8], secret: &[u8]) -> Self {
        Self(Box::new(Hkdf::new(Some(salt), secret)))
    }

    /// HKDF-Expand. The caller keeps `out` within 255 hash lengths.
    #[allow(clippy::expect_used)]
    pub(crate) fn expand(&self, info: &[&[u8]], out: &mut [u8]) {
        self.0
            .expand_multi_info(info, out)
            .expect("HKDF fails only beyond 255 hash lengths, which the caller has excluded");
    }
}
