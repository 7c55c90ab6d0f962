//! Creating, opening and closing a store; transactions are applied completely or not at all.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::thread;

use endseal_crypto::random::OsRandom;
use endseal_store::{CreateStoreError, KdfParams, OpenOptions, OpenStoreError, OuterKey};
use endseal_store::{Protection, ProtectionKind, Store, Unlock};

use crate::place::{Place, open};

fn code(opened: Result<Store, OpenStoreError>) -> &'static str {
    opened.map_or_else(|error| error.code(), |_| "ok")
}

#[test]
fn what_was_committed_is_there_after_reopening() {
    let place = Place::new();
    let mut store = place.create();
    let id = *store.id();
    let transaction = store.begin().unwrap();
    transaction.put_record(1, b"a", b"one").unwrap();
    transaction.commit().unwrap();
    let generation = store.generation();
    store.close().unwrap();

    let mut store = place.open();
    assert_eq!(*store.id(), id);
    assert!(store.generation() > generation);
    assert!(!store.is_restored() && !store.is_uncertain());
    assert_eq!(store.read().unwrap().record(1, b"a").unwrap().unwrap().as_slice(), b"one");
}

#[test]
fn a_dropped_transaction_leaves_nothing() {
    let place = Place::new();
    let mut store = place.create();
    let transaction = store.begin().unwrap();
    transaction.put_record(1, b"a", b"one").unwrap();
    let conversation = transaction.conversation_ref(b"c").unwrap();
    let sender = transaction.address_ref(&[1; 32], 1).unwrap();
    let mut messages = transaction.messages().unwrap();
    assert_eq!(messages.deliver(conversation, b"m", sender, 0, &[0; 16], b"text").unwrap(), 1);
    drop(messages);
    drop(transaction);

    let transaction = store.begin().unwrap();
    assert!(transaction.record(1, b"a").unwrap().is_none());
    assert_eq!(transaction.find_conversation(b"c").unwrap(), None);
    assert_eq!(transaction.find_address(&[1; 32], 1).unwrap(), None);
    assert_eq!(transaction.inbox_len().unwrap(), 0);
    let conversation = transaction.conversation_ref(b"c").unwrap();
    let sender = transaction.address_ref(&[1; 32], 1).unwrap();
    let mut messages = transaction.messages().unwrap();
    assert_eq!(messages.seen(conversation, b"m").unwrap(), None);
    // The number is used again, because no other party has seen it.
    assert_eq!(messages.deliver(conversation, b"m", sender, 0, &[0; 16], b"text").unwrap(), 1);
}

#[test]
fn every_protection_opens_with_its_secret_alone() {
    let outer = OuterKey::from_bytes(&[7; 32]);
    let other = OuterKey::from_bytes(&[8; 32]);
    let passphrase = b"correct horse".as_slice();
    let minimum = KdfParams::MINIMUM;
    let kinds = [
        (Protection::None, ProtectionKind::None),
        (
            Protection::Passphrase { passphrase, params: minimum },
            ProtectionKind::Passphrase(minimum),
        ),
        (Protection::OuterKey(&outer), ProtectionKind::OuterKey),
    ];
    for (right, (protection, kind)) in kinds.into_iter().enumerate() {
        let place = Place::new();
        Store::create(&place.store(), protection, &mut OsRandom).unwrap().close().unwrap();
        assert_eq!(Store::protection(&place.store(), &OpenOptions::new()).unwrap(), kind);
        let secrets = [
            Unlock::None,
            Unlock::Passphrase(passphrase),
            Unlock::OuterKey(&outer),
            Unlock::Passphrase(b"correct horsf"),
            Unlock::Passphrase(b""),
            Unlock::OuterKey(&other),
        ];
        for (i, secret) in secrets.into_iter().enumerate() {
            let expected = if i == right { "ok" } else { "authentication" };
            let opened = Store::open(&place.store(), secret, OpenOptions::new());
            assert_eq!(code(opened), expected, "protection {right}, secret {i}");
        }
    }
}

#[test]
fn a_store_is_made_where_nothing_is() {
    let place = Place::new();
    place.create().close().unwrap();
    let make = || Store::create(&place.store(), Protection::None, &mut OsRandom);
    assert!(matches!(make(), Err(CreateStoreError::Exists)));
    // The store does not open either if its key file has been moved.
    fs::rename(place.store().join("key"), place.path().join("key")).unwrap();
    assert!(matches!(make(), Err(CreateStoreError::Exists)));
    assert_eq!(code(open(&place.store())), "missing");
    let options = OpenOptions::new().key_file(&place.path().join("key"));
    assert_eq!(code(Store::open(&place.store(), Unlock::None, options)), "ok");

    let file = place.path().join("file");
    fs::write(&file, b"a file").unwrap();
    let made = Store::create(&file, Protection::None, &mut OsRandom);
    assert!(matches!(made, Err(CreateStoreError::Exists | CreateStoreError::Io(_))));
    assert_eq!(fs::read(&file).unwrap(), b"a file");
    assert_eq!(code(open(&file)), "missing");
    assert_eq!(code(open(&place.path().join("nothing"))), "missing");

    let empty = place.path().join("empty");
    fs::create_dir(&empty).unwrap();
    assert_eq!(code(open(&empty)), "missing");
    assert_eq!(fs::read_dir(&empty).unwrap().count(), 0);
    Store::create(&empty, Protection::None, &mut OsRandom).unwrap();
}

#[test]
fn no_one_else_may_read_it() {
    let place = Place::new();
    let mut store = place.create();
    let transaction = store.begin().unwrap();
    transaction.put_record(1, b"", b"").unwrap();
    transaction.commit().unwrap();
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(place.store()), 0o700);
    for name in ["store.db", "store.db-wal", "key", "lock"] {
        assert_eq!(mode(place.store().join(name)), 0o600, "{name}");
    }
    assert_eq!(fs::read_dir(place.store()).unwrap().count(), 4);
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
}

#[test]
fn a_second_opening_is_refused() {
    let place = Place::new();
    let store = place.create();
    assert_eq!(code(open(&place.store())), "locked");
    store.close().unwrap();
    assert_eq!(code(open(&place.store())), "ok");
}

#[test]
fn a_store_and_a_transaction_go_to_other_threads() {
    let place = Place::new();
    let mut store = place.create();
    thread::scope(|scope| {
        let store = &mut store;
        scope.spawn(move || {
            let transaction = store.begin().unwrap();
            transaction.put_record(1, b"", b"thread").unwrap();
            thread::scope(|scope| {
                scope.spawn(move || transaction.commit().unwrap());
            });
        });
    });
    let read = thread::spawn(move || store.read().unwrap().record(1, b"").unwrap().unwrap());
    assert_eq!(read.join().unwrap().as_slice(), b"thread");
}
