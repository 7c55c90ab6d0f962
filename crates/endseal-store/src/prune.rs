//! Removal of rows that nothing needs any more, by the policy of the layer above.

use std::collections::HashSet;

use rusqlite::OptionalExtension as _;

use crate::address::AddressRef;
use crate::error::StoreError;
use crate::store::transaction::{ReadTransaction, WriteTransaction};
use crate::{delivered_index, inbox_table, rows};

/// Position in the tombstones at which [`WriteTransaction::prune_seen`] continues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrunePosition {
    conversation: i64,
    message: Vec<u8>,
}

/// Result of one call of [`WriteTransaction::prune_seen`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pruned {
    /// Number of tombstones that were removed.
    pub removed: u64,
    /// Place to go on from; none at the end.
    pub next: Option<PrunePosition>,
}

/// Numbers of rows that [`WriteTransaction::prune_unused`] removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unused {
    /// Number of addresses that were removed.
    pub addresses: u64,
    /// Number of conversations that were removed.
    pub conversations: u64,
}

impl ReadTransaction<'_> {
    /// Number of the last message that was delivered; 0 before the first. Numbers rise with time: a
    /// policy keeps the number of a day to find the tombstones that are older.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn last_number(&self) -> Result<u64, StoreError> {
        self.seq()
    }
}

impl WriteTransaction<'_> {
    /// Removes tombstones of consumed messages with numbers below `below`, of all conversations,
    /// and reads `limit` tombstones at most. Continue from [`Pruned::next`] with the same `below`,
    /// in the same or another transaction. A call without `from` sorts recent messages in first, if
    /// old ones are among them; that takes about a microsecond each.
    ///
    /// The caller MUST know that no server delivers these messages again.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn prune_seen(
        &self,
        below: u64,
        from: Option<PrunePosition>,
        limit: usize,
    ) -> Result<Pruned, StoreError> {
        self.write_inbox()?;
        let from = match from {
            Some(from) => from,
            None => {
                self.sort_in_below(below)?;
                // Conversations have numbers from 1 on.
                PrunePosition { conversation: 0, message: Vec::new() }
            }
        };
        let mut select = self.statement(
            "SELECT conversation, message, seq FROM seen
             WHERE (conversation, message) > (?1, ?2) ORDER BY conversation, message LIMIT ?3",
        )?;
        let most = i64::try_from(limit).unwrap_or(i64::MAX);
        let found = select.query_map((from.conversation, from.message, most), |row| {
            Ok((row.get::<_, i64>(0)?, rows::bytes(row, 1)?, rows::number::<u64>(row, 2)?))
        })?;
        let found: Vec<_> = found.collect::<Result<_, _>>()?;
        let mut delete =
            self.statement("DELETE FROM seen WHERE conversation = ?1 AND message = ?2")?;
        // Memory may note that a removed message is not among those sorted in, and must not after a
        // rollback.
        self.note_recent();
        let mut removed = 0;
        for (conversation, message, seq) in &found {
            if *seq < below && !inbox_table::is_waiting(self.connection()?, *seq)? {
                delete.execute((conversation, message))?;
                removed += 1;
            }
        }
        let is_end = found.len() < limit;
        let last = found.into_iter().next_back().filter(|_| !is_end);
        let next = last.map(|(conversation, message, _)| PrunePosition { conversation, message });
        Ok(Pruned { removed, next })
    }

    /// Sorts recent messages in, if one has a number below `below`.
    fn sort_in_below(&self, below: u64) -> Result<(), StoreError> {
        self.write_recent()?;
        let below = i64::try_from(below).unwrap_or(i64::MAX);
        let mut select = self.statement("SELECT EXISTS (SELECT 1 FROM recent WHERE first < ?1)")?;
        let is_due: bool = select.query_row([below], |row| row.get(0))?;
        if is_due { self.sort_in() } else { Ok(()) }
    }

    /// Removes conversations to which nothing refers, and addresses without certificate, session
    /// and comparison to which nothing refers, at most `limit` of each. Reads the inbox, the outbox
    /// and both tables once.
    ///
    /// A certificate as last seen keeps its address: without it a superseded one would be accepted
    /// again ([`Self::remove_address`]). References that the caller keeps in memory MUST be
    /// dropped.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn prune_unused(&self, limit: usize) -> Result<Unused, StoreError> {
        self.write_inbox()?;
        self.write_recent()?;
        let connection = self.connection()?;
        let (mut conversations, mut senders) = (HashSet::new(), HashSet::new());
        delivered_index::each(connection, |mark, _| {
            conversations.insert(mark.conversation);
        })?;
        inbox_table::each(connection, |message| {
            conversations.insert(message.origin.conversation);
            senders.insert(message.origin.sender);
        })?;
        let unused = |sql: &'static str, used: &HashSet<i64>| -> Result<Vec<i64>, StoreError> {
            let mut select = self.statement(sql)?;
            let found = select.query_map([], |row| row.get::<_, i64>(0))?;
            let found = found.filter(|it| !it.as_ref().is_ok_and(|it| used.contains(it)));
            Ok(found.take(limit).collect::<Result<_, _>>()?)
        };
        let conversations = unused(UNUSED_CONVERSATIONS, &conversations)?;
        let addresses = unused(UNUSED_ADDRESSES, &senders)?;
        for (sql, all) in [
            ("DELETE FROM conversation WHERE ref = ?1", &conversations),
            ("DELETE FROM address WHERE ref = ?1", &addresses),
        ] {
            let mut delete = self.statement(sql)?;
            for reference in all {
                delete.execute([reference])?;
            }
        }
        Ok(Unused { addresses: addresses.len() as u64, conversations: conversations.len() as u64 })
    }

    /// Removes an address with its certificate; returns whether there was one. An earlier
    /// certificate of the device is accepted after that. References to it MUST be dropped.
    ///
    /// # Errors
    /// [`StoreError::Reference`] if a session, the inbox or the outbox refers to it.
    pub fn remove_address(&self, address: AddressRef) -> Result<bool, StoreError> {
        self.write_inbox()?;
        let mut is_sender = false;
        inbox_table::each(self.connection()?, |message| {
            is_sender |= message.origin.sender == address.0;
        })?;
        let mut select = self.statement("SELECT 1 FROM outbox WHERE recipient = ?1 LIMIT 1")?;
        let is_recipient = select.query_row([address.0], |_| Ok(())).optional()?.is_some();
        if is_sender || is_recipient {
            return Err(StoreError::Reference);
        }
        Ok(self.statement("DELETE FROM address WHERE ref = ?1")?.execute([address.0])? > 0)
    }
}

const UNUSED_CONVERSATIONS: &str = "
    SELECT ref FROM conversation AS it
    WHERE NOT EXISTS (SELECT 1 FROM seen WHERE conversation = it.ref)
      AND NOT EXISTS (SELECT 1 FROM parked WHERE conversation = it.ref)
      AND ref NOT IN (SELECT conversation FROM outbox)";

const UNUSED_ADDRESSES: &str = "
    SELECT ref FROM address AS it
    WHERE certificate IS NULL
      AND NOT EXISTS (SELECT 1 FROM session WHERE address = it.ref)
      AND ref NOT IN (SELECT recipient FROM outbox WHERE recipient IS NOT NULL)";
