//! Decrypted user keys of an unlocked signer.

use alloc::collections::BTreeMap;

use endseal_nostr::key::{PublicKey, SigningKey};

use crate::error::UnlockError;
use crate::records::user::User;

/// Decrypted keys of all users. They are wiped when dropped, which is how a signer is locked.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct SigningKeys(BTreeMap<PublicKey, Box<SigningKey>>);

impl SigningKeys {
    /// Decrypts the keys of `users`. Each takes 64 MiB of memory and about 100 ms.
    pub(crate) fn open<'u>(
        users: impl Iterator<Item = &'u User>,
        passphrase: &str,
    ) -> Result<Self, UnlockError> {
        let open = |user: &User| match user.open(passphrase) {
            Ok(key) => Ok((*user.key(), Box::new(key))),
            // The store has opened with this passphrase, so the user's record is wrong.
            Err(UnlockError::Passphrase) => Err(UnlockError::Key),
            Err(error) => Err(error),
        };
        users.map(open).collect::<Result<_, _>>().map(Self)
    }

    /// Returns the key of a user.
    #[must_use]
    pub fn get(&self, user: &PublicKey) -> Option<&SigningKey> {
        self.0.get(user).map(|key| &**key)
    }

    /// Wipes the key of a user.
    pub(crate) fn remove(&mut self, user: &PublicKey) {
        self.0.remove(user);
    }

    /// Returns all keys in the order of their public keys.
    pub fn iter(&self) -> impl Iterator<Item = &SigningKey> {
        self.0.values().map(|key| &**key)
    }
}
