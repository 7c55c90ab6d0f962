//! Keys of users while the signer is unlocked.

use alloc::collections::BTreeMap;

use endseal_nostr::key::{PublicKey, SigningKey};

use crate::error::UnlockError;
use crate::records::user::User;

/// The decrypted keys of all users. Wiped when dropped, which is how a signer is locked.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct SigningKeys(BTreeMap<PublicKey, Box<SigningKey>>);

impl SigningKeys {
    /// Decrypts the keys of `users`, each with 64 MiB and about 100 ms.
    pub(crate) fn open<'u>(
        users: impl Iterator<Item = &'u User>,
        passphrase: &str,
    ) -> Result<Self, UnlockError> {
        let open = |user: &User| match user.open(passphrase) {
            Ok(key) => Ok((*user.key(), Box::new(key))),
            // The store has opened under it.
            Err(UnlockError::Passphrase) => Err(UnlockError::Key),
            Err(error) => Err(error),
        };
        users.map(open).collect::<Result<_, _>>().map(Self)
    }

    /// The key of a user.
    #[must_use]
    pub fn get(&self, user: &PublicKey) -> Option<&SigningKey> {
        self.0.get(user).map(|key| &**key)
    }

    /// All keys, in the order of the public ones.
    pub fn iter(&self) -> impl Iterator<Item = &SigningKey> {
        self.0.values().map(|key| &**key)
    }
}
