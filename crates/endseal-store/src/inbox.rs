//! Messages in plaintext, until they are consumed.

mod gathered;
mod opened;
pub(crate) mod pack;

use endseal_crypto::secret::Zeroizing;
use rusqlite::{Connection, Error, OptionalExtension as _};

use crate::address::AddressRef;
use crate::conversation::ConversationRef;
use crate::error::{Finding, StoreError};
use crate::transaction::{ReadTransaction, WriteTransaction};
use crate::{check, limits, rows};
use gathered::Gathered;
use opened::Opened;
use pack::{Messages, Packed};

/// A message that was delivered.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
#[non_exhaustive]
pub struct InboxRow {
    /// Its number; later messages have higher ones.
    pub seq: u64,
    /// Where it belongs.
    pub conversation: ConversationRef,
    /// Who sent it.
    pub sender: AddressRef,
    /// 0 a message, 1 a change of a group.
    pub kind: u8,
    /// Its id.
    pub message: Vec<u8>,
    /// What it says.
    pub plaintext: Zeroizing<Vec<u8>>,
}

impl InboxRow {
    fn new(message: &Packed<'_>) -> Self {
        Self {
            seq: message.seq,
            conversation: ConversationRef(message.origin.conversation),
            sender: AddressRef(message.origin.sender),
            kind: message.origin.kind,
            message: message.message.to_vec(),
            plaintext: Zeroizing::new(message.plaintext.to_vec()),
        }
    }
}

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

    /// Writes all of them.
    pub(crate) fn write(&mut self, connection: &Connection) -> Result<(), StoreError> {
        self.gathered.write(connection).map_err(number_taken)?;
        if let Some(opened) = &self.opened {
            opened.write(connection)?;
        }
        self.opened = None;
        Ok(())
    }

    fn consume(&mut self, connection: &Connection, seq: u64) -> Result<bool, StoreError> {
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

impl ReadTransaction<'_> {
    /// At most `limit` messages with numbers above `after`, in their order.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn inbox(&self, after: u64, limit: usize) -> Result<Vec<InboxRow>, StoreError> {
        let Ok(next) = limits::number(after.saturating_add(1)) else { return Ok(Vec::new()) };
        self.write_inbox()?;
        let mut messages = Vec::new();
        // The row before may have messages above `after`, too.
        let mut select = self.statement(
            "SELECT first, messages, pack FROM inbox
             WHERE first >= coalesce((SELECT max(first) FROM inbox WHERE first <= ?1), ?1)
             ORDER BY first",
        )?;
        let mut found = select.query([next])?;
        let mut last = 0;
        while messages.len() < limit
            && let Some(row) = found.next()?
        {
            let (first, count, pack) = row_of(row)?;
            let mut read = Messages::new(first, pack);
            let mut met = 0;
            for message in read.by_ref() {
                if message.seq <= last {
                    return Err(malformed());
                }
                (last, met) = (message.seq, met + 1);
                if message.seq > after {
                    messages.push(InboxRow::new(&message));
                    if messages.len() == limit {
                        return Ok(messages);
                    }
                }
            }
            if !read.is_whole() || met != count {
                return Err(malformed());
            }
        }
        Ok(messages)
    }

    /// How many messages there are.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn inbox_len(&self) -> Result<u64, StoreError> {
        self.write_inbox()?;
        Ok(len(self.connection()?)?)
    }

    /// Writes what was delivered and consumed, before the inbox is read or the transaction committed.
    pub(crate) fn write_inbox(&self) -> Result<(), StoreError> {
        self.inbox.borrow_mut().write(self.connection()?)
    }
}

impl WriteTransaction<'_> {
    /// Removes a message from the inbox; whether it was there. That it was delivered stays known.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn consume(&self, seq: u64) -> Result<bool, StoreError> {
        self.inbox.borrow_mut().consume(self.connection()?, seq)
    }
}

/// How many messages all rows have.
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

/// All messages, in their order.
pub(crate) fn each(
    connection: &Connection,
    mut take: impl FnMut(&Packed<'_>),
) -> Result<(), StoreError> {
    let mut select =
        connection.prepare_cached("SELECT first, messages, pack FROM inbox ORDER BY first")?;
    let mut found = select.query([])?;
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
            take(&message);
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
        StoreError::Duplicate => StoreError::Damaged(check::number_above()),
        error => error,
    }
}

fn malformed() -> StoreError {
    StoreError::Damaged(Finding::Rows { rule: MALFORMED, count: 1 })
}

const MALFORMED: &str = "a pack of the inbox that is none";
