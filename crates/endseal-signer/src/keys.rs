//! Decrypted user keys of an unlocked signer.

use alloc::collections::BTreeMap;

use endseal_nostr::key::{PublicKey, SigningKey};

use crate::error::UnlockError;
use crate::records::user::User;

/// Decrypted keys of all users, and the public keys of those on a device. They are wiped when
/// dropped, which is how a signer is locked.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct SigningKeys(BTreeMap<PublicKey, Option<Box<SigningKey>>>);

impl SigningKeys {
    /// Decrypts the keys of `users`. Each takes 64 MiB of memory and about 100 ms.
    pub(crate) fn open<'u>(
        users: impl Iterator<Item = &'u User>,
        passphrase: &str,
    ) -> Result<Self, UnlockError> {
        let open = |user: &User| match user.open(passphrase) {
            Ok(key) => Ok((*user.key(), Some(Box::new(key)))),
            // The store has opened with this passphrase, so the user's record is wrong.
            Err(UnlockError::Passphrase) => Err(UnlockError::Key),
            Err(error) => Err(error),
        };
        let open = |user: &User| match user.is_on_device() {
            true => Ok((*user.key(), None)),
            false => open(user),
        };
        users.map(open).collect::<Result<_, _>>().map(Self)
    }

    /// Returns the key of a user; none if it is on a device.
    #[must_use]
    pub fn get(&self, user: &PublicKey) -> Option<&SigningKey> {
        self.0.get(user)?.as_deref()
    }

    /// Returns true if the user is known and the key is on a device.
    #[must_use]
    pub fn is_on_device(&self, user: &PublicKey) -> bool {
        self.0.get(user).is_some_and(Option::is_none)
    }

    /// Adds a user whose key is on a device.
    pub(crate) fn add_device(&mut self, user: PublicKey) {
        self.0.insert(user, None);
    }

    /// Wipes the key of a user.
    pub(crate) fn remove(&mut self, user: &PublicKey) {
        self.0.remove(user);
    }

    /// Returns all keys that are here in the order of their public keys.
    pub fn iter(&self) -> impl Iterator<Item = &SigningKey> {
        self.0.values().filter_map(Option::as_deref)
    }
}
