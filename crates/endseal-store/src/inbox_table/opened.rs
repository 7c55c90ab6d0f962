//! A row of the inbox whose messages are being consumed.

use endseal_crypto::secret::Zeroizing;
use rusqlite::{Connection, OptionalExtension as _};

use super::malformed;
use super::pack::{Before, Messages};
use crate::error::StoreError;
use crate::{limits, rows};

/// A row that was read to consume its messages. It is written back when another row is needed,
/// before the inbox is read, and before the commit. So messages that are consumed one after the
/// other cost one change of their row.
pub(crate) struct Opened {
    first: u64,
    pack: Zeroizing<Vec<u8>>,
    /// Number of each message, and whether it was consumed.
    messages: Vec<(u64, bool)>,
    consumed: usize,
}

impl Opened {
    /// The row in which a number would be.
    pub(crate) fn find(connection: &Connection, seq: i64) -> Result<Option<Self>, StoreError> {
        let mut select = connection.prepare_cached(
            "SELECT first, messages, pack FROM inbox WHERE first <= ?1 ORDER BY first DESC LIMIT 1",
        )?;
        let found = select.query_row([seq], |row| {
            Ok((
                rows::number::<u64>(row, 0)?,
                rows::number::<usize>(row, 1)?,
                rows::secret(row, 2)?,
            ))
        });
        let Some((first, count, pack)) = found.optional()? else { return Ok(None) };
        let mut read = Messages::new(first, &pack);
        let messages: Vec<_> = read.by_ref().map(|message| (message.seq, false)).collect();
        if !read.is_whole() || messages.len() != count {
            return Err(malformed());
        }
        Ok(Some(Self { first, pack, messages, consumed: 0 }))
    }

    /// Returns true if a number would be in this row.
    pub(crate) fn covers(&self, seq: u64) -> bool {
        self.first <= seq && self.messages.last().is_some_and(|(last, _)| seq <= *last)
    }

    /// Returns true if a message is in this row.
    pub(crate) fn has(&self, seq: u64) -> bool {
        self.messages.binary_search_by_key(&seq, |(number, _)| *number).is_ok()
    }

    /// Consumes a message; whether it was there.
    pub(crate) fn consume(&mut self, seq: u64) -> bool {
        let found = self.messages.binary_search_by_key(&seq, |(number, _)| *number);
        match found.ok().and_then(|at| self.messages.get_mut(at)) {
            Some((_, consumed @ false)) => {
                *consumed = true;
                self.consumed += 1;
                true
            }
            _ => false,
        }
    }

    /// Writes what is left. It is of no use after that.
    pub(crate) fn write(&self, connection: &Connection) -> Result<(), StoreError> {
        if self.consumed == 0 {
            return Ok(());
        }
        let first = limits::number(self.first)?;
        let left = (self.messages.len() - self.consumed) as u64;
        if left == 0 {
            connection.prepare_cached("DELETE FROM inbox WHERE first = ?1")?.execute([first])?;
        } else {
            let mut pack = Zeroizing::new(Vec::with_capacity(2 * self.pack.len()));
            let (mut before, mut new) = (Before::default(), None);
            let kept = Messages::new(self.first, &self.pack).zip(&self.messages);
            for (message, _) in kept.filter(|(_, (_, consumed))| !consumed) {
                new.get_or_insert(message.seq);
                message.push(&mut before, &mut pack);
            }
            let new = limits::number(new.unwrap_or(self.first))?;
            let sql = "UPDATE inbox SET first = ?2, messages = ?3, pack = ?4 WHERE first = ?1";
            connection.prepare_cached(sql)?.execute((
                first,
                new,
                limits::number(left)?,
                &pack[..],
            ))?;
        }
        Ok(())
    }
}
