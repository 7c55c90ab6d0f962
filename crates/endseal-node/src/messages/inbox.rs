//! Texts that arrived and were not read.

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

/// Messages that are looked at in one transaction.
const PAGE: usize = 256;
/// Messages that are moved to the history together.
const MARKED: usize = 64;

/// A message that was not read.
#[allow(missing_debug_implementations, reason = "it is secret")]
#[non_exhaustive]
pub struct Unread {
    /// Its number in the inbox: later messages have higher ones.
    pub number: u64,
    /// The other person, or the group.
    pub conversation: Conversation,
    /// Device that wrote it, as its session or its signature proved.
    pub writer: Address,
    /// The plaintext.
    pub plaintext: Zeroizing<Vec<u8>>,
}

impl Unread {
    /// `None` if the message did not come by a hub, and if it is a receipt, which the next visit
    /// takes out.
    fn of(received: Received) -> Option<Self> {
        let conversation = conversation(&received)?;
        if matches!(conversation, Conversation::Person(_))
            && TextReceipt::is_in(&received.plaintext)
        {
            return None;
        }
        let Received { number, sender, plaintext, .. } = received;
        Some(Self { number, conversation, writer: sender, plaintext })
    }

    /// The person who wrote it.
    #[must_use]
    pub fn from(&self) -> &PublicKey {
        &self.writer.identity
    }

    /// The text; `own` is this identity. `None` if the plaintext is none.
    #[must_use]
    pub fn text(&self, own: &PublicKey) -> Option<Text<'_>> {
        let to = match self.conversation {
            Conversation::Person(_) => Conversation::Person(*own),
            group @ Conversation::Group(_) => group,
        };
        Text::read(&self.plaintext, self.from(), &to)
    }
}

/// Returns true if the message came by a hub. Others are texts and changes of MLS groups.
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

/// Returns some messages behind the number `after` in the inbox, and the number up to which it was
/// looked at; `None` for the number at the end.
///
/// # Errors
/// [`EngineError`].
pub fn unread(engine: &mut Engine, after: u64) -> Result<(Vec<Unread>, Option<u64>), EngineError> {
    unread_page(engine, after, PAGE)
}

/// As [`unread`], of at most `limit` messages.
pub(crate) fn unread_page(
    engine: &mut Engine,
    after: u64,
    limit: usize,
) -> Result<(Vec<Unread>, Option<u64>), EngineError> {
    let page = engine.inbox().page(after, limit)?;
    let next = page.last().map(|last| last.number);
    Ok((page.into_iter().filter_map(Unread::of).collect(), next))
}

/// Moves messages that were shown, named by their numbers, from the inbox to the history, in one
/// transaction.
///
/// # Errors
/// [`EngineError`]; nothing was moved then.
pub fn mark_read(engine: &mut Engine, numbers: &[u64]) -> Result<(), EngineError> {
    let (time, own) = (records::now(), engine.address().identity);
    engine.transaction(|transaction: &mut Transaction<'_, '_>| {
        unconfirmed::note(transaction, &own)?;
        for some in numbers.chunks(MARKED) {
            // All of them before the first is consumed: the store writes what was consumed when it
            // is read.
            let mut read = Vec::new();
            for number in some {
                let found = transaction.inbox(number.saturating_sub(1), 1)?;
                read.extend(found.into_iter().filter(|it| it.number == *number));
            }
            for Unread { number, conversation, writer, plaintext } in
                read.into_iter().filter_map(Unread::of)
            {
                // Another command may have shown it, too.
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
