//! Runs the test vectors of docs/spec/store.md.

use std::fs;
use std::path::{Path, PathBuf};

use endseal_store::{Depth, OpenOptions, OuterKey, SessionStatus, Store, Unlock};

use crate::place::{Place, open};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/store")
}

/// Copies the committed store of a version, without its key file.
fn kept(version: &str) -> Place {
    let place = Place::new();
    fs::create_dir(place.store()).unwrap();
    fs::copy(folder().join(version).join("store.db"), place.store().join("store.db")).unwrap();
    place
}

#[test]
fn key_files_open_the_store_that_they_are_of_or_nothing() {
    let (mut ok, mut refused) = (0, 0);
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let vector: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let text = |name: &str| vector[name].as_str().unwrap().to_owned();
        let secret = unhex(&text("secret"));
        let outer = OuterKey::init_with(|key| {
            if let Ok(bytes) = secret.as_slice().try_into() {
                *key = bytes;
            }
        });
        let unlock = match text("unlock").as_str() {
            "none" => Unlock::None,
            "passphrase" => Unlock::Passphrase(&secret),
            "outer" => Unlock::OuterKey(&outer),
            other => panic!("{other}"),
        };
        let place = kept("v4");
        fs::write(place.store().join("key"), unhex(&text("file"))).unwrap();
        let opened = Store::open(&place.store(), unlock, OpenOptions::new());
        let code = opened.map_or_else(|error| error.code(), |_| "ok");
        assert_eq!(code, text("expect"), "{}", path.display());
        *(if code == "ok" { &mut ok } else { &mut refused }) += 1;
    }
    assert!(ok >= 4 && refused >= 30, "{ok}, {refused}");
}

#[test]
fn a_store_of_version_4_is_what_it_was() {
    is_what_it_was("v4");
}

fn is_what_it_was(version: &str) {
    let place = kept(version);
    fs::copy(folder().join(version).join("key"), place.store().join("key")).unwrap();
    let mut store = open(&place.store()).unwrap();
    assert_eq!(store.check(Depth::ReadData).unwrap(), []);
    assert!(!store.is_restored());
    let transaction = store.begin().unwrap();
    assert_eq!(transaction.record(1, b"").unwrap().unwrap().as_slice(), b"account");
    assert_eq!(transaction.records(2).unwrap()[0].0, b"package");
    let alice = transaction.find_address(&[1; 32], 1).unwrap().unwrap();
    let bob = transaction.find_address(&[2; 32], 7).unwrap().unwrap();
    let row = transaction.address(bob).unwrap().unwrap();
    assert_eq!(row.certificate.unwrap(), b"certificate");
    let team = transaction.find_conversation(b"team").unwrap().unwrap();
    let sessions = transaction.sessions_of(alice).unwrap();
    assert_eq!(sessions.iter().map(|it| it.used).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(sessions[0].status, SessionStatus::ReceiveOnly);
    assert_eq!(sessions[1].status, SessionStatus::Active);
    assert_eq!(sessions[1].state.as_slice(), [1; 1_000]);
    let group = transaction.group(b"team").unwrap().unwrap();
    assert_eq!((group.epoch, group.state.len()), (3, 10_000));
    assert_eq!(transaction.group_epoch(b"team", 2).unwrap().unwrap().as_slice(), b"epoch");
    let inbox = transaction.inbox(0, 9).unwrap();
    assert_eq!(inbox.iter().map(|it| (it.seq, it.kind)).collect::<Vec<_>>(), [(2, 1), (3, 0)]);
    assert_eq!(inbox[0].plaintext.as_slice(), b"at noon");
    let mut messages = transaction.messages().unwrap();
    assert_eq!(messages.seen(team, b"m1").unwrap().unwrap().seq, 1);
    assert_eq!(messages.deliver(team, b"m5", bob, 0, &[0; 16], b"").unwrap(), 4);
    drop(messages);
    let outbox = transaction.outbox(0, 9).unwrap();
    assert_eq!(outbox.iter().map(|it| it.seq).collect::<Vec<_>>(), [2]);
    assert_eq!(transaction.push_outbox(team, None, b"").unwrap(), 3);
    assert_eq!(transaction.cursor(b"queue").unwrap().unwrap(), b"17");
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks(2);
    digits.map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}
