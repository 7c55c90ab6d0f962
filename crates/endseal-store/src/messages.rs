//! Delivery of messages, each once: the path that a backlog takes.

use core::ops::Range;
use std::sync::LazyLock;

use rusqlite::{CachedStatement, OptionalExtension as _};

use crate::address::AddressRef;
use crate::conversation::ConversationRef;
use crate::delivered_index::Known;
use crate::error::StoreError;
use crate::inbox_table::pack::{Origin, Packed};
use crate::seen::Seen;
use crate::store::transaction::WriteTransaction;
use crate::{limits, rows};

/// Delivers messages in a transaction. It keeps prepared statements, so that they are not looked up
/// for each message; make it once for a batch.
#[allow(missing_debug_implementations, reason = "nothing of it is for people")]
pub struct Messages<'t> {
    transaction: &'t WriteTransaction<'t>,
    /// Statement that searches `seen` for a message, once it is needed: many messages belong to
    /// conversations without a row there.
    seen: Option<CachedStatement<'t>>,
    /// Statement for [`WIDTH`] messages at once, once there are as many.
    wide: Option<CachedStatement<'t>>,
}

/// A message to be delivered with others.
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations, reason = "it refers to a plaintext")]
#[allow(clippy::exhaustive_structs, reason = "the arguments of `deliver`")]
pub struct NewMessage<'a> {
    /// Conversation to which the message belongs.
    pub conversation: ConversationRef,
    /// Id of the message, unique in its conversation.
    pub message: &'a [u8],
    /// Address of the sender.
    pub sender: AddressRef,
    /// 0 a message, 1 a change of a group.
    pub kind: u8,
    /// Digest that is stored as [`Seen::digest`].
    pub digest: &'a [u8; 16],
    /// Content of the message, decrypted.
    pub plaintext: &'a [u8],
}

impl WriteTransaction<'_> {
    /// Returns the interface that delivers messages. It borrows the transaction: drop it before the
    /// commit.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn messages(&self) -> Result<Messages<'_>, StoreError> {
        self.seq()?;
        Ok(Messages { transaction: self, seen: None, wide: None })
    }
}

impl<'t> Messages<'t> {
    pub(crate) fn transaction(&self) -> &'t WriteTransaction<'t> {
        self.transaction
    }

    /// Returns the delivery of a message; `None` if it was not delivered.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn seen(
        &mut self,
        conversation: ConversationRef,
        message: &[u8],
    ) -> Result<Option<Seen>, StoreError> {
        let known = self.transaction.recent()?.find(conversation.0, message);
        match known {
            Known::Delivered(seen) => Ok(Some(seen)),
            Known::Fresh => Ok(None),
            Known::Nothing => self.sorted(conversation, message),
        }
    }

    /// Looks a message up in `seen`.
    fn sorted(
        &mut self,
        conversation: ConversationRef,
        message: &[u8],
    ) -> Result<Option<Seen>, StoreError> {
        if !self.has_sorted(conversation)? {
            return Ok(None);
        }
        let select = prepared(&mut self.seen, self.transaction, SEEN)?;
        let seen = select.query_row((conversation.0, message), |row| {
            Ok(Seen { seq: rows::number(row, 0)?, digest: rows::array(row, 1)? })
        });
        Ok(seen.optional()?)
    }

    /// Returns true if `seen` has any message of a conversation.
    fn has_sorted(&mut self, conversation: ConversationRef) -> Result<bool, StoreError> {
        let mut recent = self.transaction.recent()?;
        if let Some(known) = recent.is_sorted(conversation.0) {
            return Ok(known);
        }
        let mut select = self
            .transaction
            .statement("SELECT EXISTS (SELECT 1 FROM seen WHERE conversation = ?1)")?;
        let has = select.query_row([conversation.0], |row| row.get(0))?;
        recent.note_sorted(conversation.0, has);
        Ok(has)
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
        let mut asked = Vec::new();
        let has_sorted = self.has_sorted(conversation)?;
        {
            let mut recent = self.transaction.recent()?;
            recent.expect(conversation.0, messages.len());
            for (place, (message, found)) in messages.iter().zip(&mut found).enumerate() {
                let known = if has_sorted || limits::name(message).is_err() {
                    recent.find(conversation.0, message)
                } else {
                    recent.ask(conversation.0, message)
                };
                match known {
                    Known::Delivered(seen) => *found = Some(seen),
                    Known::Fresh => {}
                    Known::Nothing => asked.push((*message, place)),
                }
            }
        }
        if has_sorted {
            // In the order of the table.
            asked.sort_unstable();
            self.sorted_many(conversation, &asked, &mut found)?;
            let mut recent = self.transaction.recent()?;
            for (message, place) in asked {
                if found.get(place).is_some_and(Option::is_none) && limits::name(message).is_ok() {
                    recent.ask(conversation.0, message);
                }
            }
        }
        Ok(found)
    }

    /// Looks many messages up in `seen`, each with its place in `found`.
    fn sorted_many(
        &mut self,
        conversation: ConversationRef,
        asked: &[(&[u8], usize)],
        found: &mut [Option<Seen>],
    ) -> Result<(), StoreError> {
        let transaction = self.transaction;
        for asked in asked.chunks(WIDTH) {
            if asked.len() < WIDTH {
                for (message, place) in asked {
                    let seen = self.sorted(conversation, message)?;
                    if let Some(found) = found.get_mut(*place) {
                        *found = seen;
                    }
                }
                continue;
            }
            let select = prepared(&mut self.wide, transaction, &WIDE_SEEN)?;
            select.raw_bind_parameter(1, conversation.0)?;
            for (parameter, (message, _)) in (2..).zip(asked) {
                select.raw_bind_parameter(parameter, message)?;
            }
            let mut rows = select.raw_query();
            while let Some(row) = rows.next()? {
                let place: usize = rows::number(row, 0)?;
                if let Some((_, place)) = asked.get(place)
                    && let Some(found) = found.get_mut(*place)
                {
                    let (seq, digest) = (rows::number(row, 1)?, rows::array(row, 2)?);
                    *found = Some(Seen { seq, digest });
                }
            }
        }
        Ok(())
    }

    /// [`Self::deliver`] for many messages: the numbers that they get, in their order.
    ///
    /// # Errors
    /// As [`Self::deliver`]. Some of them may be delivered then, and the transaction can only be
    /// dropped.
    pub fn deliver_many(&mut self, all: &[NewMessage<'_>]) -> Result<Range<u64>, StoreError> {
        let first = self.transaction.seq()? + 1;
        let end = first.saturating_add(all.len() as u64);
        limits::number(end - 1)?;
        for one in all {
            one.check()?;
        }
        if all.is_empty() {
            return Ok(first..first);
        }
        self.transaction.begin_numbers()?;
        self.transaction.note_recent();
        let put = self.mark_many(all, first).and_then(|()| {
            let packed = (first..).zip(all).map(|(seq, one)| one.packed(seq));
            self.transaction.put(packed)
        });
        put.inspect_err(|_| self.transaction.spoil())?;
        self.transaction.set_seq(end - 1);
        Ok(first..end)
    }

    /// Marks many messages as delivered, as [`Self::mark`] does for one.
    fn mark_many(&mut self, all: &[NewMessage<'_>], first: u64) -> Result<(), StoreError> {
        let transaction = self.transaction;
        let mut recent = transaction.recent()?;
        for (seq, one) in (first..).zip(all) {
            match recent.deliver(one.conversation.0, one.message, seq, one.digest) {
                Known::Fresh => {}
                Known::Delivered(_) => return Err(StoreError::Duplicate),
                Known::Nothing => {
                    drop(recent);
                    self.mark(one, seq)?;
                    recent = transaction.recent()?;
                }
            }
        }
        Ok(())
    }

    /// Gives a message its number, if it was not delivered before.
    fn mark(&mut self, one: &NewMessage<'_>, seq: u64) -> Result<(), StoreError> {
        let NewMessage { conversation, message, digest, .. } = *one;
        let known = self.transaction.recent()?.deliver(conversation.0, message, seq, digest);
        match known {
            Known::Delivered(_) => Err(StoreError::Duplicate),
            Known::Fresh => Ok(()),
            Known::Nothing if self.sorted(conversation, message)?.is_some() => {
                Err(StoreError::Duplicate)
            }
            Known::Nothing => {
                let mut recent = self.transaction.recent()?;
                recent.ask(conversation.0, message);
                recent.deliver(conversation.0, message, seq, digest);
                Ok(())
            }
        }
    }

    /// Puts a message into the inbox, remembers its id for ever, and returns its number. `kind` is
    /// 0 for a message and 1 for a change of a group; `digest` is stored as [`Seen::digest`].
    ///
    /// # Errors
    /// [`StoreError::Duplicate`] if a message of that id was delivered before,
    /// [`StoreError::Limit`]. After any other, drop the transaction.
    pub fn deliver(
        &mut self,
        conversation: ConversationRef,
        message: &[u8],
        sender: AddressRef,
        kind: u8,
        digest: &[u8; 16],
        plaintext: &[u8],
    ) -> Result<u64, StoreError> {
        let one = NewMessage { conversation, message, sender, kind, digest, plaintext };
        one.check()?;
        self.transaction.connection()?;
        let seq = self.transaction.seq()? + 1;
        limits::number(seq)?;
        self.transaction.begin_numbers()?;
        self.transaction.note_recent();
        self.mark(&one, seq)?;
        let put = self.transaction.put([one.packed(seq)].into_iter());
        put.inspect_err(|_| self.transaction.spoil())?;
        self.transaction.set_seq(seq);
        Ok(seq)
    }
}

impl<'a> NewMessage<'a> {
    /// As it lies in the inbox.
    fn packed(&self, seq: u64) -> Packed<'a> {
        let Self { conversation, message, sender, kind, plaintext, .. } = *self;
        let origin = Origin { conversation: conversation.0, sender: sender.0, kind };
        Packed { seq, origin, message, plaintext }
    }

    /// Checks that it is within bounds, and refers to numbers that a store can have given out.
    fn check(&self) -> Result<(), StoreError> {
        limits::name(self.message)?;
        limits::body(self.plaintext)?;
        if self.conversation.0 > 0 && self.sender.0 > 0 {
            Ok(())
        } else {
            Err(StoreError::Reference)
        }
    }
}

const SEEN: &str = "SELECT seq, digest FROM seen WHERE conversation = ?1 AND message = ?2";

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

/// A statement that is prepared when it is first needed.
fn prepared<'s, 't>(
    place: &'s mut Option<CachedStatement<'t>>,
    transaction: &'t WriteTransaction<'t>,
    sql: &'static str,
) -> Result<&'s mut CachedStatement<'t>, StoreError> {
    match place {
        Some(statement) => Ok(statement),
        None => Ok(place.insert(transaction.statement(sql)?)),
    }
}
