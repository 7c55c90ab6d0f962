//! Checks of an open database, and of the salt in its file.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use rusqlite::Connection;

use crate::error::StoreError;
use crate::error::finding::{Finding, NUMBER_ABOVE};
use crate::inbox_table::pack::Packed;
use crate::key_file::StoreKey;
use crate::{delivered_index, inbox_table, meta, rows};

/// Adds the findings about tables, indices and the rules of the format.
pub(crate) fn structure(
    connection: &Connection,
    findings: &mut Vec<Finding>,
) -> Result<(), StoreError> {
    let integrity = texts(connection, "PRAGMA integrity_check(100)").map(|mut lines| {
        lines.retain(|line| line != "ok");
        lines
    });
    collect(findings, integrity, Finding::Engine)?;
    for (rule, sql) in RULES {
        match connection.query_row(sql, [], |row| rows::number(row, 0)) {
            Ok(0) => {}
            Ok(count) => findings.push(Finding::Rows { rule, count }),
            Err(error) => collect(findings, Err(error), Finding::Engine)?,
        }
    }
    let above = meta::number(connection, meta::SEQ).and_then(|seq| numbers_above(connection, seq));
    match above {
        Ok(0) => {}
        Ok(count) => findings.push(Finding::Rows { rule: NUMBER_ABOVE, count }),
        Err(error) => collect(findings, Err(error), Finding::Engine)?,
    }
    match packs(connection) {
        Ok(found) => findings.extend(found),
        Err(StoreError::Damaged(found)) => findings.push(found),
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Returns true if the file begins with the salt, the only bytes that no page's tag covers.
/// SQLCipher takes the salt from the key, and would not notice.
pub(crate) fn has_salt(path: &Path, key: &StoreKey) -> io::Result<bool> {
    let mut salt = [0; 16];
    match File::open(path)?.read_exact(&mut salt) {
        Ok(()) => Ok(salt == key.expose_secret()[32..]),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// The first finding of the quick check, if there is one.
pub(crate) fn quick(connection: &Connection) -> Result<Option<Finding>, rusqlite::Error> {
    let mut lines = texts(connection, "PRAGMA quick_check(1)")?;
    lines.retain(|line| line != "ok");
    Ok(lines.pop().map(Finding::Engine))
}

pub(crate) fn texts(connection: &Connection, sql: &str) -> Result<Vec<String>, rusqlite::Error> {
    connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
}

/// Damage that keeps a question from being answered is a finding, too.
pub(crate) fn collect(
    findings: &mut Vec<Finding>,
    answer: Result<Vec<String>, rusqlite::Error>,
    finding: impl Fn(String) -> Finding,
) -> Result<(), StoreError> {
    match answer.map_err(StoreError::from) {
        Ok(lines) => findings.extend(lines.into_iter().map(finding)),
        Err(StoreError::Damaged(found)) => findings.push(found),
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Rules for rows, each with a query for the number of rows that break it.
const RULES: &[(&str, &str)] = &[
    (
        "a session without its address",
        "SELECT count(*) FROM session WHERE address NOT IN (SELECT ref FROM address)",
    ),
    (
        "a session or group with an unknown status",
        "SELECT (SELECT count(*) FROM session WHERE standing NOT BETWEEN 0 AND 2)
              + (SELECT count(*) FROM mls_group WHERE standing NOT BETWEEN 0 AND 2)",
    ),
    (
        "a ciphertext in the outbox whose conversation or recipient is unknown",
        "SELECT count(*) FROM outbox WHERE conversation NOT IN (SELECT ref FROM conversation)
         OR recipient NOT IN (SELECT ref FROM address)",
    ),
];

/// Checks the packs, which SQL cannot look into, and the messages in them.
fn packs(connection: &Connection) -> Result<Vec<Finding>, StoreError> {
    let seq = meta::number(connection, meta::SEQ)?;
    let (mut marks, mut ids) = (HashSet::new(), HashSet::new());
    let (mut above, mut twice) = (0, 0);
    let mut sorted = connection
        .prepare("SELECT EXISTS (SELECT 1 FROM seen WHERE conversation = ?1 AND message = ?2)")?;
    let mut failed = None;
    delivered_index::each(connection, |mark, number| {
        above += u64::from(number > seq);
        let id = (mark.conversation, mark.message.to_vec());
        match sorted.query_row((id.0, &id.1), |row| row.get::<_, bool>(0)) {
            Ok(is_sorted) => twice += u64::from(is_sorted || !ids.insert(id.clone())),
            Err(error) => failed = Some(error),
        }
        marks.insert((id, number));
    })?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    let mut sorted = connection.prepare(
        "SELECT EXISTS (SELECT 1 FROM seen WHERE conversation = ?1 AND message = ?2 AND seq = ?3)",
    )?;
    let known = |sql: &str| -> Result<HashSet<i64>, rusqlite::Error> {
        connection.prepare(sql)?.query_map([], |row| rows::number(row, 0))?.collect()
    };
    let conversations = known("SELECT ref FROM conversation")?;
    let addresses = known("SELECT ref FROM address")?;
    let (mut unseen, mut unknown) = (0, 0);
    inbox_table::each(connection, |message| {
        let Packed { seq: number, origin, message, .. } = *message;
        above += u64::from(number > seq);
        let is_known =
            conversations.contains(&origin.conversation) && addresses.contains(&origin.sender);
        unknown += u64::from(!is_known);
        let id = (origin.conversation, message.to_vec());
        // It is not above 2^63 - 1.
        let key = (id.0, &id.1, number.cast_signed());
        match sorted.query_row(key, |row| row.get::<_, bool>(0)) {
            Ok(is_sorted) => unseen += u64::from(!is_sorted && !marks.contains(&(id, number))),
            Err(error) => failed = Some(error),
        }
    })?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    let found = [(NUMBER_ABOVE, above), (UNKNOWN, unknown), (UNSEEN, unseen), (TWICE, twice)];
    let found = found.into_iter().filter(|(_, count)| *count > 0);
    Ok(found.map(|(rule, count)| Finding::Rows { rule, count }).collect())
}

const UNKNOWN: &str = "a message in the inbox whose conversation or sender is unknown";
const UNSEEN: &str = "a message in the inbox that was not seen";
const TWICE: &str = "a message that was delivered twice";

/// Returns the number of rows in `seen` above the last number that was given out.
fn numbers_above(connection: &Connection, seq: u64) -> Result<u64, rusqlite::Error> {
    let seq = i64::try_from(seq).unwrap_or(i64::MAX);
    let sql = "SELECT count(*) FROM seen WHERE seq > ?1";
    connection.query_row(sql, [seq], |row| rows::number(row, 0))
}
