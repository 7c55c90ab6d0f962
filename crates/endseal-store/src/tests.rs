//! Tests from below, with the database's own connection.

use core::sync::atomic::{AtomicU64, Ordering};
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::{env, fs, process, thread};

use endseal_crypto::random::OsRandom;
use rusqlite::Connection;

use crate::directory::{DATABASE, KEY};
use crate::error::{Finding, OpenStoreError};
use crate::hazmat::with_housekeeping;
use crate::{Depth, OpenOptions, Protection, Store, Unlock, WriteTransaction, database, key_file};

struct Place(PathBuf);

impl Place {
    /// A closed store with a message in it.
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("endseal-store-unit-{}-{number}", process::id()));
        let mut store = Store::create(&path, Protection::None, &mut OsRandom).unwrap();
        let transaction = store.begin().unwrap();
        let here = transaction.conversation_ref(b"here").unwrap();
        let sender = transaction.address_ref(&[1; 32], 1).unwrap();
        let mut messages = transaction.messages().unwrap();
        messages.deliver(here, b"m", sender, 0, &[0; 16], b"text").unwrap();
        drop(messages);
        transaction.commit().unwrap();
        store.close().unwrap();
        Self(path)
    }

    fn path(&self) -> &Path {
        &self.0
    }

    fn open(&self) -> Result<Store, OpenStoreError> {
        Store::open(self.path(), Unlock::None, OpenOptions::new())
    }

    /// The database without the store around it.
    fn connection(&self) -> Connection {
        let file = fs::read(self.path().join(KEY)).unwrap();
        let key = key_file::open(&file, Unlock::None).unwrap();
        database::open(&self.path().join(DATABASE), &key).unwrap()
    }

    fn execute(&self, sql: &str) {
        let connection = self.connection();
        connection.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
        connection.execute_batch(sql).unwrap();
        database::checkpoint(&connection).unwrap();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn settings_are_those_of_the_specification() {
    let place = Place::new();
    let connection = place.connection();
    for (pragma, expected) in [
        ("cipher_page_size", "4096"),
        ("cipher_hmac_algorithm", "HMAC_SHA256"),
        ("cipher_memory_security", "0"),
        ("cipher_use_hmac", "1"),
        ("locking_mode", "exclusive"),
        ("journal_mode", "wal"),
        ("synchronous", "2"),
        ("fullfsync", "1"),
        ("checkpoint_fullfsync", "1"),
        ("secure_delete", "1"),
        ("temp_store", "2"),
        ("wal_autocheckpoint", "0"),
        ("foreign_keys", "1"),
        ("trusted_schema", "0"),
        ("cell_size_check", "1"),
        ("auto_vacuum", "0"),
        ("application_id", "1702063153"),
        ("user_version", "4"),
    ] {
        let value: rusqlite::types::Value =
            connection.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0)).unwrap();
        let value = match value {
            rusqlite::types::Value::Integer(number) => number.to_string(),
            rusqlite::types::Value::Text(text) => text,
            other => panic!("{pragma}: {other:?}"),
        };
        assert_eq!(value, expected, "{pragma}");
    }
}

/// Housekeeping commits without an fsync; the transaction that begins after it does not.
/// Makes this a process that opens the database of that place on several threads at once.
const FIRST: &str = "ENDSEAL_TEST_FIRST_CONNECTIONS";

/// A process of the next test.
#[test]
fn opener() {
    let Some(place) = env::var_os(FIRST) else { return };
    let place = Path::new(&place);
    let file = fs::read(place.join(KEY)).unwrap();
    let together = Barrier::new(4);
    thread::scope(|scope| {
        for number in 0..4 {
            let path = place.join(number.to_string());
            let key = key_file::open(&file, Unlock::None).unwrap();
            let together = &together;
            scope.spawn(move || {
                together.wait();
                database::open(&path, &key).unwrap();
            });
        }
    });
}

#[test]
fn the_first_connections_of_a_process_may_come_together() {
    let place = Place::new();
    for number in 0..4 {
        fs::write(place.path().join(number.to_string()), []).unwrap();
    }
    for round in 0..200 {
        let output = process::Command::new(env::current_exe().unwrap())
            .args(["tests::opener", "--exact", "--nocapture", "--test-threads=1"])
            .env(FIRST, place.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "round {round}: {said}");
    }
}

#[test]
fn a_transaction_has_the_durability_that_it_was_started_with() {
    let place = Place::new();
    let options = with_housekeeping(OpenOptions::new(), 0, 1);
    let mut store = Store::open(place.path(), Unlock::None, options).unwrap();
    let mode = |transaction: &WriteTransaction<'_>| -> i64 {
        let connection = transaction.connection().unwrap();
        connection.query_row("PRAGMA synchronous", [], |row| row.get(0)).unwrap()
    };
    for n in 0..4_u8 {
        let transaction = store.begin().unwrap();
        assert_eq!(mode(&transaction), 2, "FULL");
        let here = transaction.conversation_ref(b"here").unwrap();
        let sender = transaction.address_ref(&[1; 32], 1).unwrap();
        let mut messages = transaction.messages().unwrap();
        messages.deliver(here, &[n], sender, 0, &[0; 16], b"text").unwrap();
        drop(messages);
        transaction.commit().unwrap();
        // The log and the recent messages are beyond their limits: the next begin sorts in.
        if n % 2 == 1 {
            let transaction = store.begin_unsynced().unwrap();
            assert_eq!(mode(&transaction), 1, "NORMAL");
            let rows: i64 = transaction
                .connection()
                .unwrap()
                .query_row("SELECT count(*) FROM recent", [], |row| row.get(0))
                .unwrap();
            assert_eq!(rows, 0, "sorted in");
            transaction.put_record(1, b"", &[n]).unwrap();
            transaction.commit().unwrap();
        }
    }
}

#[test]
fn other_versions_and_other_databases_are_refused() {
    let place = Place::new();
    for (sql, expected) in [
        ("PRAGMA user_version = 3", "other-version"),
        ("PRAGMA user_version = 5", "other-version"),
        ("PRAGMA user_version = 2147483647", "other-version"),
        ("PRAGMA user_version = 0", "damaged"),
        ("PRAGMA user_version = -1", "damaged"),
        ("PRAGMA user_version = 4; PRAGMA application_id = 7", "damaged"),
        ("PRAGMA application_id = 0", "damaged"),
    ] {
        place.execute(sql);
        let before = fs::read(place.path().join(DATABASE)).unwrap();
        let refused = place.open().err().unwrap();
        assert_eq!(refused.code(), expected, "{sql}: {refused}");
        assert!(before == fs::read(place.path().join(DATABASE)).unwrap(), "{sql}");
    }
    place.execute("PRAGMA application_id = 1702063153");
    assert!(place.open().is_ok());
}

#[test]
fn rows_that_break_a_rule_are_found() {
    for (sql, expected) in [
        ("UPDATE meta SET value = x'0000000000000000' WHERE name = 'seq'", "not given out"),
        ("UPDATE inbox SET first = 9", "not given out"),
        ("UPDATE inbox SET pack = x'020101000178000000', messages = 1", "malformed"),
        ("UPDATE inbox SET pack = x'02010100017800'", "not seen"),
        ("UPDATE inbox SET pack = x'020901000178017a'", "conversation or sender"),
        ("UPDATE inbox SET pack = x'020109000178017a'", "conversation or sender"),
        ("INSERT INTO inbox SELECT first + 1, messages, pack FROM inbox", "not given out"),
        ("DELETE FROM recent", "not seen"),
        ("UPDATE recent SET first = 9", "not given out"),
        ("UPDATE recent SET pack = substr(pack, 2)", "malformed"),
        ("INSERT INTO seen VALUES (1, x'6d', 1, zeroblob(16))", "twice"),
        ("INSERT INTO recent SELECT 2, pack FROM recent", "twice"),
        ("DELETE FROM conversation", "conversation or sender"),
        ("DELETE FROM address", "conversation or sender"),
        ("INSERT INTO outbox VALUES (1, 1, 99, x'', 0, 0)", "conversation or recipient"),
        ("INSERT INTO mls_group VALUES (x'61', 3, 0, x'')", "status"),
        ("INSERT INTO session VALUES (1, x'00', 1, -1, 0, x'')", "status"),
        ("INSERT INTO session VALUES (99, x'00', 1, 0, 0, x'')", "without its address"),
    ] {
        let place = Place::new();
        place.execute(sql);
        let findings = place.open().unwrap().check(Depth::Structure).unwrap();
        let is_expected = |finding: &Finding| finding.to_string().contains(expected);
        assert!(findings.iter().any(is_expected), "{sql}: {findings:?}");
    }
}

#[test]
fn columns_of_another_type_are_damage() {
    for sql in [
        "UPDATE inbox SET pack = 7",
        "UPDATE inbox SET pack = x''",
        "UPDATE inbox SET pack = 'text'",
        "UPDATE inbox SET pack = x'00'",
        "UPDATE inbox SET pack = x'0201010001610000'",
        "UPDATE inbox SET pack = x'0201010001610000016200'",
        "UPDATE inbox SET pack = zeroblob(2000000)",
        "UPDATE inbox SET messages = 2",
        "UPDATE inbox SET messages = 0",
        "UPDATE inbox SET messages = -1",
        "UPDATE inbox SET messages = x'01'",
        "INSERT INTO inbox VALUES (0, 1, x'020101000161000000')",
        "INSERT INTO inbox VALUES (-1, 1, x'02010100016100')",
    ] {
        let place = Place::new();
        place.execute(sql);
        let mut store = place.open().unwrap();
        let findings = store.check(Depth::Structure).unwrap();
        assert_ne!(findings, [], "{sql}");
        let transaction = store.begin().unwrap();
        if !sql.contains("(-1") && !sql.contains("(0") {
            let read = transaction.inbox(0, 9);
            assert_eq!(read.err().unwrap().code(), "damaged", "{sql}");
        }
        // None of it ends otherwise than in a typed error or in what is right.
        for seq in [0, 1, 2, u64::MAX] {
            if let Err(error) = transaction.consume(seq) {
                assert_eq!(error.code(), "damaged", "{sql}");
            }
        }
        if let Err(error) = transaction.inbox_len() {
            assert_eq!(error.code(), "damaged", "{sql}");
        }
    }
    for sql in [
        "UPDATE recent SET pack = x'01'",
        "UPDATE recent SET pack = 7",
        "UPDATE recent SET pack = x''",
        "UPDATE recent SET first = -1",
        "UPDATE recent SET first = 0",
    ] {
        let place = Place::new();
        place.execute(sql);
        let mut store = place.open().unwrap();
        let transaction = store.begin().unwrap();
        let here = transaction.find_conversation(b"here").unwrap().unwrap();
        let seen = transaction.messages().unwrap().seen(here, b"m");
        assert_eq!(seen.err().unwrap().code(), "damaged", "{sql}");
    }
    for sql in [
        "UPDATE meta SET value = x'00' WHERE name = 'generation'",
        "DELETE FROM meta WHERE name = 'generation'",
        "DELETE FROM meta WHERE name = 'id'",
        "DROP TABLE meta",
    ] {
        let place = Place::new();
        place.execute(sql);
        assert_eq!(place.open().err().unwrap().code(), "damaged", "{sql}");
    }
}

#[test]
fn numbers_at_their_end_are_no_panic() {
    let place = Place::new();
    place.execute("UPDATE meta SET value = x'feffffffffffffff' WHERE name = 'generation'");
    for _ in 0..3 {
        let store = place.open().unwrap();
        assert_eq!(store.generation(), u64::MAX);
        store.close().unwrap();
    }
    let place = Place::new();
    fs::write(place.path().join("lock"), [0xff; 8]).unwrap();
    place.open().unwrap().close().unwrap();
    assert_eq!(place.open().unwrap().generation(), u64::MAX);
    place.execute("UPDATE meta SET value = x'ffffffffffffff7f' WHERE name = 'seq'");
    let mut store = place.open().unwrap();
    let transaction = store.begin().unwrap();
    let here = transaction.conversation_ref(b"here").unwrap();
    let sender = transaction.address_ref(&[1; 32], 1).unwrap();
    let mut messages = transaction.messages().unwrap();
    let refused = messages.deliver(here, b"n", sender, 0, &[0; 16], b"text");
    assert_eq!(refused.err().unwrap().code(), "limit");
}

#[test]
fn a_number_that_is_taken_is_damage_and_not_a_message_that_was_delivered() {
    let place = Place::new();
    place.execute("UPDATE meta SET value = x'0000000000000000' WHERE name = 'seq'");
    let mut store = place.open().unwrap();
    let transaction = store.begin().unwrap();
    let here = transaction.conversation_ref(b"here").unwrap();
    let sender = transaction.address_ref(&[1; 32], 1).unwrap();
    let mut messages = transaction.messages().unwrap();
    let refused = messages.deliver(here, b"n", sender, 0, &[0; 16], b"text");
    assert_eq!(refused.err().unwrap().code(), "damaged");
}

/// SQLite rolls a whole transaction back if one statement finds the medium full, and would treat
/// the next statements as transactions of their own.
#[test]
fn a_transaction_that_found_no_room_cannot_go_on() {
    let place = Place::new();
    let mut store = place.open().unwrap();
    let pages = store.statistics().unwrap().pages;
    let limit = |store: &Store, pages: u64| {
        let sql = format!("PRAGMA max_page_count = {pages}");
        store.connection().unwrap().query_row(&sql, [], |_| Ok(())).unwrap();
    };
    limit(&store, pages + 20);
    let transaction = store.begin().unwrap();
    let here = transaction.conversation_ref(b"here").unwrap();
    let sender = transaction.address_ref(&[1; 32], 1).unwrap();
    transaction.put_record(1, b"", b"of this transaction").unwrap();
    let mut messages = transaction.messages().unwrap();
    let mut deliver =
        |i: u64| messages.deliver(here, &i.to_le_bytes(), sender, 0, &[0; 16], &[7; 1_000]);
    let first = (0..1_000).find_map(|i| deliver(i).err()).unwrap();
    assert_eq!(first.code(), "full");
    for i in 1_000..1_100 {
        assert_eq!(deliver(i).err().unwrap().code(), "ended");
    }
    drop(messages);
    assert_eq!(transaction.put_record(1, b"", b"later").err().unwrap().code(), "ended");
    assert_eq!(transaction.record(1, b"").err().unwrap().code(), "ended");
    assert_eq!(transaction.commit().err().unwrap().code(), "ended");
    assert!(!store.is_uncertain());

    limit(&store, 1_000_000);
    let transaction = store.begin().unwrap();
    assert_eq!(transaction.inbox_len().unwrap(), 1);
    assert!(transaction.record(1, b"").unwrap().is_none());
    let mut messages = transaction.messages().unwrap();
    assert_eq!(messages.deliver(here, b"n", sender, 0, &[0; 16], b"text").unwrap(), 2);
    drop(messages);
    transaction.commit().unwrap();
    assert_eq!(store.check(Depth::ReadData).unwrap(), []);
}

/// Rows that overlap are no order of messages.
#[test]
fn rows_of_the_inbox_that_overlap_are_damage() {
    let place = Place::new();
    // Three messages from 1 on, and another row that begins with the second.
    place.execute(
        "UPDATE inbox SET messages = 3, pack = x'020101000161000001620000016300';
         INSERT INTO inbox VALUES (2, 1, x'02010100016300');
         UPDATE meta SET value = x'0900000000000000' WHERE name = 'seq'",
    );
    let mut store = place.open().unwrap();
    let found = store.check(Depth::Structure).unwrap();
    assert!(found.iter().any(|it| it.to_string().contains("malformed")), "{found:?}");
    let transaction = store.read().unwrap();
    assert_eq!(transaction.inbox(0, 3).unwrap().len(), 3);
    assert_eq!(transaction.inbox(0, 4).err().unwrap().code(), "damaged");
}

/// `secure_delete` sees to what is outside of rows.
#[test]
fn what_was_consumed_is_in_no_row() {
    let place = Place::new();
    let mut store = place.open().unwrap();
    let transaction = store.begin().unwrap();
    let here = transaction.conversation_ref(b"here").unwrap();
    let sender = transaction.address_ref(&[1; 32], 1).unwrap();
    let mut messages = transaction.messages().unwrap();
    for n in 0..20 {
        messages.deliver(here, &[n], sender, 0, &[0; 16], &[b'a' + n; 50]).unwrap();
    }
    drop(messages);
    transaction.commit().unwrap();
    let rows = |store: &Store| -> Vec<Vec<u8>> {
        let mut select = store.connection().unwrap().prepare("SELECT pack FROM inbox").unwrap();
        select.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    };
    let has = |store: &Store, n: u8| {
        rows(store).iter().any(|row| row.windows(50).any(|part| part == [b'a' + n; 50]))
    };
    // Message 1 was there before, in a row of its own.
    assert_eq!(rows(&store).len(), 2);
    assert!((0..20).all(|n| has(&store, n)));
    for consumed in [6, 0, 19] {
        let transaction = store.begin().unwrap();
        assert!(transaction.consume(2 + u64::from(consumed)).unwrap());
        transaction.commit().unwrap();
        assert!(!has(&store, consumed));
    }
    assert_eq!((0..20).filter(|n| has(&store, *n)).count(), 17);
    let transaction = store.begin().unwrap();
    assert_eq!((1..30).filter(|seq| transaction.consume(*seq).unwrap()).count(), 18);
    transaction.commit().unwrap();
    assert_eq!(rows(&store).len(), 0);
}
