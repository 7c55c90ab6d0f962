//! Signers, keys and records for the tests.

use std::fs;
use std::path::{Path, PathBuf};

use endseal_crypto::random::OsRandom;
use endseal_nostr::connect::ConnectSecret;
use endseal_nostr::key::{PublicKey, SecretKey};
use endseal_signer::{App, RuleRecord, SignerStore, User};
use endseal_store::{KdfParams, OpenOptions, Store, Unlock};
use endseal_testing::Scratch;

pub(crate) const NOW: u64 = 1_784_700_000;
pub(crate) const PASSPHRASE: &str = "correct horse";

/// Temporary directory with a signer.
pub(crate) struct World(Scratch);

impl World {
    pub(crate) fn new() -> (Self, SignerStore) {
        let world = Self(Scratch::new());
        let params = KdfParams::MINIMUM;
        let store = SignerStore::create(&world.path(), PASSPHRASE, params, &mut OsRandom);
        (world, store.unwrap())
    }

    /// Creates a signer with user 1.
    pub(crate) fn with_user() -> (Self, SignerStore) {
        let (world, mut signer) = Self::new();
        let mut transaction = signer.begin().unwrap();
        transaction.add_user(user()).unwrap();
        transaction.commit().unwrap();
        (world, signer)
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.0.path("signer")
    }

    pub(crate) fn open(&self) -> SignerStore {
        open(&self.path())
    }

    /// Opens the store of a signer that is closed.
    pub(crate) fn store(&self) -> Store {
        let unlock = Unlock::Passphrase(PASSPHRASE.as_bytes());
        Store::open(&self.path(), unlock, OpenOptions::new()).unwrap()
    }
}

pub(crate) fn open(path: &Path) -> SignerStore {
    SignerStore::open(path, PASSPHRASE, OpenOptions::new()).unwrap()
}

pub(crate) fn secret_key(number: u32) -> SecretKey {
    let mut bytes = [1; 32];
    bytes[28..].copy_from_slice(&number.to_be_bytes());
    SecretKey::from_bytes(&bytes).unwrap()
}

pub(crate) fn public_key(number: u32) -> PublicKey {
    secret_key(number).public_key()
}

pub(crate) fn connect_secret() -> ConnectSecret {
    ConnectSecret::new("0s8j2djs").unwrap()
}

/// Returns user 1 from the vectors, because encrypting a key takes long.
pub(crate) fn user() -> User {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/signer/user-plain.json");
    let text = fs::read_to_string(path).unwrap();
    let vector: serde_json::Value = serde_json::from_str(&text).unwrap();
    let bytes = |field: &str| crate::vectors::bytes(&vector[field]);
    User::from_bytes(&bytes("name"), &bytes("value")).unwrap()
}

pub(crate) fn user_key() -> PublicKey {
    *user().key()
}

/// Returns an invited app whose transport key is derived from its number.
pub(crate) fn invitation(number: u32) -> App {
    let transport = secret_key(1_000 + number);
    App::invite(number, user_key(), transport, &connect_secret(), NOW, NOW + 600)
}

/// Returns a rule that allows kind 1 and was used `used` times.
pub(crate) fn rule(number: u32, used: u32) -> RuleRecord {
    let mut bytes = [0; RuleRecord::LEN];
    bytes[..8].copy_from_slice(&[1, 1, 1, 0, 1, 0, 1, 0]);
    bytes[40..44].copy_from_slice(&number.to_le_bytes());
    bytes[44..52].copy_from_slice(&NOW.to_le_bytes());
    bytes[72..76].copy_from_slice(&used.to_le_bytes());
    RuleRecord::new(&bytes).unwrap()
}

/// Returns the number of uses of a rule.
pub(crate) fn used(rule: &RuleRecord) -> u32 {
    u32::from_le_bytes(rule.to_bytes()[72..76].try_into().unwrap())
}
