//! Functions with a sharp edge: they take what must otherwise be random or true. For test vectors.

use alloc::vec::Vec;

use endseal_crypto::argon2id::{self, KdfParams};
use endseal_crypto::identity::{Identity, PublicIdentity};
use endseal_crypto::segment::{self, InputKey};

use crate::identity_file::{IdentityFile, SealIdentityFileError};
use crate::passphrase::{InvalidPassphrase, Passphrase};
use crate::protection::{self, Protection};

/// [`IdentityFile::seal`] with given salts, which MUST be random and never used before, and with a
/// public identity that need not be that of `identity`.
///
/// # Errors
/// If the memory cannot be had.
pub fn seal_identity_file(
    identity: &Identity,
    public: &PublicIdentity,
    passphrase: &Passphrase,
    params: KdfParams,
    salt: &[u8; argon2id::SALT_LEN],
    chunk_salt: &[u8; segment::SALT_LEN],
) -> Result<IdentityFile, SealIdentityFileError> {
    IdentityFile::seal_with(identity, public, passphrase, params, salt, chunk_salt)
}

/// [`Passphrase::new`] without the normal form, as a program has it that does not normalise.
///
/// # Errors
/// Those of [`Passphrase::new`].
pub fn passphrase_as_entered(text: &str) -> Result<Passphrase, InvalidPassphrase> {
    Passphrase::as_entered(text)
}

/// [`Protection::generate`] with a given salt, which MUST be random and never used before.
#[must_use]
pub const fn protection(params: KdfParams, salt: [u8; argon2id::SALT_LEN]) -> Protection {
    Protection::with_salt(params, salt)
}

/// [`protection::seal_secret`] with a given salt, which MUST be random and never used before under
/// `key`: twice the same salt means twice the same AES-GCM nonces.
#[must_use]
pub fn seal_secret(key: &InputKey, chunk_salt: &[u8; segment::SALT_LEN], secret: &[u8]) -> Vec<u8> {
    protection::seal_secret_with_salt(key, chunk_salt, secret)
}
