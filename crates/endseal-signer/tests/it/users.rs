//! Tests of users' keys under the signer's passphrase.

use std::fs;

use endseal_crypto::random::OsRandom;
use endseal_signer::{
    BoundedText, ChangePassphraseError, ImportError, Matter, OpenSignerError, SignerStore,
    StateError, UnlockError, User,
};
use endseal_store::{CreateStoreError, KdfParams, OpenOptions, OpenStoreError};

use crate::world::{NOW, PASSPHRASE, World, public_key, secret_key};

#[test]
fn a_key_is_imported_logged_and_unlocked() {
    let (world, mut signer) = World::new();
    let label = || BoundedText::new("main").unwrap();
    let key = secret_key(1);
    let imported = signer.import(&key, PASSPHRASE, label(), NOW, &mut OsRandom).unwrap();
    assert_eq!(imported, public_key(1));
    drop(signer);
    let mut signer = world.open();
    let keys = signer.unlock(PASSPHRASE).unwrap();
    assert!(keys.get(&imported).unwrap().secret_key() == &key);
    assert!(keys.get(&public_key(2)).is_none());
    assert_eq!(keys.iter().count(), 1);
    assert_eq!(signer.state().user(&imported).unwrap().label(), &label());
    let lines = signer.log_lines(0, 10).unwrap();
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0].entry.matter, Matter::UserImported);
    assert_eq!(lines[0].entry.peer, imported.to_bytes());
    assert_eq!(lines[0].entry.text.as_str(), "main");
    // The key cannot be imported twice.
    let again = signer.import(&key, PASSPHRASE, label(), NOW, &mut OsRandom);
    assert!(matches!(again, Err(ImportError::State(StateError::UserExists))));
    assert_eq!(signer.state().head().number, 1);
    assert!(!signer.is_stale());
}

#[test]
fn a_wrong_passphrase_is_one_error() {
    let (world, mut signer) = World::new();
    // The passphrase is checked even if there is no user key.
    assert!(matches!(signer.unlock("wrong").err(), Some(UnlockError::Passphrase)));
    assert!(signer.unlock(PASSPHRASE).is_ok());
    let label = BoundedText::default();
    let refused = signer.import(&secret_key(1), "wrong", label, NOW, &mut OsRandom);
    assert!(matches!(refused, Err(ImportError::Unlock(UnlockError::Passphrase))));
    assert_eq!((signer.state().users().len(), signer.state().head().number), (0, 0));

    // The key is encrypted under another passphrase than the signer's.
    let user = User::seal(&secret_key(1), "other", BoundedText::default(), NOW, &mut OsRandom);
    let user = user.unwrap();
    assert!(matches!(user.open(PASSPHRASE).err(), Some(UnlockError::Passphrase)));
    let mut transaction = signer.begin().unwrap();
    transaction.add_user(user).unwrap();
    transaction.commit().unwrap();
    assert!(matches!(signer.unlock(PASSPHRASE).err(), Some(UnlockError::Key)));
    assert!(matches!(signer.unlock("other").err(), Some(UnlockError::Passphrase)));
    drop(signer);
    let opened = SignerStore::open(&world.path(), "wrong", OpenOptions::new()).err();
    assert!(matches!(opened, Some(OpenSignerError::Open(OpenStoreError::Authentication))));
}

/// The record of one user is stored under the name of another.
#[test]
fn a_key_that_is_not_the_users_is_refused() {
    let user = User::seal(&secret_key(1), "p", BoundedText::default(), NOW, &mut OsRandom);
    let other = public_key(2).to_bytes();
    let user = User::from_bytes(&other, &user.unwrap().to_bytes()).unwrap();
    assert!(matches!(user.open("p").err(), Some(UnlockError::Key)));
}

#[test]
fn a_signer_is_made_once_and_continued_if_its_making_was_interrupted() {
    let (world, signer) = World::new();
    drop(signer);
    let again = SignerStore::create(&world.path(), "p", KdfParams::MINIMUM, &mut OsRandom);
    assert!(matches!(
        again.err(),
        Some(endseal_signer::CreateSignerError::Create(CreateStoreError::Exists))
    ));
    // The store exists but has no settings.
    let mut store = world.store();
    let transaction = store.begin().unwrap();
    assert!(transaction.remove_record(1, &[]).unwrap());
    transaction.commit().unwrap();
    store.close().unwrap();
    assert_eq!(world.open().state().settings().next_app, 1);
}

/// No record and no file of the store contains a secret key in plain text.
#[test]
fn no_file_holds_a_key_in_plain() {
    let (world, mut signer) = World::new();
    let label = BoundedText::default();
    signer.import(&secret_key(1), PASSPHRASE, label, NOW, &mut OsRandom).unwrap();
    drop(signer);
    let mut store = world.store();
    let transaction = store.read().unwrap();
    let key = secret_key(1);
    let holds = |bytes: &[u8], key: &[u8]| bytes.windows(key.len()).any(|window| window == key);
    for kind in 1..=8 {
        for (_, value) in transaction.records_after(kind, &[], 100).unwrap() {
            assert!(!holds(&value, key.expose_secret()));
        }
    }
    drop(transaction);
    drop(store);
    for file in ["store.db", "store.db-wal", "key", "lock"] {
        let Ok(bytes) = fs::read(world.path().join(file)) else { continue };
        assert!(!holds(&bytes, key.expose_secret()), "{file}");
        assert!(!holds(&bytes, b"ncryptsec1"), "{file}");
    }
}

#[test]
fn the_passphrase_is_changed_for_the_store_and_all_keys() {
    let (world, mut signer) = World::new();
    for number in [1, 2] {
        let key = secret_key(number);
        signer.import(&key, PASSPHRASE, BoundedText::default(), NOW, &mut OsRandom).unwrap();
    }
    let minimum = KdfParams::MINIMUM;
    let wrong = signer.change_passphrase("wrong", "next", minimum, &mut OsRandom);
    assert!(matches!(wrong.err(), Some(ChangePassphraseError::Unlock(UnlockError::Passphrase))));
    signer.change_passphrase(PASSPHRASE, "next", minimum, &mut OsRandom).unwrap();
    assert!(matches!(signer.unlock(PASSPHRASE).err(), Some(UnlockError::Passphrase)));
    drop(signer);
    let old = SignerStore::open(&world.path(), PASSPHRASE, OpenOptions::new()).err();
    assert!(matches!(old, Some(OpenSignerError::Open(OpenStoreError::Authentication))));
    let signer = SignerStore::open(&world.path(), "next", OpenOptions::new()).unwrap();
    let keys = signer.unlock("next").unwrap();
    for number in [1, 2] {
        assert!(keys.get(&public_key(number)).unwrap().secret_key() == &secret_key(number));
        let user = signer.state().user(&public_key(number)).unwrap();
        assert!(matches!(user.open(PASSPHRASE).err(), Some(UnlockError::Passphrase)));
    }
}

/// A process that is killed leaves the key file of before or after, and records with both keys.
#[test]
fn a_change_that_was_interrupted_leaves_one_passphrase_in_force() {
    let (world, mut signer) = World::new();
    let import = |signer: &mut SignerStore, passphrase| {
        let label = BoundedText::default();
        signer.import(&secret_key(1), passphrase, label, NOW, &mut OsRandom).unwrap();
    };
    import(&mut signer, PASSPHRASE);
    drop(signer);
    let key_file = world.path().join("key");
    let before = fs::read(&key_file).unwrap();
    let mut signer = world.open();
    let first = signer.state().user(&public_key(1)).unwrap().to_bytes().to_vec();
    let minimum = KdfParams::MINIMUM;
    signer.change_passphrase(PASSPHRASE, "next", minimum, &mut OsRandom).unwrap();
    let second = signer.state().user(&public_key(1)).unwrap().to_bytes().to_vec();
    drop(signer);
    let after = fs::read(&key_file).unwrap();
    // The record while it changes: the former value, and the key under the next passphrase.
    let both = [&first[..], &second[second.len() - 162..]].concat();
    for (file, passphrase) in [(&before, PASSPHRASE), (&after, "next")] {
        fs::write(&key_file, file).unwrap();
        let signer = SignerStore::open(&world.path(), passphrase, OpenOptions::new()).unwrap();
        let user = User::from_bytes(&public_key(1).to_bytes(), &both).unwrap();
        assert!(user.open(passphrase).unwrap().secret_key() == &secret_key(1));
        assert_eq!(user.to_bytes().to_vec(), both);
        drop(signer);
    }
    assert!(matches!(
        User::from_bytes(&public_key(1).to_bytes(), &both).unwrap().open("other").err(),
        Some(UnlockError::Passphrase)
    ));
    // With the records of after and the key file of after it is complete.
    let mut signer = SignerStore::open(&world.path(), "next", OpenOptions::new()).unwrap();
    assert!(signer.unlock("next").is_ok());
    signer.change_passphrase("next", "third", minimum, &mut OsRandom).unwrap();
    assert!(signer.unlock("third").is_ok());
}
