//! Table of the messages in plaintext that were not consumed, packed several a row.

mod gathered;
mod opened;
pub(crate) mod pack;

use rusqlite::{Connection, Error, OptionalExtension as _};

use crate::error::{Finding, StoreError};
use crate::{limits, rows};
use gathered::Gathered;
use opened::Opened;
use pack::{Messages, Packed};

/// Changes of a transaction that are not in the table yet.
pub(crate) struct Changes {
    gathered: Gathered,
    opened: Option<Opened>,
}

impl Changes {
    pub(crate) fn new() -> Self {
        Self { gathered: Gathered::new(), opened: None }
    }

    /// Adds a message, whose number is the next one.
    pub(crate) fn add(
        &mut self,
        connection: &Connection,
        message: &Packed<'_>,
    ) -> Result<(), StoreError> {
        self.gathered.add(connection, message).map_err(number_taken)
    }

    /// Writes all changes to the table, and leaves none behind.
    pub(crate) fn write(&mut self, connection: &Connection) -> Result<(), StoreError> {
        self.gathered.write(connection).map_err(number_taken)?;
        if let Some(opened) = &self.opened {
            opened.write(connection)?;
        }
        self.opened = None;
        Ok(())
    }

    pub(crate) fn consume(
        &mut self,
        connection: &Connection,
        seq: u64,
    ) -> Result<bool, StoreError> {
        let Ok(number) = limits::number(seq) else { return Ok(false) };
        if !self.opened.as_ref().is_some_and(|opened| opened.covers(seq)) {
            self.write(connection)?;
            // Most rows of a message alone go without being read.
            let sql = "DELETE FROM inbox WHERE first = ?1 AND messages = 1";
            if connection.prepare_cached(sql)?.execute([number])? > 0 {
                return Ok(true);
            }
            self.opened = Opened::find(connection, number)?;
        }
        Ok(self.opened.as_mut().is_some_and(|opened| opened.consume(seq)))
    }
}

/// Returns the number of messages in all rows.
pub(crate) fn len(connection: &Connection) -> Result<u64, Error> {
    let mut select = connection.prepare_cached("SELECT coalesce(sum(messages), 0) FROM inbox")?;
    select.query_row([], |row| rows::number(row, 0))
}

/// Returns true if the message with this number was not consumed.
pub(crate) fn is_waiting(connection: &Connection, seq: u64) -> Result<bool, StoreError> {
    let Ok(number) = limits::number(seq) else { return Ok(false) };
    Ok(Opened::find(connection, number)?.is_some_and(|row| row.has(seq)))
}

/// The highest number in the inbox; 0 if it is empty.
pub(crate) fn last(connection: &Connection) -> Result<u64, StoreError> {
    let mut select = connection
        .prepare_cached("SELECT first, messages, pack FROM inbox ORDER BY first DESC LIMIT 1")?;
    let last = select.query_row([], |row| {
        let (first, _, pack) = row_of(row)?;
        Ok(Messages::new(first, pack).last().map(|message| message.seq))
    });
    match last.optional()? {
        None => Ok(0),
        Some(last) => last.ok_or_else(malformed),
    }
}

/// Calls `take` with every message, in their order.
pub(crate) fn each(
    connection: &Connection,
    mut take: impl FnMut(&Packed<'_>),
) -> Result<(), StoreError> {
    each_from(connection, i64::MIN, |message| {
        take(message);
        true
    })
}

/// Calls `take` with the messages of the rows from that on which has `number`, in their order,
/// until it returns false. The first row may have messages below `number`, too.
pub(crate) fn each_from(
    connection: &Connection,
    number: i64,
    mut take: impl FnMut(&Packed<'_>) -> bool,
) -> Result<(), StoreError> {
    let mut select = connection.prepare_cached(
        "SELECT first, messages, pack FROM inbox
         WHERE first >= coalesce((SELECT max(first) FROM inbox WHERE first <= ?1), ?1)
         ORDER BY first",
    )?;
    let mut found = select.query([number])?;
    let mut last = 0;
    while let Some(row) = found.next()? {
        let (first, count, pack) = row_of(row)?;
        let mut read = Messages::new(first, pack);
        let mut met = 0;
        for message in read.by_ref() {
            if message.seq <= last {
                return Err(malformed());
            }
            (last, met) = (message.seq, met + 1);
            if !take(&message) {
                return Ok(());
            }
        }
        if !read.is_whole() || met != count {
            return Err(malformed());
        }
    }
    Ok(())
}

fn row_of<'r>(row: &'r rusqlite::Row<'_>) -> Result<(u64, u64, &'r [u8]), Error> {
    Ok((rows::number(row, 0)?, rows::number(row, 1)?, rows::blob(row, 2)?))
}

fn number_taken(error: Error) -> StoreError {
    match StoreError::from(error) {
        // The number is there: the one that the store remembers is too low.
        StoreError::Duplicate => StoreError::Damaged(Finding::number_above()),
        error => error,
    }
}

fn malformed() -> StoreError {
    StoreError::Damaged(Finding::Rows { rule: MALFORMED, count: 1 })
}

const MALFORMED: &str = "a malformed pack of inbox messages";
