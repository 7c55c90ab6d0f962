//! Identities and recipients.

use std::sync::Arc;

use endseal_facade as facade;
use endseal_facade::{OsRandom, Passphrase};

use crate::error::EndsealError;

type Outcome<T> = Result<T, EndsealError>;

/// A person's secret keys, which no function returns. They are wiped when the last object that uses
/// them is closed.
#[derive(uniffi::Object)]
pub struct Identity(pub(crate) facade::Identity);

#[uniffi::export]
impl Identity {
    /// Makes a new identity.
    #[uniffi::constructor]
    pub fn generate() -> Outcome<Arc<Self>> {
        Ok(Arc::new(Self(facade::Identity::generate(&mut OsRandom)?)))
    }

    /// Opens an identity file with its passphrase; `null` if it was made without one.
    #[uniffi::constructor]
    pub fn unlock_now(file: &str, passphrase: Option<String>) -> Outcome<Arc<Self>> {
        let passphrase = passphrase_of(passphrase)?;
        Ok(Arc::new(Self(facade::Identity::unlock(file.as_bytes(), &passphrase)?)))
    }

    /// Returns the identity file, sealed under a passphrase.
    pub fn lock_now(&self, passphrase: String) -> Outcome<String> {
        let passphrase = passphrase_of(Some(passphrase))?;
        Ok(self.0.lock(&passphrase, &mut OsRandom)?)
    }

    /// Returns what others know of this identity.
    pub fn public_identity(&self) -> Arc<PublicIdentity> {
        Arc::new(PublicIdentity(self.0.public()))
    }
}

/// Makes the identity of a test vector.
#[cfg(feature = "test-vectors")]
#[uniffi::export]
pub fn identity_from_seeds(ed25519: &[u8], mlkem768: &[u8]) -> Outcome<Arc<Identity>> {
    let wrong = |_| facade::Error::argument("a seed of another length");
    let ed25519 = ed25519.try_into().map_err(wrong)?;
    let mlkem768 = mlkem768.try_into().map_err(wrong)?;
    Ok(Arc::new(Identity(facade::Identity::from_seeds(ed25519, mlkem768))))
}

/// Copies a passphrase and wipes the text.
pub(crate) fn passphrase_of(text: Option<String>) -> Outcome<Passphrase> {
    match text.map(zeroize::Zeroizing::new) {
        None => Ok(Passphrase::NONE),
        Some(text) if text.is_empty() => {
            Err(facade::Error::argument("the passphrase is empty").into())
        }
        Some(text) => Ok(Passphrase::new(&text)?),
    }
}

/// A person's public keys: `endseal1…`, or `endsealpq1…` with the post-quantum key.
#[derive(uniffi::Object)]
#[uniffi::export(Display)]
pub struct PublicIdentity(pub(crate) facade::PublicIdentity);

impl std::fmt::Display for PublicIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

#[uniffi::export]
impl PublicIdentity {
    /// Reads the text form.
    #[uniffi::constructor]
    pub fn parse(text: &str) -> Outcome<Arc<Self>> {
        Ok(Arc::new(Self(facade::PublicIdentity::parse(text.trim())?)))
    }

    /// Returns true if content can be sealed for this identity that stays secret when quantum
    /// computers exist.
    pub fn is_post_quantum(&self) -> bool {
        self.0.is_post_quantum()
    }

    /// Returns the form without the post-quantum key, which names a person.
    pub fn short(&self) -> Arc<PublicIdentity> {
        Arc::new(PublicIdentity(self.0.short()))
    }

    /// Returns the Ed25519 key, which names the person.
    pub fn key(&self) -> Vec<u8> {
        self.0.key().to_vec()
    }
}

/// Recipients, prepared once for any number of envelopes.
#[derive(uniffi::Object)]
pub struct Recipients(pub(crate) facade::Recipients);

#[uniffi::export]
impl Recipients {
    /// Prepares recipients. One who is named twice counts once.
    #[uniffi::constructor]
    pub fn new(of: Vec<Arc<PublicIdentity>>) -> Outcome<Arc<Self>> {
        let of: Vec<_> = of.iter().map(|it| it.0.clone()).collect();
        Ok(Arc::new(Self(facade::Recipients::new(&of)?)))
    }

    /// Returns the number of recipients.
    pub fn size(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }
}
