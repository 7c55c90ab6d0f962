//! Secrets of stores.

use endseal_crypto::secret::Zeroizing;
use endseal_store::{KdfParams, OuterKey, Protection, Unlock};

use crate::error::SessionError;

/// Secret that protects a store. It is wiped when dropped.
#[allow(missing_debug_implementations, reason = "a secret")]
pub struct StoreSecret(Inner);

enum Inner {
    Passphrase(Zeroizing<Vec<u8>>),
    Key(OuterKey),
}

impl StoreSecret {
    /// A passphrase, from which Argon2id derives the key: opening takes about 0.16 s.
    ///
    /// # Errors
    /// `argument` if it is empty.
    pub fn passphrase(passphrase: String) -> Result<Self, SessionError> {
        if passphrase.is_empty() {
            return Err(SessionError::argument("the passphrase is empty"));
        }
        Ok(Self(Inner::Passphrase(Zeroizing::new(passphrase.into_bytes()))))
    }

    /// A random key of 32 bytes that is kept elsewhere: in a keychain, for example.
    ///
    /// # Errors
    /// `argument` if it has another length.
    pub fn key(key: Vec<u8>) -> Result<Self, SessionError> {
        let key = Zeroizing::new(key);
        let wrong = |_| SessionError::argument("the key does not have 32 bytes");
        let key: &[u8; 32] = key.as_slice().try_into().map_err(wrong)?;
        Ok(Self(Inner::Key(OuterKey::from_bytes(key))))
    }

    pub(crate) fn protection(&self) -> Protection<'_> {
        match &self.0 {
            Inner::Passphrase(passphrase) => {
                Protection::Passphrase { passphrase, params: KdfParams::RECOMMENDED }
            }
            Inner::Key(key) => Protection::OuterKey(key),
        }
    }

    pub(crate) fn unlock(&self) -> Unlock<'_> {
        match &self.0 {
            Inner::Passphrase(passphrase) => Unlock::Passphrase(passphrase),
            Inner::Key(key) => Unlock::OuterKey(key),
        }
    }
}
