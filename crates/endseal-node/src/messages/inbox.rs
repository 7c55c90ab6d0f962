//! Unread messages of the inbox.

use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::secret::Zeroizing;
use endseal_keyring::device::Address;
use endseal_keyring::roster::GroupId;
use endseal_session::{ConversationId, Engine, EngineError, Received};

use super::conversation::Conversation;
use super::history::HistoryRow;
use super::letter::ID_LEN;
use super::receipt::TextReceipt;
use super::records::{self, Transaction};
use super::text::Text;
use super::unconfirmed;

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
    /// Converts a received message. Returns `None` if it did not arrive over a hub, or if it is a
    /// receipt, which the next sync removes.
    pub(super) fn of(received: Received) -> Option<Self> {
        let conversation = conversation(&received)?;
        if matches!(conversation, Conversation::Person(_))
            && TextReceipt::is_in(&received.plaintext)
        {
            return None;
        }
        let Received { number, sender, plaintext, .. } = received;
        Some(Self { number, conversation, writer: sender, plaintext })
    }

    /// Returns true if the message was processed: letters are when they arrive.
    fn is_noted(&self, noted: u64) -> bool {
        self.number <= noted || matches!(self.conversation, Conversation::Group(_))
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

/// Returns true if the message arrived over a hub. The others are texts and changes of MLS groups.
#[must_use]
pub fn is_from_hub(received: &Received) -> bool {
    conversation(received).is_some()
}

fn conversation(received: &Received) -> Option<Conversation> {
    match &received.conversation {
        ConversationId::Person(from) => Some(Conversation::Person(*from)),
        ConversationId::Group(group) if received.id.len() == ID_LEN => {
            Some(Conversation::Group(GroupId::from_bytes(group.as_slice().try_into().ok()?)))
        }
        _ => None,
    }
}

/// Returns a page of messages with numbers above `after`, and the number up to which the inbox was
/// searched. That number is `None` at the end of the inbox.
///
/// # Errors
/// Returns [`EngineError`] if the store fails.
pub fn unread(engine: &mut Engine, after: u64) -> Result<(Vec<Unread>, Option<u64>), EngineError> {
    unread_page(engine, after, PAGE)
}

/// Like [`unread`], with a page of at most `limit` messages. Messages of persons that were not
/// processed yet are left out: they may be receipts, requests, or texts of blocked persons.
pub(crate) fn unread_page(
    engine: &mut Engine,
    after: u64,
    limit: usize,
) -> Result<(Vec<Unread>, Option<u64>), EngineError> {
    let noted = engine.transaction(|transaction| unconfirmed::noted(transaction))?;
    let page = engine.inbox().page(after, limit)?;
    let next = page.last().map(|last| last.number);
    let mut found: Vec<_> = page.into_iter().filter_map(Unread::of).collect();
    found.retain(|it| it.is_noted(noted));
    Ok((found, next))
}

/// Moves messages that were shown to the user from the inbox to the history, in one transaction.
/// `numbers` are their numbers in the inbox.
///
/// # Errors
/// Returns [`EngineError`] if the store fails. Nothing was moved then.
pub fn mark_read(engine: &mut Engine, numbers: &[u64]) -> Result<(), EngineError> {
    let time = records::now();
    engine.transaction(|transaction: &mut Transaction<'_, '_>| {
        let noted = unconfirmed::noted(transaction)?;
        for some in numbers.chunks(MARKED) {
            // Read all of them before the first is consumed, because reading makes the store write
            // out what was consumed.
            let mut read = Vec::new();
            for number in some {
                let found = transaction.inbox(number.saturating_sub(1), 1)?;
                read.extend(found.into_iter().filter(|it| it.number == *number));
            }
            let read = read.into_iter().filter_map(Unread::of);
            for Unread { number, conversation, writer, plaintext } in
                read.filter(|it| it.is_noted(noted))
            {
                // Another command may have shown the same message.
                if transaction.consume(number)? {
                    let number = records::next_number(transaction)?;
                    let row = HistoryRow::new(number, false, writer, time, plaintext);
                    row.put(transaction, &conversation)?;
                }
            }
        }
        Ok(())
    })
}
