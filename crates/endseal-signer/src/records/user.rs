//! Records of users with their encrypted keys (NIP-49).

use endseal_crypto::random::Random;
use endseal_crypto::secret::Zeroizing;
use endseal_nostr::encrypted_key::{
    DEFAULT_LOG_N, DEFAULT_MAX_LOG_N, EncryptedKey, Handling, OpenError, SealError, TEXT_LEN,
};
use endseal_nostr::key::{PublicKey, SecretKey, SigningKey};

use super::name;
use crate::bytes::{Fields, RecordWriter};
use crate::error::{ChangePassphraseError, RecordError, UnlockError};
use crate::text::{BoundedText, MAX_NAME};

/// User of the signer: a key that apps may use, encrypted under the passphrase, or on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    key: PublicKey,
    made: u64,
    label: BoundedText<MAX_NAME>,
    /// The encrypted key; none if the key is on a device.
    encrypted: Option<EncryptedKey>,
    /// The key under the next passphrase, while a change of the passphrase is not completed.
    next: Option<EncryptedKey>,
}

impl User {
    pub(crate) const KIND: u32 = 2;
    /// Kind of the records of users whose key is on a device.
    pub(crate) const DEVICE_KIND: u32 = 8;

    /// Encrypts a key under the passphrase of the signer. It takes 64 MiB of memory and about 100
    /// ms.
    ///
    /// # Errors
    /// [`SealError`] if the key could not be encrypted.
    pub fn seal(
        secret: &SecretKey,
        passphrase: &str,
        label: BoundedText<MAX_NAME>,
        now: u64,
        random: &mut impl Random,
    ) -> Result<Self, SealError> {
        let encrypted = Some(encrypt(secret, passphrase, random)?);
        Ok(Self { key: secret.public_key(), made: now, label, encrypted, next: None })
    }

    /// Makes a user whose secret key is on a device.
    #[must_use]
    pub const fn on_device(key: PublicKey, label: BoundedText<MAX_NAME>, now: u64) -> Self {
        Self { key, made: now, label, encrypted: None, next: None }
    }

    /// Returns true if the secret key is on a device.
    #[must_use]
    pub const fn is_on_device(&self) -> bool {
        self.encrypted.is_none()
    }

    /// Kind of the user's record.
    pub(crate) const fn kind(&self) -> u32 {
        if self.is_on_device() { Self::DEVICE_KIND } else { Self::KIND }
    }

    /// Decrypts the key. It takes 64 MiB of memory and about 100 ms, twice after a change of the
    /// passphrase that was interrupted.
    ///
    /// # Errors
    /// [`UnlockError::Passphrase`] if the passphrase is wrong, [`UnlockError::Memory`] if there is
    /// not enough memory, and [`UnlockError::Key`] if the result is not the key of this user.
    pub fn open(&self, passphrase: &str) -> Result<SigningKey, UnlockError> {
        self.decrypt(passphrase).map(|(_, secret)| SigningKey::new(secret))
    }

    /// Returns the user with the key under both passphrases. A user on a device has none.
    pub(crate) fn with_next(
        &self,
        present: &str,
        next: &str,
        random: &mut impl Random,
    ) -> Result<Self, ChangePassphraseError> {
        if self.is_on_device() {
            return Ok(self.clone());
        }
        let (encrypted, secret) = self.decrypt(present)?;
        let (encrypted, next) = (Some(*encrypted), encrypt(&secret, next, random)?);
        Ok(Self { encrypted, next: Some(next), ..self.clone() })
    }

    /// Returns the user with the key under the next passphrase alone.
    pub(crate) fn without_former(self) -> Self {
        let Self { encrypted, next, .. } = self.clone();
        Self { encrypted: next.or(encrypted), next: None, ..self }
    }

    /// Finds the encrypted key that the passphrase opens, and decrypts it.
    fn decrypt(&self, passphrase: &str) -> Result<(&EncryptedKey, SecretKey), UnlockError> {
        for encrypted in self.encrypted.iter().chain(&self.next) {
            match encrypted.open(passphrase, DEFAULT_MAX_LOG_N) {
                Err(OpenError::Authentication) => {}
                Err(OpenError::Memory) => return Err(UnlockError::Memory),
                Err(_) => return Err(UnlockError::Key),
                Ok(secret) if secret.public_key() == self.key => return Ok((encrypted, secret)),
                Ok(_) => return Err(UnlockError::Key),
            }
        }
        Err(UnlockError::Passphrase)
    }

    /// Public key of the user.
    #[must_use]
    pub const fn key(&self) -> &PublicKey {
        &self.key
    }

    /// Time of the import in seconds since 1970.
    #[must_use]
    pub const fn made(&self) -> u64 {
        self.made
    }

    /// Label that was chosen at the import; may be empty.
    #[must_use]
    pub const fn label(&self) -> &BoundedText<MAX_NAME> {
        &self.label
    }

    /// Name of the user's record: the public key.
    #[must_use]
    pub fn name(&self) -> [u8; 32] {
        self.key.to_bytes()
    }

    /// Reads the record of a user.
    ///
    /// # Errors
    /// [`RecordError`] if the record is malformed.
    pub fn from_bytes(record_name: &[u8], value: &[u8]) -> Result<Self, RecordError> {
        let key = name(record_name)?;
        let key = PublicKey::from_bytes(key).map_err(|_| RecordError::Value)?;
        let mut fields = Fields::versioned(value)?;
        let (made, label) = (fields.u64()?, fields.text()?);
        let encrypted = encrypted_key(fields.array()?)?;
        let next = match fields.is_empty() {
            true => None,
            false => Some(encrypted_key(fields.array()?)?),
        };
        fields.end()?;
        Ok(Self { key, made, label, encrypted: Some(encrypted), next })
    }

    /// Reads the record of a user whose key is on a device.
    ///
    /// # Errors
    /// [`RecordError`] if the record is malformed.
    pub fn device_from_bytes(record_name: &[u8], value: &[u8]) -> Result<Self, RecordError> {
        let key = name(record_name)?;
        let key = PublicKey::from_bytes(key).map_err(|_| RecordError::Value)?;
        let mut fields = Fields::versioned(value)?;
        let (made, label) = (fields.u64()?, fields.text()?);
        fields.end()?;
        Ok(Self::on_device(key, label, made))
    }

    /// Returns the encrypted key as `ncryptsec`; none while a change of the passphrase is not
    /// completed, when the key is under two of them, and for a user on a device.
    pub(crate) fn encrypted_text(&self) -> Option<String> {
        let mut text = [0; TEXT_LEN];
        let text = self.encrypted.as_ref()?.write_text(&mut text).ok()?.to_owned();
        self.next.is_none().then_some(text)
    }

    /// Encodes the value of the record.
    #[must_use]
    #[allow(clippy::missing_panics_doc, clippy::expect_used)]
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let writer = RecordWriter::versioned(10 + MAX_NAME + 2 * TEXT_LEN).u64(self.made);
        let keys = self.encrypted.iter().chain(&self.next);
        let write = |writer: RecordWriter, key: &EncryptedKey| {
            let mut text = [0; TEXT_LEN];
            let text = key.write_text(&mut text).expect("the text has this length");
            writer.bytes(text.as_bytes())
        };
        keys.fold(writer.text(&self.label), write).finish()
    }
}

fn encrypt(
    secret: &SecretKey,
    passphrase: &str,
    random: &mut impl Random,
) -> Result<EncryptedKey, SealError> {
    EncryptedKey::seal(secret, passphrase, DEFAULT_LOG_N, Handling::Untracked, random)
}

/// Reads an encrypted key. Bech32 may be in upper case; a record must not.
fn encrypted_key(text: &[u8; TEXT_LEN]) -> Result<EncryptedKey, RecordError> {
    let text = str::from_utf8(text).map_err(|_| RecordError::Value)?;
    let encrypted = EncryptedKey::from_text(text).map_err(|_| RecordError::Value)?;
    match text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        true => Err(RecordError::Value),
        false => Ok(encrypted),
    }
}
