//! Texts that arrived and were not read.

use endseal_crypto::ed25519::PublicKey;
use endseal_session::{ConversationId, Engine, EngineError, Received};

use super::history::HistoryRow;
use super::records::{self, Transaction};
use super::text::Text;

/// Messages that are looked at in one transaction.
const PAGE: usize = 256;

/// A message of a person that was not read.
#[allow(missing_debug_implementations, reason = "it is secret")]
#[non_exhaustive]
pub struct Unread {
    /// The other person.
    pub from: PublicKey,
    /// The message.
    pub received: Received,
}

impl Unread {
    /// The text; `None` if the plaintext is none.
    #[must_use]
    pub fn text(&self, own: &PublicKey) -> Option<Text<'_>> {
        Text::read(&self.received.plaintext, &self.from, own)
    }
}

/// Returns some messages of persons behind the number `after` in the inbox, and the number up to
/// which it was looked at; `None` for the number at the end.
///
/// # Errors
/// [`EngineError`].
pub fn unread(engine: &mut Engine, after: u64) -> Result<(Vec<Unread>, Option<u64>), EngineError> {
    let page = engine.inbox().page(after, PAGE)?;
    let next = page.last().map(|last| last.number);
    let of_persons = page.into_iter().filter_map(|received| match received.conversation {
        ConversationId::Person(from) => Some(Unread { from, received }),
        _ => None,
    });
    Ok((of_persons.collect(), next))
}

/// Moves messages that were shown from the inbox to the history, in one transaction.
///
/// # Errors
/// [`EngineError`]; nothing was moved then.
pub fn mark_read(engine: &mut Engine, read: &[Unread]) -> Result<(), EngineError> {
    let time = records::now();
    engine.transaction(|transaction: &mut Transaction<'_, '_>| {
        for Unread { from, received } in read {
            if transaction.consume(received.number)? {
                let number = records::next_number(transaction)?;
                let plaintext = received.plaintext.clone();
                let writer = received.sender;
                let row = HistoryRow { number, is_sent: false, writer, time, plaintext };
                row.put(transaction, from)?;
            }
        }
        Ok(())
    })
}
