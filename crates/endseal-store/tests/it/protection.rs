//! Changing what protects a store.

use std::fs;

use endseal_crypto::random::OsRandom;
use endseal_store::{KdfParams, OpenOptions, OpenStoreError, OuterKey, Protection, Store, Unlock};

use crate::place::Place;

#[test]
fn a_new_protection_takes_the_place_of_the_old_one() {
    let place = Place::new();
    let mut store = place.create();
    let outer = OuterKey::from_bytes(&[7; 32]);
    let params = KdfParams::MINIMUM;
    let mut old = Unlock::None;
    for (protection, new) in [
        (Protection::Passphrase { passphrase: b"one", params }, Unlock::Passphrase(b"one")),
        (Protection::Passphrase { passphrase: b"two", params }, Unlock::Passphrase(b"two")),
        (Protection::OuterKey(&outer), Unlock::OuterKey(&outer)),
        (Protection::None, Unlock::None),
    ] {
        let transaction = store.begin().unwrap();
        transaction.put_record(1, b"", b"kept").unwrap();
        transaction.commit().unwrap();
        store.checkpoint().unwrap();
        let database = || fs::read(place.store().join("store.db")).unwrap();
        let before = database();
        store.reprotect(protection, &mut OsRandom).unwrap();
        assert!(before == database(), "the database is not written anew");
        assert_eq!(fs::read_dir(place.store()).unwrap().count(), 4);
        store.close().unwrap();
        let refused = Store::open(&place.store(), old, OpenOptions::new());
        assert!(matches!(refused, Err(OpenStoreError::Authentication)));
        store = Store::open(&place.store(), new, OpenOptions::new()).unwrap();
        let kept = store.read().unwrap().record(1, b"").unwrap().unwrap();
        assert_eq!(kept.as_slice(), b"kept");
        old = new;
    }
}

#[test]
fn a_key_file_elsewhere_is_protected_anew_there() {
    let place = Place::new();
    place.create().close().unwrap();
    let key = place.path().join("medium");
    fs::rename(place.store().join("key"), &key).unwrap();
    let options = OpenOptions::new().key_file(&key);
    let mut store = Store::open(&place.store(), Unlock::None, options.clone()).unwrap();
    let outer = OuterKey::from_bytes(&[7; 32]);
    store.reprotect(Protection::OuterKey(&outer), &mut OsRandom).unwrap();
    store.close().unwrap();
    assert!(!place.store().join("key").exists());
    Store::open(&place.store(), Unlock::OuterKey(&outer), options).unwrap();
}
