//! Delivery of messages, each once: the path that a backlog takes.

use core::ops::Range;
use std::sync::LazyLock;

use rusqlite::{CachedStatement, OptionalExtension as _, ToSql};

use crate::address::AddressRef;
use crate::conversation::ConversationRef;
use crate::error::StoreError;
use crate::transaction::Transaction;
use crate::{limits, rows};

/// Delivers messages in a transaction. It holds its statements, so that a message costs no look-up of
/// them; make it once for a batch.
#[allow(missing_debug_implementations, reason = "nothing of it is for people")]
pub struct Messages<'t> {
    transaction: &'t Transaction<'t>,
    seen: CachedStatement<'t>,
    mark: CachedStatement<'t>,
    deliver: CachedStatement<'t>,
    /// Those for [`WIDTH`] messages, once there are as many.
    wide: Wide<'t>,
}

#[derive(Default)]
struct Wide<'t> {
    seen: Option<CachedStatement<'t>>,
    mark: Option<CachedStatement<'t>>,
    deliver: Option<CachedStatement<'t>>,
}

/// A message to be delivered with others.
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations, reason = "it refers to a plaintext")]
#[allow(clippy::exhaustive_structs, reason = "the arguments of `deliver`")]
pub struct NewMessage<'a> {
    /// Where it belongs.
    pub conversation: ConversationRef,
    /// Its id.
    pub message: &'a [u8],
    /// Who sent it.
    pub sender: AddressRef,
    /// 0 a message, 1 a change of a group.
    pub kind: u8,
    /// What [`Seen::digest`] says.
    pub digest: &'a [u8; 16],
    /// What it says.
    pub plaintext: &'a [u8],
}

/// A message that was delivered before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Seen {
    /// Its number in the inbox, whether or not it is there still.
    pub seq: u64,
    /// The first 16 bytes of BLAKE3 of its ciphertext. Another ciphertext under the same id is not
    /// the same message.
    pub digest: [u8; 16],
}

impl Transaction<'_> {
    /// What delivers messages. It borrows the transaction: drop it before the commit.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn messages(&self) -> Result<Messages<'_>, StoreError> {
        self.seq()?;
        Ok(Messages {
            transaction: self,
            seen: self.statement(
                "SELECT seq, digest FROM seen WHERE conversation = ?1 AND message = ?2",
            )?,
            mark: self.statement("INSERT INTO seen VALUES (?1, ?2, ?3, ?4)")?,
            deliver: self.statement("INSERT INTO inbox VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?,
            wide: Wide::default(),
        })
    }
}

impl<'t> Messages<'t> {
    pub(crate) fn transaction(&self) -> &'t Transaction<'t> {
        self.transaction
    }

    /// Whether a message was delivered, and as what.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn seen(
        &mut self,
        conversation: ConversationRef,
        message: &[u8],
    ) -> Result<Option<Seen>, StoreError> {
        let seen = self.seen.query_row((conversation.0, message), |row| {
            Ok(Seen { seq: rows::number(row, 0)?, digest: rows::array(row, 1)? })
        });
        Ok(seen.optional()?)
    }

    /// [`Self::seen`] of many messages of one conversation, in their order.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn seen_many(
        &mut self,
        conversation: ConversationRef,
        messages: &[&[u8]],
    ) -> Result<Vec<Option<Seen>>, StoreError> {
        let mut found = vec![None; messages.len()];
        let transaction = self.transaction;
        for (messages, found) in messages.chunks(WIDTH).zip(found.chunks_mut(WIDTH)) {
            if messages.len() < WIDTH {
                for (message, found) in messages.iter().zip(found) {
                    *found = self.seen(conversation, message)?;
                }
                continue;
            }
            let select = prepared(&mut self.wide.seen, transaction, &WIDE_SEEN)?;
            select.raw_bind_parameter(1, conversation.0)?;
            for (parameter, message) in (2..).zip(messages) {
                select.raw_bind_parameter(parameter, message)?;
            }
            let mut rows = select.raw_query();
            while let Some(row) = rows.next()? {
                let place: usize = rows::number(row, 0)?;
                if let Some(found) = found.get_mut(place) {
                    let (seq, digest) = (rows::number(row, 1)?, rows::array(row, 2)?);
                    *found = Some(Seen { seq, digest });
                }
            }
        }
        Ok(found)
    }

    /// [`Self::deliver`] for many messages: the numbers that they get, in their order.
    ///
    /// # Errors
    /// As [`Self::deliver`]. Some of them may be delivered then: the transaction MUST be dropped.
    pub fn deliver_many(&mut self, all: &[NewMessage<'_>]) -> Result<Range<u64>, StoreError> {
        let first = self.transaction.seq()? + 1;
        for one in all {
            limits::name(one.message)?;
            limits::body(one.plaintext)?;
        }
        let transaction = self.transaction;
        for some in all.chunks(WIDTH) {
            let seq = transaction.seq()? + 1;
            if some.len() < WIDTH {
                for one in some {
                    let NewMessage { conversation, message, sender, kind, digest, plaintext } =
                        *one;
                    self.deliver(conversation, message, sender, kind, digest, plaintext)?;
                }
                continue;
            }
            let last = seq + (WIDTH as u64 - 1);
            limits::number(last)?;
            let mark = prepared(&mut self.wide.mark, transaction, &WIDE_MARK)?;
            let mut parameters = Parameters { statement: mark, next: 1 };
            for (seq, one) in (seq..).zip(some) {
                parameters.bind(one.conversation.0)?;
                parameters.bind(one.message)?;
                parameters.bind(limits::number(seq)?)?;
                parameters.bind(one.digest)?;
            }
            parameters.statement.raw_execute()?;
            transaction.set_seq(last);
            let deliver = prepared(&mut self.wide.deliver, transaction, &WIDE_DELIVER)?;
            let mut parameters = Parameters { statement: deliver, next: 1 };
            for (seq, one) in (seq..).zip(some) {
                parameters.bind(limits::number(seq)?)?;
                parameters.bind(one.conversation.0)?;
                parameters.bind(one.sender.0)?;
                parameters.bind(one.kind)?;
                parameters.bind(one.message)?;
                parameters.bind(one.plaintext)?;
            }
            parameters.statement.raw_execute()?;
        }
        Ok(first..transaction.seq()? + 1)
    }

    /// Puts a message into the inbox and remembers its id for ever; the number that it gets. `kind` is
    /// 0 for a message and 1 for a change of a group, and `digest` what [`Seen::digest`] says.
    ///
    /// # Errors
    /// [`StoreError::Duplicate`] if a message of that id was delivered before, [`StoreError::Limit`].
    pub fn deliver(
        &mut self,
        conversation: ConversationRef,
        message: &[u8],
        sender: AddressRef,
        kind: u8,
        digest: &[u8; 16],
        plaintext: &[u8],
    ) -> Result<u64, StoreError> {
        limits::name(message)?;
        limits::body(plaintext)?;
        let seq = self.transaction.seq()? + 1;
        let number = limits::number(seq)?;
        self.mark.execute((conversation.0, message, number, digest))?;
        // From here on the number is taken, even if the row fails: the transaction cannot go on then.
        self.transaction.set_seq(seq);
        self.deliver.execute((number, conversation.0, sender.0, kind, message, plaintext))?;
        Ok(seq)
    }
}

/// Messages of one statement. Beginning and ending one costs about as much as a row.
const WIDTH: usize = 16;

/// The rows are looked up in the order in which they are asked for.
static WIDE_SEEN: LazyLock<String> = LazyLock::new(|| {
    let asked: Vec<_> = (0..WIDTH).map(|n| format!("({n}, ?{})", n + 2)).collect();
    format!(
        "WITH asked(n, message) AS (VALUES {})
         SELECT n, seq, digest FROM asked CROSS JOIN seen
         ON seen.conversation = ?1 AND seen.message = asked.message",
        asked.join(", ")
    )
});
static WIDE_MARK: LazyLock<String> = LazyLock::new(|| wide_insert("seen", 4));
static WIDE_DELIVER: LazyLock<String> = LazyLock::new(|| wide_insert("inbox", 6));

/// `OR FAIL` leaves the rows before the one that failed. Otherwise every page that the statement
/// changes would be copied first, to be put back.
fn wide_insert(table: &str, columns: usize) -> String {
    let row = |n: usize| {
        let parameters: Vec<_> = (1..=columns).map(|c| format!("?{}", n * columns + c)).collect();
        format!("({})", parameters.join(", "))
    };
    let rows: Vec<_> = (0..WIDTH).map(row).collect();
    format!("INSERT OR FAIL INTO {table} VALUES {}", rows.join(", "))
}

/// A statement that is prepared when it is first needed.
fn prepared<'s, 't>(
    place: &'s mut Option<CachedStatement<'t>>,
    transaction: &'t Transaction<'t>,
    sql: &'static str,
) -> Result<&'s mut CachedStatement<'t>, StoreError> {
    match place {
        Some(statement) => Ok(statement),
        None => Ok(place.insert(transaction.statement(sql)?)),
    }
}

/// Binds one parameter after the other.
struct Parameters<'s, 't> {
    statement: &'s mut CachedStatement<'t>,
    next: usize,
}

impl Parameters<'_, '_> {
    fn bind(&mut self, value: impl ToSql) -> Result<(), StoreError> {
        self.statement.raw_bind_parameter(self.next, value)?;
        self.next += 1;
        Ok(())
    }
}
