//! Unread messages of the inbox.

use std::collections::HashMap;

use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::secret::Zeroizing;
use endseal_keyring::device::Address;
use endseal_session::{Engine, EngineError, Received, ReceivedKind};

use super::arrivals;
use super::conversation::Conversation;
use super::history::HistoryRow;
use super::hub_groups::conversation_of;
use super::read_marks;
use super::receipt::{MAX_RUNS, TextReceipt};
use super::records::{self, HIDDEN_TEAM, Transaction};
use super::replacement;
use super::runs::Runs;
use super::text::Text;
use super::text_id::{OfSeries, TextId};

/// Messages that are read in one transaction.
const PAGE: usize = 256;
/// Messages that are moved to the history in one step.
const MARKED: usize = 64;

/// A message of the inbox that was not marked as read.
#[allow(missing_debug_implementations, reason = "it is secret")]
#[non_exhaustive]
pub struct Unread {
    /// Number in the inbox. Later messages have higher numbers.
    pub number: u64,
    /// The remote person, or the group.
    pub conversation: Conversation,
    /// Device that wrote the message, authenticated by its session or signature.
    pub writer: Address,
    /// Encoded message. Decode it with [`Self::text`].
    pub plaintext: Zeroizing<Vec<u8>>,
}

impl Unread {
    /// Converts a received message. Returns `None` if it did not arrive over a hub, is no text, or
    /// is a text of a hidden team.
    pub(super) fn of(
        transaction: &Transaction<'_, '_>,
        received: Received,
    ) -> Result<Option<Self>, EngineError> {
        let conversation = conversation_of(transaction, &received.conversation)?;
        let Some(conversation) = conversation else { return Ok(None) };
        let is_text = received.kind == ReceivedKind::Text
            && !TextReceipt::is_in(&received.plaintext)
            && replacement::read(&received.plaintext).is_none();
        let is_hidden = match &conversation {
            Conversation::Group(team) => {
                transaction.record(HIDDEN_TEAM, team.as_bytes())?.is_some()
            }
            Conversation::Person(_) => false,
        };
        let Received { number, sender, plaintext, .. } = received;
        let unread = Self { number, conversation, writer: sender, plaintext };
        Ok((is_text && !is_hidden).then_some(unread))
    }

    /// Returns the identity of the person who wrote the message.
    #[must_use]
    pub fn from(&self) -> &PublicKey {
        &self.writer.identity
    }

    /// Decodes the text. `own` is the identity of this device. Returns `None` if the plaintext is
    /// not a text of this conversation.
    #[must_use]
    pub fn text(&self, own: &PublicKey) -> Option<Text<'_>> {
        let to = match self.conversation {
            Conversation::Person(_) => Conversation::Person(*own),
            group @ Conversation::Group(_) => group,
        };
        Text::read(&self.plaintext, self.from(), &to)
    }
}

/// Returns true if the message arrived over a hub. The others are texts and changes of MLS groups
/// that are carried in files.
///
/// # Errors
/// Returns [`EngineError`] if the store fails.
pub fn is_from_hub(engine: &mut Engine, received: &Received) -> Result<bool, EngineError> {
    let of = engine.transaction(|it| conversation_of(it, &received.conversation))?;
    Ok(of.is_some())
}

/// Returns a page of messages with numbers above `after`, and the number up to which the inbox was
/// searched. That number is `None` at the end of the inbox.
///
/// # Errors
/// Returns [`EngineError`] if the store fails.
pub fn unread(engine: &mut Engine, after: u64) -> Result<(Vec<Unread>, Option<u64>), EngineError> {
    unread_page(engine, after, PAGE)
}

/// Like [`unread`], with a page of at most `limit` messages. The inbox ends before messages that
/// were not processed yet, which may be receipts, requests, or texts of blocked persons: a caller
/// that goes on from the end gets them later.
pub(crate) fn unread_page(
    engine: &mut Engine,
    after: u64,
    limit: usize,
) -> Result<(Vec<Unread>, Option<u64>), EngineError> {
    engine.transaction(|transaction| {
        let noted = arrivals::noted(transaction)?;
        let mut page = transaction.inbox(after, limit)?;
        page.retain(|it| it.number <= noted);
        let next = page.last().map(|last| last.number);
        let mut found = Vec::new();
        for received in page {
            found.extend(Unread::of(transaction, received)?);
        }
        Ok((found, next))
    })
}

/// Moves messages that were shown to the user from the inbox to the history, in one transaction.
/// `numbers` are their numbers in the inbox.
///
/// # Errors
/// Returns [`EngineError`] if the store fails. Nothing was moved then.
pub fn mark_read(engine: &mut Engine, numbers: &[u64]) -> Result<(), EngineError> {
    let own = engine.address();
    engine.transaction(|it: &mut Transaction<'_, '_>| mark_read_in(it, own, numbers))
}

/// [`mark_read`] in a transaction.
pub(super) fn mark_read_in(
    transaction: &mut Transaction<'_, '_>,
    own: Address,
    numbers: &[u64],
) -> Result<(), EngineError> {
    let time = records::now();
    let mut marks = HashMap::<OfSeries, Runs>::new();
    for some in numbers.chunks(MARKED) {
        // Read all of them before the first is consumed, because reading makes the store write out
        // what was consumed.
        let mut read = Vec::new();
        for number in some {
            read.extend(unread_text(transaction, *number)?);
        }
        for Unread { number, conversation, writer, plaintext } in read {
            // Another command may have shown the same message.
            if transaction.consume(number)? {
                let from = writer.identity;
                let id = read_marks::id_of(&plaintext, &conversation, &from, &own.identity);
                if let Some(TextId { series, number }) = id {
                    let runs = marks.entry((conversation, from, series)).or_default();
                    runs.add(number, number, MAX_RUNS);
                }
                let number = records::next_number(transaction)?;
                let row = HistoryRow::new(number, false, writer, time, plaintext);
                row.put(transaction, &conversation)?;
            }
        }
    }
    read_marks::note(transaction, &own, &marks)
}

/// Returns the text with this number, or `None` if the inbox does not have it.
pub(super) fn unread_text(
    transaction: &Transaction<'_, '_>,
    number: u64,
) -> Result<Option<Unread>, EngineError> {
    if number > arrivals::noted(transaction)? {
        return Ok(None);
    }
    let mut found = transaction.inbox(number.saturating_sub(1), 1)?;
    found.retain(|it| it.number == number);
    found.pop().map_or(Ok(None), |received| Unread::of(transaction, received))
}
