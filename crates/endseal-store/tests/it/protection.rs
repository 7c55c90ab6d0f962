//! Changing the protection of a store.

use std::path::Path;
use std::{env, fs, process};

use endseal_crypto::random::OsRandom;
use endseal_store::{KdfParams, OpenOptions, OpenStoreError, OuterKey, Protection, Store, Unlock};

use crate::faults::{Action, Fault, Kind, Medium, Shim, read_log};
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
fn an_open_store_knows_the_secret_that_opens_it() {
    let place = Place::new();
    let params = KdfParams::MINIMUM;
    let protection = Protection::Passphrase { passphrase: b"one", params };
    let mut store = Store::create(&place.store(), protection, &mut OsRandom).unwrap();
    let outer = OuterKey::from_bytes(&[7; 32]);
    assert!(store.authenticate(Unlock::Passphrase(b"one")).is_ok());
    for other in [Unlock::Passphrase(b"two"), Unlock::None, Unlock::OuterKey(&outer)] {
        assert!(matches!(store.authenticate(other), Err(OpenStoreError::Authentication)));
    }
    store.reprotect(Protection::OuterKey(&outer), &mut OsRandom).unwrap();
    assert!(store.authenticate(Unlock::OuterKey(&outer)).is_ok());
    let old = store.authenticate(Unlock::Passphrase(b"one"));
    assert!(matches!(old, Err(OpenStoreError::Authentication)));
    // A key file that opens under the secret, but belongs to another store.
    let other = Place::new();
    let protection = Protection::OuterKey(&outer);
    drop(Store::create(&other.store(), protection, &mut OsRandom).unwrap());
    fs::copy(other.store().join("key"), place.store().join("key")).unwrap();
    let foreign = store.authenticate(Unlock::OuterKey(&outer));
    assert!(matches!(foreign, Err(OpenStoreError::Authentication)));
    fs::remove_file(place.store().join("key")).unwrap();
    let missing = store.authenticate(Unlock::OuterKey(&outer));
    assert!(matches!(missing, Err(OpenStoreError::Missing)));
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

/// Environment variable of a worker: the store whose protection it changes.
const WORK: &str = "ENDSEAL_STORE_TEST_PROTECT";

const NEW: [u8; 32] = [5; 32];

/// The worker: this test binary as a child process; without the variable it does nothing. It
/// reports the error that it got.
#[test]
fn worker() {
    let Ok(directory) = env::var(WORK) else { return };
    let directory = Path::new(&directory);
    let mut store = Store::open(directory, Unlock::None, OpenOptions::new()).unwrap();
    let new = OuterKey::from_bytes(&NEW);
    let protected = store.reprotect(Protection::OuterKey(&new), &mut OsRandom);
    let said = protected.map_or_else(|error| error.code(), |()| "ok");
    fs::write(directory.parent().unwrap().join("ack"), said).unwrap();
    process::exit(0);
}

/// Every operation of a change fails, and the power is cut after the worker has reported it.
#[test]
fn a_protection_that_failed_is_the_old_one_or_said_to_be_either() {
    // These numbers include each remainder of a division by five.
    fail_protections((0..25).step_by(6));
}

#[test]
#[ignore = "nightly: opens two thousand stores"]
fn a_protection_that_failed_is_one_of_the_two_whatever_the_medium_keeps() {
    fail_protections(0..25);
}

/// Fails each operation of a change, and cuts the power in these ways.
fn fail_protections(ways: impl Iterator<Item = usize> + Clone) {
    let shim = Shim::compile();
    let mut seen = [0; 3];
    for (kind, errno) in [(Kind::Write, Fault::EIO), (Kind::Sync, Fault::EIO)] {
        for at in 1..40 {
            let (place, logs) = (Place::quick(), Place::quick());
            place.create().close().unwrap();
            let log = logs.path().join("log");
            let mut medium = Medium::of(place.path());
            let fault = Fault { at, kind, errno, sticky: false };
            let mut worker = process::Command::new(env::current_exe().unwrap());
            worker.args(["protection::worker", "--exact", "--nocapture", "--test-threads=1"]);
            worker.env(WORK, place.store());
            shim.fail_and_record(&mut worker, place.path(), fault, &log);
            let Some(said) = read_log(&log).into_iter().find_map(|action| {
                medium.apply(&action);
                let Action::Ack(line) = action else { return None };
                Some(String::from_utf8(line).unwrap())
            }) else {
                // The store did not open, so there is nothing to compare.
                continue;
            };
            let new = &OuterKey::from_bytes(&NEW);
            let expected: &[Unlock<'_>] = match said.as_str() {
                "ok" => &[Unlock::OuterKey(new)],
                "uncertain" => &[Unlock::OuterKey(new), Unlock::None],
                _ => &[Unlock::None],
            };
            seen[expected.len() - 1] += 1;
            seen[2] += usize::from(said == "io");
            for way in ways.clone() {
                let left = Place::quick();
                let left = left.path().join("cut");
                // Decides whether unsynced names are kept, and which part of the files.
                let mut roll = |below| if below == 5 { way % 5 } else { way % below };
                medium.cut(place.path(), &left, &mut roll);
                let opened = expected.iter().any(|&secret| {
                    Store::open(&left.join("store"), secret, OpenOptions::new()).is_ok()
                });
                assert!(opened, "{fault:?}: {said}, {way}");
            }
        }
    }
    assert!(seen.iter().all(|times| *times > 0), "{seen:?}");
}
