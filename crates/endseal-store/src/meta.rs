//! Facts of the store (`meta`).

use rusqlite::{Connection, Error};

use crate::rows;

pub(crate) const ID: &str = "id";
pub(crate) const GENERATION: &str = "generation";
pub(crate) const RESTORED: &str = "restored";
pub(crate) const RESTORATIONS: &str = "restorations";
pub(crate) const SEQ: &str = "seq";

pub(crate) fn read<const N: usize>(connection: &Connection, name: &str) -> Result<[u8; N], Error> {
    connection
        .prepare_cached("SELECT value FROM meta WHERE name = ?1")?
        .query_row([name], |row| rows::array(row, 0))
}

pub(crate) fn write(connection: &Connection, name: &str, value: &[u8]) -> Result<(), Error> {
    let sql = "INSERT INTO meta VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = excluded.value";
    connection.prepare_cached(sql)?.execute((name, value)).map(|_| ())
}

pub(crate) fn remove(connection: &Connection, name: &str) -> Result<(), Error> {
    connection.prepare_cached("DELETE FROM meta WHERE name = ?1")?.execute([name]).map(|_| ())
}

pub(crate) fn number(connection: &Connection, name: &str) -> Result<u64, Error> {
    read(connection, name).map(u64::from_le_bytes)
}

pub(crate) fn set_number(connection: &Connection, name: &str, value: u64) -> Result<(), Error> {
    write(connection, name, &value.to_le_bytes())
}

/// Returns true if the store was restored and something in it still waits for a reset.
pub(crate) fn is_restored(connection: &Connection) -> Result<bool, Error> {
    read(connection, RESTORED).map(|value: [u8; 1]| value != [0])
}

/// Counts a restoration, and puts every session and group that may send to waiting for a reset: the
/// keys that come next in their chains may have been used since this state was written.
pub(crate) fn mark_restored(connection: &Connection) -> Result<(), Error> {
    let before = number(connection, RESTORATIONS)?;
    set_number(connection, RESTORATIONS, before.saturating_add(1))?;
    connection.execute("UPDATE session SET standing = 2 WHERE standing = 0", [])?;
    connection.execute("UPDATE mls_group SET standing = 2 WHERE standing = 0", [])?;
    write(connection, RESTORED, &[1])
}

/// Returns true if a session or group waits for a reset.
pub(crate) fn waits_for_reset(connection: &Connection) -> Result<bool, Error> {
    let sql = "SELECT EXISTS (SELECT 1 FROM session WHERE standing = 2)
               OR EXISTS (SELECT 1 FROM mls_group WHERE standing = 2)";
    connection.prepare_cached(sql)?.query_row([], |row| row.get(0))
}
