//! Records of users with their encrypted keys (NIP-49).

use endseal_crypto::random::Random;
use endseal_crypto::secret::Zeroizing;
use endseal_nostr::encrypted_key::{
    DEFAULT_LOG_N, DEFAULT_MAX_LOG_N, EncryptedKey, Handling, OpenError, SealError, TEXT_LEN,
};
use endseal_nostr::key::{PublicKey, SecretKey, SigningKey};

use super::name;
use crate::bytes::{Fields, RecordWriter};
use crate::error::{RecordError, UnlockError};
use crate::text::{BoundedText, MAX_NAME};

/// User of the signer: a key that apps may use, encrypted under the passphrase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    key: PublicKey,
    made: u64,
    label: BoundedText<MAX_NAME>,
    encrypted: EncryptedKey,
}

impl User {
    pub(crate) const KIND: u32 = 2;

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
        let handling = Handling::Untracked;
        let encrypted = EncryptedKey::seal(secret, passphrase, DEFAULT_LOG_N, handling, random)?;
        Ok(Self { key: secret.public_key(), made: now, label, encrypted })
    }

    /// Decrypts the key. It takes 64 MiB of memory and about 100 ms.
    ///
    /// # Errors
    /// [`UnlockError::Passphrase`] if the passphrase is wrong, [`UnlockError::Memory`] if there is
    /// not enough memory, and [`UnlockError::Key`] if the result is not the key of this user.
    pub fn open(&self, passphrase: &str) -> Result<SigningKey, UnlockError> {
        let secret = self.encrypted.open(passphrase, DEFAULT_MAX_LOG_N);
        let key = SigningKey::new(secret.map_err(|error| match error {
            OpenError::Authentication => UnlockError::Passphrase,
            OpenError::Memory => UnlockError::Memory,
            _ => UnlockError::Key,
        })?);
        if *key.public_key() == self.key { Ok(key) } else { Err(UnlockError::Key) }
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
        let text: &[u8; TEXT_LEN] = fields.array()?;
        fields.end()?;
        let text = str::from_utf8(text).map_err(|_| RecordError::Value)?;
        let encrypted = EncryptedKey::from_text(text).map_err(|_| RecordError::Value)?;
        // Bech32 may be in upper case; a record must not.
        if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Err(RecordError::Value);
        }
        Ok(Self { key, made, label, encrypted })
    }

    /// Encodes the value of the record.
    #[must_use]
    #[allow(clippy::missing_panics_doc, clippy::expect_used)]
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut text = [0; TEXT_LEN];
        let text = self.encrypted.write_text(&mut text).expect("the text has this length");
        let writer = RecordWriter::versioned(10 + MAX_NAME + TEXT_LEN).u64(self.made);
        writer.text(&self.label).bytes(text.as_bytes()).finish()
    }
}
