//! Secret keys, and what they encrypt.

use std::sync::Arc;

use endseal_crypto::random::Random;
use endseal_crypto::secret::Zeroizing;
use endseal_nostr::encrypted_key::{
    self, Handling, ParseError, ScryptInput, SealError as LockError, StretchError, Stretched,
};
use endseal_nostr::key::{self, PublicKey, SecretKey, SigningKey};
use endseal_nostr::nip44::{Conversation, Lengths, OpenError, SealError, payload_len};

use crate::error::Error;

/// A secret key of Nostr. Copies of this handle share it; it is wiped with the last one.
#[derive(Clone)]
#[allow(missing_debug_implementations, reason = "a secret")]
pub struct NostrKey(Arc<SigningKey>);

impl NostrKey {
    /// Makes a new key.
    ///
    /// # Errors
    /// `random` if the source of randomness fails.
    pub fn generate(random: &mut impl Random) -> Result<Self, Error> {
        Ok(Self::new(SecretKey::generate(random).map_err(no_random)?))
    }

    fn new(key: SecretKey) -> Self {
        Self(Arc::new(SigningKey::new(key)))
    }

    /// Opens an `ncryptsec` (NIP-49) whose cost is at most `max_log_n`, in `2^log_n` KiB and as
    /// much time. A library without AWS-LC gets the password in NFKC.
    ///
    /// # Errors
    /// `header` or `version` if the text is none, `limit` if the cost is greater or there is not as
    /// much memory, `passphrase` if it does not open, `argument` for a password that is too long.
    pub fn unlock(text: &str, password: &str, max_log_n: u8) -> Result<Self, Error> {
        let encrypted = EncryptedKey::parse(text)?;
        encrypted.open(&encrypted.input(max_log_n)?.stretch(password)?)
    }

    /// Returns this key as an `ncryptsec` (NIP-49), at a cost of `2^log_n` KiB.
    ///
    /// # Errors
    /// `argument` if cost or password are out of bounds, `random` if the source of randomness
    /// fails, `limit` if there is not as much memory.
    pub fn lock(
        &self,
        password: &str,
        log_n: u8,
        random: &mut impl Random,
    ) -> Result<String, Error> {
        let new = NewEncryptedKey::new(log_n, random)?;
        new.seal(self, &new.input().stretch(password)?, random)
    }

    /// Returns the public key as 64 hexadecimal digits.
    #[must_use]
    pub fn public(&self) -> String {
        hex(self.0.public_key())
    }

    /// Encrypts a text for the owner of a public key (NIP-44), who can read it as this key can.
    ///
    /// # Errors
    /// `argument` for a wrong public key, `length` for an empty text, `random` if the source of
    /// randomness fails.
    pub fn encrypt(
        &self,
        peer: &str,
        text: &str,
        random: &mut impl Random,
    ) -> Result<String, Error> {
        let mut nonce = [0; 32];
        random.fill(&mut nonce).map_err(no_random)?;
        seal(&self.conversation(peer)?, text.as_bytes(), &nonce, Lengths::Extended)
    }

    /// Decrypts a payload of NIP-44 between this key and another one. Nothing says which of both
    /// encrypted it: that is what the signature of the event around it is for.
    ///
    /// # Errors
    /// `argument` for a wrong public key; `version`, `length`, `encoding` or `authentication`.
    pub fn decrypt(&self, peer: &str, payload: &str) -> Result<String, Error> {
        let opened = open(&self.conversation(peer)?, payload)?;
        let text = str::from_utf8(&opened).map_err(|error| Error::new("encoding", error))?;
        Ok(text.to_owned())
    }

    pub(super) fn conversation(&self, peer: &str) -> Result<Conversation, Error> {
        Ok(Conversation::new(self.0.secret_key(), &peer_of(peer)?))
    }

    pub(super) fn signing(&self) -> &SigningKey {
        &self.0
    }

    /// Makes the key of a test vector.
    ///
    /// # Errors
    /// `argument` if the number is none.
    #[cfg(feature = "test-vectors")]
    pub fn from_bytes(bytes: &[u8; 32]) -> Result<Self, Error> {
        SecretKey::from_bytes(bytes).map(Self::new).map_err(Error::argument)
    }
}

/// An encrypted key that is being opened in steps: another thread may stretch the password.
#[derive(Clone, Copy, Debug)]
pub struct EncryptedKey(encrypted_key::EncryptedKey);

impl EncryptedKey {
    /// Reads an `ncryptsec`.
    ///
    /// # Errors
    /// `header` or `version`.
    pub fn parse(text: &str) -> Result<Self, Error> {
        encrypted_key::EncryptedKey::from_text(text.trim()).map(Self).map_err(|error| {
            let code = match error {
                ParseError::UnsupportedVersion => "version",
                _ => "header",
            };
            Error::new(code, error)
        })
    }

    /// Returns salt and cost.
    ///
    /// # Errors
    /// `limit` if the cost is above `max_log_n`.
    pub fn input(&self, max_log_n: u8) -> Result<StretchInput, Error> {
        let input = self.0.scrypt_input(max_log_n);
        input.map(StretchInput).map_err(|error| Error::new("limit", error))
    }

    /// Decrypts the key.
    ///
    /// # Errors
    /// `passphrase`.
    pub fn open(&self, stretched: &StretchedPassword) -> Result<NostrKey, Error> {
        let opened = self.0.open_stretched(&stretched.0);
        opened.map(NostrKey::new).map_err(|error| Error::new("passphrase", error))
    }
}

/// Salt and cost of a password, which are public.
#[derive(Clone, Copy, Debug)]
pub struct StretchInput(ScryptInput);

impl StretchInput {
    /// Salt and cost as they were for [`EncryptedKey::input`].
    #[must_use]
    pub fn from_parts(salt: [u8; encrypted_key::SALT_LEN], log_n: u8) -> Self {
        Self(ScryptInput { log_n, salt })
    }

    /// Returns salt and cost.
    #[must_use]
    pub fn parts(&self) -> ([u8; encrypted_key::SALT_LEN], u8) {
        (self.0.salt, self.0.log_n)
    }

    /// Stretches a password.
    ///
    /// # Errors
    /// `argument` for a password of more than 4,096 bytes, `limit` if there is not as much memory.
    pub fn stretch(&self, password: &str) -> Result<StretchedPassword, Error> {
        self.0.stretch(password).map(StretchedPassword).map_err(|error| match error {
            StretchError::Password => Error::argument(error),
            _ => Error::new("limit", error),
        })
    }
}

/// A password that was stretched by scrypt. Wiped when dropped.
#[allow(missing_debug_implementations, reason = "a secret")]
pub struct StretchedPassword(Stretched);

impl StretchedPassword {
    /// Copies what another thread stretched, which the caller MUST wipe.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; 32]) -> Self {
        Self(Stretched::from_bytes(bytes))
    }

    /// Returns the bytes for another thread, which MUST wipe them.
    #[must_use]
    pub fn expose_secret(&self) -> &[u8; 32] {
        self.0.expose_secret()
    }
}

/// An encrypted key that is being made in steps.
#[derive(Clone, Copy, Debug)]
pub struct NewEncryptedKey(ScryptInput);

impl NewEncryptedKey {
    /// Chooses a salt.
    ///
    /// # Errors
    /// `argument` if the cost is out of its range, `random` if the source of randomness fails.
    pub fn new(log_n: u8, random: &mut impl Random) -> Result<Self, Error> {
        ScryptInput::new(log_n, random).map(Self).map_err(lock_error)
    }

    /// Returns salt and cost.
    #[must_use]
    pub fn input(&self) -> StretchInput {
        StretchInput(self.0)
    }

    /// Takes up salt and cost of [`NewEncryptedKey::input`] again.
    #[must_use]
    pub fn of(input: &StretchInput) -> Self {
        Self(input.0)
    }

    /// Encrypts a key. Each salt MUST be used once.
    ///
    /// # Errors
    /// `random` if the source of randomness fails.
    pub fn seal(
        &self,
        key: &NostrKey,
        stretched: &StretchedPassword,
        random: &mut impl Random,
    ) -> Result<String, Error> {
        let (secret, handling) = (key.0.secret_key(), Handling::Untracked);
        let made = encrypted_key::EncryptedKey::seal_stretched(
            secret,
            &self.0,
            &stretched.0,
            handling,
            random,
        );
        let mut text = [0; encrypted_key::TEXT_LEN];
        let made = made.map_err(lock_error)?;
        made.write_text(&mut text).map(str::to_owned).map_err(Error::argument)
    }
}

fn lock_error(error: LockError) -> Error {
    match error {
        LockError::Random => Error::new("random", error),
        LockError::Memory => Error::new("limit", error),
        _ => Error::argument(error),
    }
}

pub(super) fn no_random(error: endseal_crypto::random::RandomError) -> Error {
    Error::new("random", error)
}

pub(super) fn hex(key: &PublicKey) -> String {
    String::from_utf8_lossy(&key::public_to_hex(key)).into_owned()
}

/// Reads a public key, `npub1…` or 64 hexadecimal digits, and returns the digits.
///
/// # Errors
/// `argument`.
pub fn public_key(text: &str) -> Result<String, Error> {
    peer_of(text).map(|it| hex(&it))
}

pub(super) fn peer_of(text: &str) -> Result<PublicKey, Error> {
    let text = text.trim();
    let found = match text.len() {
        key::BECH32_LEN => key::public_from_npub(text),
        _ => key::public_from_hex(text),
    };
    found.map_err(|error| Error::argument(format!("no public key: {error}")))
}

pub(super) fn seal(
    conversation: &Conversation,
    plaintext: &[u8],
    nonce: &[u8; 32],
    lengths: Lengths,
) -> Result<String, Error> {
    let too_long = |error: SealError| Error::new("length", error);
    let mut payload = vec![0; payload_len(plaintext.len(), lengths).map_err(too_long)?];
    let sealed = conversation.seal(plaintext, nonce, lengths, &mut payload);
    sealed.map(str::len).map_err(too_long)?;
    String::from_utf8(payload).map_err(Error::argument)
}

pub(super) fn open(
    conversation: &Conversation,
    payload: &str,
) -> Result<Zeroizing<Vec<u8>>, Error> {
    let mut bytes = Zeroizing::new(payload.as_bytes().to_vec());
    let opened = conversation.open(&mut bytes).map_err(open_error)?;
    Ok(Zeroizing::new(opened.to_vec()))
}

fn open_error(error: OpenError) -> Error {
    let code = match error {
        OpenError::UnsupportedVersion => "version",
        OpenError::Length => "length",
        OpenError::Encoding => "encoding",
        _ => "authentication",
    };
    Error::new(code, error)
}

/// A conversation of the test vectors, which state its key.
#[cfg(feature = "test-vectors")]
#[allow(missing_debug_implementations, reason = "a secret")]
pub struct TestConversation(Conversation);

#[cfg(feature = "test-vectors")]
impl TestConversation {
    /// Returns the conversation key.
    ///
    /// # Errors
    /// `key` if one of both is no key.
    pub fn key(secret: &[u8; 32], public: &[u8; 32]) -> Result<[u8; 32], Error> {
        let secret = SecretKey::from_bytes(secret).map_err(|error| Error::new("key", error))?;
        let key = Conversation::derive_key(&secret, public);
        Ok(*key.map_err(|error| Error::new("key", error))?.expose_secret())
    }

    /// Takes a conversation key.
    #[must_use]
    pub fn new(key: &[u8; 32]) -> Self {
        Self(Conversation::from_key(key))
    }

    /// Encrypts under a nonce. `is_short` refuses more than 65,535 bytes.
    ///
    /// # Errors
    /// `length`.
    pub fn seal(
        &self,
        plaintext: &[u8],
        nonce: &[u8; 32],
        is_short: bool,
    ) -> Result<String, Error> {
        let lengths = if is_short { Lengths::UpTo65535 } else { Lengths::Extended };
        seal(&self.0, plaintext, nonce, lengths)
    }

    /// Decrypts a payload.
    ///
    /// # Errors
    /// Those of [`NostrKey::decrypt`].
    pub fn open(&self, payload: &str) -> Result<Vec<u8>, Error> {
        open(&self.0, payload).map(|it| it.to_vec())
    }
}
