//! Functions with a sharp edge: they take what must otherwise be random. For test vectors.

use endseal_crypto::argon2id::{self, KdfParams};
use endseal_crypto::segment;
use endseal_keyring::{Passphrase, hazmat};

use super::{Ring, SealRingError};

/// [`Ring::seal`] with given salts, which MUST be random and never used before.
///
/// # Errors
/// If the memory cannot be had.
pub fn seal_ring(
    ring: &Ring,
    passphrase: &Passphrase,
    params: KdfParams,
    salt: &[u8; argon2id::SALT_LEN],
    chunk_salt: &[u8; segment::SALT_LEN],
) -> Result<String, SealRingError> {
    let protection = hazmat::protection(params, *salt);
    ring.seal_under(passphrase, &protection, |key, secret| {
        Ok(hazmat::seal_secret(key, chunk_salt, secret))
    })
}
