//! Damaged stores: damage is found, refused, and not changed.

use std::fs;
use std::path::Path;

use endseal_store::{Depth, OpenOptions, OpenStoreError, Store, StoreError, Unlock};
use endseal_testing::SplitMix64;

use crate::batches::{count, write};
use crate::place::{Place, open};

const FILES: [&str; 4] = ["store.db", "store.db-wal", "key", "lock"];

/// Returns a closed store with some pages in each of its larger tables.
fn filled() -> Place {
    let place = Place::quick();
    let mut store = place.create();
    for batch in 0..5 {
        write(&mut store, batch, 100).unwrap();
    }
    store.close().unwrap();
    place
}

fn read_all(directory: &Path) -> Vec<Option<Vec<u8>>> {
    FILES.iter().map(|name| fs::read(directory.join(name)).ok()).collect()
}

/// Reads everything that the workload wrote.
fn read_through(store: &mut Store) -> Result<(), StoreError> {
    let transaction = store.begin()?;
    let inbox = transaction.inbox(0, usize::MAX)?;
    let mut messages = transaction.messages()?;
    for message in inbox {
        messages.seen(message.conversation, &message.message)?;
    }
    drop(messages);
    transaction.sessions()?;
    transaction.outbox(0, usize::MAX)?;
    Ok(())
}

#[test]
fn changed_bytes_are_found_and_left_as_they_are() {
    let place = filled();
    let database = place.store().join("store.db");
    let whole = read_all(&place.store());
    let (mut dice, mut refused, mut found) = (SplitMix64::new(2), 0, 0);
    for case in 0..300 {
        let mut damaged = whole[0].clone().unwrap();
        // Changes a byte, several bytes, or a page to zeros.
        let at = dice.below(damaged.len());
        match dice.below(3) {
            0 => damaged[at] ^= 1 << dice.below(8),
            1 => {
                let end = damaged.len().min(at + 1 + dice.below(600));
                damaged[at..end].iter_mut().for_each(|byte| *byte = !*byte);
            }
            _ => damaged[at / 4096 * 4096..][..4096].fill(0),
        }
        for (name, content) in FILES.iter().zip(&whole) {
            fs::write(place.store().join(name), content.as_ref().unwrap()).unwrap();
        }
        fs::write(&database, &damaged).unwrap();
        let before = read_all(&place.store());
        match open(&place.store()) {
            Err(OpenStoreError::Damaged(_)) => {
                assert!(before == read_all(&place.store()), "case {case}: a file was changed");
                refused += 1;
            }
            Err(error) => panic!("case {case}: {error:?}"),
            Ok(mut store) => {
                let findings = store.check(Depth::ReadData).unwrap();
                assert_ne!(findings, [], "case {case}: byte {at}");
                drop(store);
                // Without a check, each read returns right data or an error.
                for (name, content) in FILES.iter().zip(&whole) {
                    fs::write(place.store().join(name), content.as_ref().unwrap()).unwrap();
                }
                fs::write(&database, &damaged).unwrap();
                if let Ok(mut store) = open(&place.store()) {
                    match read_through(&mut store) {
                        Ok(()) | Err(StoreError::Damaged(_)) => found += 1,
                        Err(error) => panic!("case {case}: {error:?}"),
                    }
                }
            }
        }
    }
    assert!(refused > 10 && found > 10, "{refused}, {found}");
}

#[test]
fn damage_that_was_met_is_looked_for_until_a_check_is_good() {
    let place = filled();
    let database = place.store().join("store.db");
    let whole = fs::read(&database).unwrap();
    let flip = |at: usize| {
        let mut bytes = fs::read(&database).unwrap();
        bytes[at] ^= 1;
        fs::write(&database, &bytes).unwrap();
    };
    let mut met = 0;
    for page in 1..whole.len() / 4096 {
        let at = page * 4096 + 1_000;
        flip(at);
        let Ok(mut store) = open(&place.store()) else {
            // The damage is found when the store is opened.
            flip(at);
            continue;
        };
        let damaged = read_through(&mut store).is_err();
        drop(store);
        let opened = open(&place.store());
        assert_eq!(opened.is_err(), damaged, "page {page}");
        drop(opened);
        // After restoring the byte the store opens, and the next opening does not read all of it.
        flip(at);
        let mut store = open(&place.store()).unwrap();
        assert_eq!(store.check(Depth::ReadData).unwrap(), []);
        drop(store);
        met += usize::from(damaged);
        if damaged {
            assert_eq!(fs::read(place.store().join("lock")).unwrap()[8], 0);
        }
    }
    assert!(met > 10, "{met}");
}

/// Two stores of one thread have transactions at the same time, and damage is reported only for the
/// damaged one.
#[test]
fn damage_is_that_of_the_store_that_met_it() {
    let (place, other) = (filled(), filled());
    let database = place.store().join("store.db");
    let whole = fs::read(&database).unwrap();
    let is_marked =
        |place: &Place| fs::read(place.store().join("lock")).unwrap().get(8) == Some(&1);
    let mut other_store = other.open();
    let mut met = 0;
    for page in 1..whole.len() / 4096 {
        let mut damaged = whole.clone();
        damaged[page * 4096 + 1_000] ^= 1;
        fs::write(&database, &damaged).unwrap();
        if let Ok(mut store) = open(&place.store()) {
            let transaction = store.read().unwrap();
            let read = transaction.inbox(0, usize::MAX).map(drop);
            if read.and_then(|()| transaction.outbox(0, usize::MAX).map(drop)).is_err() {
                drop(other_store.read().unwrap());
                assert!(!other_store.is_uncertain() && !is_marked(&other), "page {page}");
                drop(transaction);
                assert!(store.is_uncertain() && is_marked(&place), "page {page}");
                met += 1;
            }
        }
        let _ = fs::remove_file(place.store().join("store.db-wal"));
        fs::remove_file(place.store().join("lock")).unwrap();
    }
    assert!(met > 5, "{met}");
}

#[test]
fn a_check_with_findings_is_remembered_and_a_good_one_clears_it() {
    let place = filled();
    let database = place.store().join("store.db");
    let lock = || fs::read(place.store().join("lock")).unwrap().get(8).copied();
    let mut store = place.open();
    let whole = fs::read(&database).unwrap();
    let mut damaged = whole.clone();
    let last = damaged.len() - 2_000;
    damaged[last] ^= 1;
    fs::write(&database, &damaged).unwrap();
    assert_ne!(store.check(Depth::ReadData).unwrap(), []);
    assert_eq!(lock(), Some(1));
    drop(store);
    let mut undone = fs::read(&database).unwrap();
    undone[last] ^= 1;
    fs::write(&database, &undone).unwrap();
    let mut store = place.open();
    assert_eq!(lock(), Some(0));
    assert_eq!(store.check(Depth::ReadData).unwrap(), []);
}

#[test]
fn a_cut_database_is_refused_and_left_as_it_is() {
    let place = filled();
    let database = place.store().join("store.db");
    let whole = fs::read(&database).unwrap();
    let mut dice = SplitMix64::new(3);
    for case in 0..40 {
        let len = if case == 0 { 0 } else { dice.below(whole.len()) };
        fs::write(&database, &whole[..len]).unwrap();
        let before = read_all(&place.store());
        let opened = open(&place.store());
        assert!(matches!(opened, Err(OpenStoreError::Damaged(_))), "{len} bytes");
        assert!(before == read_all(&place.store()), "{len} bytes: a file was changed");
    }
}

#[test]
fn a_cut_log_gives_what_was_committed_before() {
    let place = Place::quick();
    let mut store = place.create();
    for batch in 0..5 {
        write(&mut store, batch, 50).unwrap();
    }
    // The state that a process leaves that is killed here: the files are copied as they are.
    let whole = read_all(&place.store());
    drop(store);
    let mut dice = SplitMix64::new(4);
    let log_len = whole[1].as_ref().unwrap().len();
    let mut seen = [0; 6];
    for case in 0..40 {
        let left = Place::quick();
        fs::create_dir(left.store()).unwrap();
        for (name, content) in FILES.iter().zip(&whole) {
            fs::write(left.store().join(name), content.as_ref().unwrap()).unwrap();
        }
        let len = if case == 0 { log_len } else { dice.below(log_len) };
        let log = whole[1].as_ref().unwrap();
        fs::write(left.store().join("store.db-wal"), &log[..len]).unwrap();
        let mut store = open(&left.store()).unwrap();
        let there = count(&mut store, 50);
        seen[usize::try_from(there).unwrap()] += 1;
        assert!(case > 0 || there == 5);
        // Without a session nothing waits for a reset.
        assert_eq!(store.is_restored(), (1..5).contains(&there));
    }
    assert!(seen.iter().filter(|times| **times > 0).count() >= 4, "{seen:?}");
}

#[test]
fn a_log_that_was_lost_whole_is_an_older_store() {
    let place = Place::quick();
    let mut store = place.create();
    write(&mut store, 0, 10).unwrap();
    store.close().unwrap();
    let mut store = place.open();
    write(&mut store, 1, 10).unwrap();
    let whole = read_all(&place.store());
    drop(store);
    for (name, content) in FILES.iter().zip(&whole) {
        fs::write(place.store().join(name), content.as_ref().unwrap()).unwrap();
    }
    fs::write(place.store().join("store.db-wal"), b"").unwrap();
    let mut store = place.open();
    assert_eq!(count(&mut store, 10), 1);
    assert!(store.is_restored());
}

#[test]
fn files_that_are_missing_or_something_else_are_refused() {
    let place = filled();
    let code = || {
        let opened = Store::open(&place.store(), Unlock::None, OpenOptions::new());
        opened.map_or_else(|error| error.code(), |_| "ok")
    };
    for (name, expected) in [("key", "missing"), ("store.db", "missing")] {
        let (path, aside) = (place.store().join(name), place.path().join(name));
        fs::rename(&path, &aside).unwrap();
        assert_eq!(code(), expected);
        assert!(!path.exists());
        fs::rename(&aside, &path).unwrap();
        assert_eq!(code(), "ok");
    }
    // Without its lock the store opens, because later generations are unknown.
    fs::remove_file(place.store().join("lock")).unwrap();
    assert_eq!(code(), "ok");
    // A damaged lock is ignored as well, as long as it names no later generation.
    fs::write(place.store().join("lock"), b"\0\0\0").unwrap();
    assert_eq!(code(), "ok");

    // The database of another store.
    let other = filled();
    let (path, aside) = (place.store().join("store.db"), place.path().join("aside"));
    fs::rename(&path, &aside).unwrap();
    fs::copy(other.store().join("store.db"), &path).unwrap();
    assert_eq!(code(), "damaged");
    fs::write(&path, b"SQLite format 3\0").unwrap();
    assert_eq!(code(), "damaged");
    fs::rename(&aside, &path).unwrap();
    assert_eq!(code(), "ok");
}
