//! Versions of the database.

use endseal_hub::SqliteStore;
use endseal_testing::Scratch;
use rusqlite::Connection;

#[test]
fn a_database_of_another_version_is_refused() {
    let scratch = Scratch::new();
    let path = scratch.path("hub.db");
    drop(SqliteStore::open(&path).unwrap());
    let database = Connection::open(&path).unwrap();
    let version: i32 = database.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    assert_eq!(version, 2);
    for (change, cause) in [
        ("PRAGMA user_version = 1", "it has another version"),
        ("PRAGMA user_version = 3", "it has another version"),
        ("PRAGMA application_id = 7", "it is another database"),
    ] {
        database.execute_batch(change).unwrap();
        let error = SqliteStore::open(&path).unwrap_err().to_string();
        assert!(error.ends_with(cause), "{change}: {error}");
    }
}
