//! Functions with a sharp edge: they take what must otherwise be random or true. For test vectors.

use endseal_crypto::identity::{Identity, PublicIdentity};
use endseal_crypto::segment;

use crate::identity_file::{IdentityFile, SealIdentityFileError};
use crate::passphrase::Passphrase;
use endseal_crypto::argon2id::{self, KdfParams};

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
