//! Backups, restoring older copies, export, and statistics.

use std::fs;
use std::path::Path;

use endseal_crypto::random::OsRandom;
use endseal_crypto::secret::Zeroizing;
use endseal_store::{
    BackupError, Depth, GroupRow, Protection, RestoreError, SessionRow, SessionStatus, Store,
    Unlock, WriteTransaction,
};

use crate::batches::{count, write};
use crate::place::{Place, open};

fn statuses(store: &mut Store) -> Vec<SessionStatus> {
    let sessions = store.read().unwrap().sessions().unwrap();
    sessions.iter().map(|session| session.status).collect()
}

/// Creates three sessions, of which one may send, and a group.
fn fill(store: &mut Store) {
    let transaction = store.begin().unwrap();
    let address = transaction.address_ref(&[1; 32], 1).unwrap();
    let state = || Zeroizing::new(vec![7; 100]);
    for (tag, status) in [
        (1, SessionStatus::Active),
        (2, SessionStatus::ReceiveOnly),
        (3, SessionStatus::NeedsReset),
    ] {
        let row = SessionRow { tag: [tag; 8], engine: 1, status, used: 1, state: state() };
        transaction.put_session(address, &row).unwrap();
    }
    let group = GroupRow { status: SessionStatus::Active, epoch: 1, state: state() };
    transaction.put_group(b"team", &group).unwrap();
    transaction.commit().unwrap();
}

/// Resets the sessions that wait for it. The store stays `restored` until the group is reset, too.
fn reset(store: &mut Store) {
    use SessionStatus::{Active, NeedsReset, ReceiveOnly};
    assert!(store.is_restored());
    assert_eq!(statuses(store), [NeedsReset, ReceiveOnly, NeedsReset]);
    assert_eq!(store.read().unwrap().group(b"team").unwrap().unwrap().status, NeedsReset);
    let transaction = store.begin().unwrap();
    let address = transaction.address_ref(&[1; 32], 1).unwrap();
    transaction.set_session_status(address, &[1; 8], ReceiveOnly).unwrap();
    assert!(transaction.remove_session(address, &[3; 8]).unwrap());
    // A new session may send, even if others wait for a reset.
    let state = Zeroizing::new(vec![8; 100]);
    let row = SessionRow { tag: [4; 8], engine: 1, status: Active, used: 2, state };
    transaction.put_session(address, &row).unwrap();
    transaction.commit().unwrap();
    assert!(store.is_restored(), "the group waits still");
}

fn reset_group(store: &mut Store) {
    let transaction = store.begin().unwrap();
    let mut group = transaction.group(b"team").unwrap().unwrap();
    group.status = SessionStatus::Active;
    transaction.put_group(b"team", &group).unwrap();
    // A dropped transaction changes nothing.
    drop(transaction);
    assert!(store.is_restored());
    let transaction = store.begin().unwrap();
    transaction.put_group(b"team", &group).unwrap();
    transaction.commit().unwrap();
    assert!(!store.is_restored());
}

#[test]
fn an_older_copy_does_not_send_until_it_was_reset() {
    let place = Place::new();
    let mut store = place.create();
    fill(&mut store);
    store.close().unwrap();
    let database = place.store().join("store.db");
    let older = fs::read(&database).unwrap();

    // After another opening, the copy is an older one.
    let store = place.open();
    assert!(!store.is_restored());
    let generation = store.generation();
    store.close().unwrap();
    fs::write(&database, &older).unwrap();
    let mut store = place.open();
    assert!(store.generation() > generation + 1, "a number is never given out twice");
    reset(&mut store);
    store.close().unwrap();

    // After reopening, the new session still sends and the group still waits.
    let mut store = place.open();
    assert!(store.is_restored());
    assert!(statuses(&mut store).contains(&SessionStatus::Active));
    reset_group(&mut store);
    store.close().unwrap();
    let mut store = place.open();
    assert!(!store.is_restored());
    assert!(statuses(&mut store).contains(&SessionStatus::Active));
}

/// Files of a store in use are copied, the store is used further and its process is killed; then
/// the copy is put in place, beside the latest `lock`.
#[test]
fn an_older_copy_of_an_opening_that_was_killed_does_not_send_until_it_was_reset() {
    let place = Place::new();
    let mut store = place.create();
    fill(&mut store);
    let files = ["store.db", "store.db-wal"];
    for unsynced in [false, true] {
        let older = files.map(|file| fs::read(place.store().join(file)).unwrap());
        let put = |transaction: WriteTransaction<'_>| {
            transaction.put_record(1, b"", b"a chain goes on").unwrap();
            transaction.commit().unwrap();
        };
        if unsynced {
            put(store.begin_unsynced().unwrap());
            store.checkpoint().unwrap();
            store.sync().unwrap();
        } else {
            put(store.begin().unwrap());
        }
        // Copied without closing, as a process that is killed leaves it.
        let killed = place.path().join(format!("killed-{unsynced}"));
        fs::create_dir(&killed).unwrap();
        for file in ["store.db", "store.db-wal", "key", "lock"] {
            fs::copy(place.store().join(file), killed.join(file)).unwrap();
        }
        let mut latest = open(&killed).unwrap();
        assert!(!latest.is_restored());
        assert!(statuses(&mut latest).contains(&SessionStatus::Active));
        latest.close().unwrap();

        for (file, bytes) in files.iter().zip(&older) {
            fs::write(killed.join(file), bytes).unwrap();
        }
        fs::copy(place.store().join("lock"), killed.join("lock")).unwrap();
        let mut older = open(&killed).unwrap();
        reset(&mut older);
    }
}

#[test]
fn a_copy_without_anything_that_sends_is_not_called_restored() {
    let place = Place::new();
    place.create().close().unwrap();
    let database = place.store().join("store.db");
    let older = fs::read(&database).unwrap();
    place.open().close().unwrap();
    fs::write(&database, &older).unwrap();
    assert!(!place.open().is_restored());
}

#[test]
fn a_backup_reports_how_far_it_is() {
    let place = Place::new();
    let mut store = place.create();
    (0..10).for_each(|batch| write(&mut store, batch, 5_000).unwrap());
    let (backup, mut seen) = (place.path().join("backup"), Vec::new());
    store.backup_with(&backup, &mut |done, total| seen.push((done, total))).unwrap();
    let len = fs::metadata(backup.join("store.db")).unwrap().len();
    assert!(seen.len() > 2 && seen.is_sorted(), "{seen:?}");
    let (done, total) = *seen.last().unwrap();
    assert!(seen.iter().all(|seen| seen.1 == total) && done == total, "{seen:?}");
    // The mark of a restored store may need another page.
    assert!((len - 4 * 4096..=len).contains(&total), "{len}: {total}");
    let mut copy = Store::restore(&backup, &place.path().join("restored"), Unlock::None).unwrap();
    assert_eq!(copy.check(Depth::ReadData).unwrap(), []);
    assert_eq!(copy.read().unwrap().inbox_len().unwrap(), 50_000);
}

#[test]
fn a_backup_is_the_store_but_does_not_send() {
    let place = Place::new();
    let backup = place.path().join("backup");
    let mut store = place.create();
    let id = *store.id();
    fill(&mut store);
    write(&mut store, 0, 100).unwrap();
    let statistics = store.statistics().unwrap();
    store.backup(&backup).unwrap();
    let names: Vec<_> =
        fs::read_dir(&backup).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(names.len() == 2 && names.iter().all(|name| name == "key" || name == "store.db"));
    assert!(matches!(store.backup(&backup), Err(BackupError::Exists)));
    // The original store continues as before.
    assert!(!store.is_restored());
    assert_eq!(statuses(&mut store)[0], SessionStatus::Active);
    write(&mut store, 1, 100).unwrap();

    let restored = place.path().join("restored");
    let mut copy = Store::restore(&backup, &restored, Unlock::None).unwrap();
    assert!(copy.is_restored());
    assert_eq!(*copy.id(), id);
    assert!(!statuses(&mut copy).contains(&SessionStatus::Active));
    assert_eq!(copy.statistics().unwrap().rows, statistics.rows);
    assert_eq!(copy.check(Depth::ReadData).unwrap(), []);
    assert_eq!(copy.read().unwrap().inbox_len().unwrap(), 100);
    copy.close().unwrap();
    assert!(open(&restored).unwrap().is_restored());

    let again = Store::restore(&backup, &restored, Unlock::None);
    assert!(matches!(again.err().map(|it| it.code()), Some("exists")));
    let wrong = Store::restore(&backup, &place.path().join("wrong"), Unlock::Passphrase(b"x"));
    assert!(matches!(wrong.err().map(|it| it.code()), Some("authentication")));
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 3);
}

#[test]
fn a_damaged_backup_is_refused_and_leaves_nothing() {
    let place = Place::new();
    let backup = place.path().join("backup");
    let mut store = place.create();
    write(&mut store, 0, 100).unwrap();
    store.backup(&backup).unwrap();
    let database = backup.join("store.db");
    let whole = fs::read(&database).unwrap();
    let restored = place.path().join("restored");
    for page in 0..whole.len() / 4096 {
        let mut damaged = whole.clone();
        damaged[page * 4096 + 100] ^= 1;
        fs::write(&database, &damaged).unwrap();
        let refused = Store::restore(&backup, &restored, Unlock::None);
        // Damage of a page that nothing refers to is only found by reading all data.
        match refused {
            Err(RestoreError::Backup(error)) => assert_eq!(error.code(), "damaged"),
            Err(error) => panic!("{error:?}"),
            Ok(mut store) => {
                assert_ne!(store.check(Depth::ReadData).unwrap(), [], "page {page}");
                store.close().unwrap();
                fs::remove_dir_all(&restored).unwrap();
            }
        }
        assert!(!restored.exists());
        // The damage is not in the store that is open.
        drop(store.read().unwrap());
        assert!(!store.is_uncertain(), "page {page}");
    }
    fs::write(&database, b"").unwrap();
    assert!(Store::restore(&backup, &restored, Unlock::None).is_err());
    fs::remove_file(&database).unwrap();
    let missing = Store::restore(&backup, &restored, Unlock::None);
    assert!(matches!(missing.err().map(|it| it.code()), Some("missing")));
    assert!(!restored.exists());
}

/// A process that is killed while restoring leaves the key and the database under temporary names.
#[test]
fn remains_of_a_killed_restoration_are_removed_by_the_next_one() {
    let place = Place::new();
    let backup = place.path().join("backup");
    let mut store = place.create();
    store.backup(&backup).unwrap();
    assert!(!backup.join("lock").exists());
    store.close().unwrap();
    let beside = |name: &str| place.path().join(name);
    for name in [
        "restored.new-0123456789abcdef",
        "restored.new-0123456789abcdeF",
        "restored.new-0123456789abcde",
        "restored.new-0123456789abcdef0",
        "restored.new-0123456789abcdeg",
        "other.new-0123456789abcdef",
        "without.new-0123456789abcdef",
    ] {
        copy_plainly(&place.store(), &beside(name));
    }
    // One that another process is creating, and one that is not a store.
    let made = beside("restored.new-1111111111111111");
    let being_made = Store::create(&made, Protection::None, &mut OsRandom).unwrap();
    fs::create_dir(beside("restored.new-2222222222222222")).unwrap();
    fs::write(beside("restored.new-2222222222222222/file"), b"not of a store").unwrap();

    let restored = beside("restored");
    Store::restore(&backup, &restored, Unlock::None).unwrap().close().unwrap();
    assert!(!beside("restored.new-0123456789abcdef").exists());
    let mut left: Vec<_> = fs::read_dir(place.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort_unstable();
    let expected = [
        "backup",
        "other.new-0123456789abcdef",
        "restored",
        "restored.new-0123456789abcde",
        "restored.new-0123456789abcdeF",
        "restored.new-0123456789abcdef0",
        "restored.new-0123456789abcdeg",
        "restored.new-1111111111111111",
        "restored.new-2222222222222222",
        "store",
        "without.new-0123456789abcdef",
    ];
    assert_eq!(left, expected);
    being_made.close().unwrap();

    // Making a backup or a new store removes remains as well.
    open(&place.store()).unwrap().backup(&beside("other")).unwrap();
    Store::create(&beside("without"), Protection::None, &mut OsRandom).unwrap();
    assert!(!beside("other.new-0123456789abcdef").exists());
    assert!(!beside("without.new-0123456789abcdef").exists());
}

/// Copies the files of a directory one by one, as a backup program does.
fn copy_plainly(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for file in fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

#[test]
fn a_plain_copy_of_a_store_in_use_keeps_its_log_and_does_not_send() {
    let place = Place::new();
    let mut store = place.create();
    write(&mut store, 0, 10).unwrap();
    store.checkpoint().unwrap();
    for batch in 1..4 {
        write(&mut store, batch, 10).unwrap();
    }
    let copy = place.path().join("copy");
    copy_plainly(&place.store(), &copy);
    let restored = place.path().join("restored");
    let mut store_of_copy = Store::restore(&copy, &restored, Unlock::None).unwrap();
    assert!(store_of_copy.is_restored());
    assert_eq!(statuses(&mut store_of_copy), [SessionStatus::NeedsReset]);
    assert_eq!(count(&mut store_of_copy, 10), 4);
    store_of_copy.close().unwrap();
    let mut store_of_copy = open(&restored).unwrap();
    assert_eq!(statuses(&mut store_of_copy), [SessionStatus::NeedsReset]);
    assert_eq!(count(&mut store_of_copy, 10), 4);
    // The copy is unchanged, and the store continues.
    assert_eq!(fs::read_dir(&copy).unwrap().count(), 4);
    assert_eq!(statuses(&mut store), [SessionStatus::Active]);
}

#[test]
fn a_copy_after_a_good_end_does_not_send() {
    let place = Place::new();
    let mut store = place.create();
    write(&mut store, 0, 10).unwrap();
    store.close().unwrap();
    let restored = place.path().join("restored");
    let mut store = Store::restore(&place.store(), &restored, Unlock::None).unwrap();
    assert_eq!(statuses(&mut store), [SessionStatus::NeedsReset]);
    assert_eq!(count(&mut store, 10), 1);
}

#[test]
fn each_restoration_is_counted() {
    let place = Place::new();
    let mut store = place.create();
    assert_eq!(store.restorations(), 0);
    let backup = place.path().join("backup");
    store.backup(&backup).unwrap();
    store.close().unwrap();
    assert_eq!(place.open().restorations(), 0);
    let mut before = 0;
    for n in 0..3 {
        // The copy has no session that sends, so nothing waits for a reset.
        let restored = place.path().join(n.to_string());
        let store = Store::restore(&backup, &restored, Unlock::None).unwrap();
        assert!(store.restorations() > 0 && !store.is_restored());
        store.close().unwrap();
        before = open(&restored).unwrap().restorations();
    }
    assert!(before > 0);
    // An older copy of the database counts as restored, too.
    let database = place.store().join("store.db");
    let older = fs::read(&database).unwrap();
    place.open().close().unwrap();
    fs::write(&database, &older).unwrap();
    let store = place.open();
    assert!(store.restorations() > 0);
}

#[test]
fn a_log_whose_commits_do_not_read_is_refused() {
    let place = Place::new();
    let mut store = place.create();
    write(&mut store, 0, 10).unwrap();
    store.checkpoint().unwrap();
    for batch in 1..4 {
        write(&mut store, batch, 10).unwrap();
    }
    let copy = place.path().join("copy");
    copy_plainly(&place.store(), &copy);
    let log = copy.join("store.db-wal");
    let whole = fs::read(&log).unwrap();
    let restored = place.path().join("restored");
    // In the header, in the first frame, in the middle, in the last frame.
    for at in [0, 8, 17, 24, 40, 300, whole.len() / 2, whole.len() - 1] {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        fs::write(&log, &damaged).unwrap();
        let refused = Store::restore(&copy, &restored, Unlock::None);
        assert!(matches!(refused.err().map(|it| it.code()), Some("log")), "byte {at}");
        assert!(!restored.exists());
        assert!(fs::read(&log).unwrap() == damaged, "byte {at}: the copy was changed");
    }
    // A commit that was being written during the copy does not count.
    fs::write(&log, &whole[..whole.len() - 100]).unwrap();
    let mut store = Store::restore(&copy, &restored, Unlock::None).unwrap();
    assert_eq!(count(&mut store, 10), 3);
}

#[test]
fn a_store_in_use_is_no_copy() {
    let place = Place::new();
    let store = place.create();
    let restored = place.path().join("restored");
    let refused = Store::restore(&place.store(), &restored, Unlock::None);
    assert!(matches!(refused.err().map(|it| it.code()), Some("locked")));
    assert!(!restored.exists());
    store.close().unwrap();
    Store::restore(&place.store(), &restored, Unlock::None).unwrap();
}

#[test]
fn an_export_has_every_message() {
    let place = Place::new();
    let mut store = place.create();
    for batch in 0..3 {
        write(&mut store, batch, 200).unwrap();
    }
    let mut out = Vec::new();
    let transaction = store.read().unwrap();
    assert_eq!(transaction.export(&mut out).unwrap(), 600);
    let text = String::from_utf8(out).unwrap();
    for (i, line) in text.lines().enumerate() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["seq"], i as u64 + 1);
        assert_eq!(line["conversation"], "68657265");
        assert_eq!(line["identity"], "01".repeat(32));
        assert_eq!((&line["device"], &line["kind"]), (&1.into(), &0.into()));
        assert_eq!(line["message"].as_str().unwrap().len(), 32);
        assert_eq!(line["plaintext"], "03".repeat(100));
    }
    assert_eq!(text.lines().count(), 600);
}

#[test]
fn figures_are_those_of_the_files() {
    let place = Place::new();
    let mut store = place.create();
    write(&mut store, 0, 200).unwrap();
    let len = |name: &str| fs::metadata(place.store().join(name)).unwrap().len();
    let statistics = store.statistics().unwrap();
    assert_eq!(statistics.database_len, len("store.db"));
    assert_eq!(statistics.log_len, len("store.db-wal"));
    assert!(statistics.log_len > 0);
    assert_eq!(statistics.generation, store.generation());
    let rows = |table: &str| statistics.rows.iter().find(|row| row.0 == table).unwrap().1;
    assert_eq!((rows("inbox"), rows("seen"), rows("session")), (200, 200, 1));
    store.checkpoint().unwrap();
    let statistics = store.statistics().unwrap();
    assert_eq!((statistics.log_len, statistics.database_len), (0, statistics.pages * 4096));
}

#[test]
fn a_checkpoint_empties_the_log_and_nothing_is_in_the_clear() {
    let place = Place::new();
    let mut store = place.create();
    for batch in 0..20 {
        write(&mut store, batch, 500).unwrap();
    }
    let marks = [&[3; 32][..], &[4; 32], &[2; 16], b"CREATE TABLE"];
    let in_the_clear = |path: &Path| {
        let bytes = fs::read(path).unwrap();
        marks.iter().any(|mark| bytes.windows(mark.len()).any(|window| window == *mark))
    };
    for name in ["store.db", "store.db-wal"] {
        assert!(!in_the_clear(&place.store().join(name)), "{name}");
    }
    // The log did not grow above its limit and one batch.
    let log = fs::metadata(place.store().join("store.db-wal")).unwrap().len();
    assert!(log < (4 << 20) + (1 << 20), "{log}");
    store.checkpoint().unwrap();
    assert_eq!(fs::metadata(place.store().join("store.db-wal")).unwrap().len(), 0);
    assert_eq!(count(&mut store, 500), 20);
}
