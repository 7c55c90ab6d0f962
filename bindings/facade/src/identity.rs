//! Identities, secret and public.

use std::fmt;
use std::sync::Arc;

use endseal_crypto::identity;
use endseal_crypto::random::Random;
use endseal_keyring::{IdentityFile, IdentityText, KdfParams};

use crate::error::Error;
use crate::passphrase::Passphrase;

/// A person's secret keys. Copies of this handle share them; they are wiped with the last one.
#[derive(Clone)]
#[allow(missing_debug_implementations, reason = "a secret")]
pub struct Identity(pub(crate) Arc<identity::Identity>);

impl Identity {
    /// Makes a new identity.
    ///
    /// # Errors
    /// `random` if the source of randomness fails.
    pub fn generate(random: &mut impl Random) -> Result<Self, Error> {
        let made = identity::Identity::generate(random);
        made.map(Self::new).map_err(|error| Error::new("random", error))
    }

    fn new(identity: identity::Identity) -> Self {
        Self(Arc::new(identity))
    }

    /// Opens an identity file with its passphrase, which takes about 0.16 s; one that was made
    /// without a passphrase with [`Passphrase::NONE`].
    ///
    /// # Errors
    /// `header` if it is no identity file, `passphrase` if it does not open.
    pub fn unlock(file: &[u8], passphrase: &Passphrase) -> Result<Self, Error> {
        let file = IdentityFile::parse(file).map_err(|error| Error::new("header", error))?;
        let opened = match &passphrase.0 {
            None => file.open_without_passphrase(),
            Some(passphrase) => file.open(passphrase).map(Some),
        };
        let opened = opened.map_err(|error| Error::new("passphrase", error))?;
        opened.map(Self::new).ok_or_else(|| Error::new("passphrase", "a passphrase is needed"))
    }

    /// Returns the identity file for this identity, sealed under a passphrase. The caller MUST
    /// write it to a place that only the owner reads, over no other identity.
    ///
    /// # Errors
    /// `argument` for [`Passphrase::NONE`], `random` if the source of randomness fails.
    pub fn lock(&self, passphrase: &Passphrase, random: &mut impl Random) -> Result<String, Error> {
        self.lock_with(passphrase, KdfParams::RECOMMENDED, random)
    }

    /// [`lock`](Self::lock) at the least cost of Argon2id, about a twentieth: for a random
    /// passphrase that cannot be guessed, under which an identity goes to another thread.
    ///
    /// # Errors
    /// Those of [`lock`](Self::lock).
    pub fn lock_cheaply(
        &self,
        passphrase: &Passphrase,
        random: &mut impl Random,
    ) -> Result<String, Error> {
        self.lock_with(passphrase, KdfParams::MINIMUM, random)
    }

    fn lock_with(
        &self,
        passphrase: &Passphrase,
        params: KdfParams,
        random: &mut impl Random,
    ) -> Result<String, Error> {
        let none = || Error::argument("a passphrase is needed");
        let passphrase = passphrase.0.as_ref().ok_or_else(none)?;
        let file = IdentityFile::seal(&self.0, passphrase, params, random);
        let file = file.map_err(|error| Error::new("random", error))?;
        Ok(String::from_utf8_lossy(file.as_bytes()).into_owned())
    }

    /// Returns the keys, for crates of this workspace that do more than seal and open.
    #[must_use]
    pub fn keys(&self) -> &identity::Identity {
        &self.0
    }

    /// Returns what others know of this identity.
    #[must_use]
    pub fn public(&self) -> PublicIdentity {
        PublicIdentity(self.0.public().clone())
    }

    /// Makes the identity of a test vector.
    #[cfg(feature = "test-vectors")]
    #[must_use]
    pub fn from_seeds(ed25519: &[u8; 32], mlkem768: &[u8; 64]) -> Self {
        use endseal_crypto::{ed25519, mlkem768};
        let (signing, kem) =
            (ed25519::Seed::from_bytes(ed25519), mlkem768::Seed::from_bytes(mlkem768));
        Self::new(identity::Identity::from_seeds(signing, kem))
    }
}

/// A person's public keys: `endseal1…`, or `endsealpq1…` with the post-quantum key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicIdentity(pub(crate) identity::PublicIdentity);

impl PublicIdentity {
    /// Reads the text form.
    ///
    /// # Errors
    /// `argument`, with what is wrong with the text.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let parsed: Result<IdentityText, _> = text.parse();
        parsed.map(|it| Self(it.into_identity())).map_err(Error::argument)
    }

    /// Returns true if content can be sealed for this identity that stays secret when quantum
    /// computers exist.
    #[must_use]
    pub fn is_post_quantum(&self) -> bool {
        self.0.mlkem768().is_some()
    }

    /// Returns the form without the post-quantum key, which names a person.
    #[must_use]
    pub fn short(&self) -> Self {
        Self(identity::PublicIdentity::short(*self.0.ed25519()))
    }

    /// Returns the Ed25519 key.
    #[must_use]
    pub fn key(&self) -> &[u8; 32] {
        self.0.ed25519().as_bytes()
    }

    /// Returns true if both are of one person, also if one of them lacks the post-quantum key.
    #[must_use]
    pub fn is_same_person(&self, other: &Self) -> bool {
        self.0.ed25519() == other.0.ed25519()
    }
}

impl fmt::Display for PublicIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        IdentityText::from(self.0.clone()).fmt(f)
    }
}
