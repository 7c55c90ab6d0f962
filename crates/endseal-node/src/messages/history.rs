//! The history: texts that were written here, and those that were read.

use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::secret::Zeroizing;
use endseal_keyring::device::Address;
use endseal_keyring::roster::GroupId;
use endseal_session::{Engine, EngineError};

use super::conversation::Conversation;
use super::payload::{ADDRESS_LEN, address, address_bytes};
use super::records::{HISTORY, Transaction};
use super::text::Text;
use super::text_delivery::TextDelivery;

/// A text of a conversation.
#[allow(missing_debug_implementations, reason = "it is secret")]
#[non_exhaustive]
pub struct HistoryRow {
    /// Its number: later rows have higher ones.
    pub number: u64,
    /// True if it was written here.
    pub is_sent: bool,
    /// Device that wrote it, as its session proved.
    pub writer: Address,
    /// When it was written here, or read, in milliseconds since 1970.
    pub time: u64,
    /// The plaintext.
    pub plaintext: Zeroizing<Vec<u8>>,
    /// Delivery of a text that was written here; `None` where it is not known: of texts that
    /// arrived, and of letters that were sent.
    pub delivery: Option<TextDelivery>,
}

impl HistoryRow {
    /// The text; `own` is this identity. `None` if it is none.
    #[must_use]
    pub fn text(&self, own: &PublicKey, conversation: &Conversation) -> Option<Text<'_>> {
        match conversation {
            Conversation::Person(other) if self.is_sent => {
                Text::read(&self.plaintext, own, &Conversation::Person(*other))
            }
            Conversation::Person(other) => {
                Text::read(&self.plaintext, other, &Conversation::Person(*own))
            }
            Conversation::Group(_) => {
                Text::read(&self.plaintext, &self.writer.identity, conversation)
            }
        }
    }

    /// A row whose delivery is not known.
    pub(crate) fn new(
        number: u64,
        is_sent: bool,
        writer: Address,
        time: u64,
        plaintext: Zeroizing<Vec<u8>>,
    ) -> Self {
        Self { number, is_sent, writer, time, plaintext, delivery: None }
    }

    pub(super) fn name(conversation: &Conversation, number: u64) -> Vec<u8> {
        [&[conversation.tag()], conversation.as_bytes(), &number.to_be_bytes()].concat()
    }

    fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(45 + self.plaintext.len()));
        bytes.push(u8::from(!self.is_sent));
        bytes.extend_from_slice(&address_bytes(&self.writer));
        bytes.extend_from_slice(&self.time.to_le_bytes());
        bytes.extend_from_slice(&self.plaintext);
        bytes
    }

    /// Reads a record of the store; `None` if it is none.
    #[must_use]
    pub fn read(name: &[u8], value: &[u8]) -> Option<Self> {
        let (&tag, rest) = name.split_first()?;
        let (conversation, number) = rest.split_last_chunk::<8>()?;
        let of_group = tag == 2 && conversation.len() == GroupId::LEN;
        if !of_group && (tag != 1 || conversation.len() != PublicKey::LEN) {
            return None;
        }
        let number = u64::from_be_bytes(*number);
        let (&direction, rest) = value.split_first()?;
        let (writer, rest) = rest.split_first_chunk::<ADDRESS_LEN>()?;
        let (time, plaintext) = rest.split_first_chunk::<8>()?;
        let is_sent = match direction {
            0 => true,
            1 => false,
            _ => return None,
        };
        let (writer, time) = (address(writer)?, u64::from_le_bytes(*time));
        Some(Self::new(number, is_sent, writer, time, Zeroizing::new(plaintext.to_vec())))
    }

    /// The row with a number.
    pub(super) fn of(
        transaction: &Transaction<'_, '_>,
        conversation: &Conversation,
        number: u64,
    ) -> Result<Self, EngineError> {
        let name = Self::name(conversation, number);
        let value = transaction.record(HISTORY, &name)?;
        value.and_then(|it| Self::read(&name, &it)).ok_or(EngineError::Damaged("history"))
    }

    /// Writes it under its number.
    pub(super) fn put(
        &self,
        transaction: &Transaction<'_, '_>,
        conversation: &Conversation,
    ) -> Result<(), EngineError> {
        transaction.put_record(HISTORY, &Self::name(conversation, self.number), &self.to_bytes())
    }
}

/// Returns at most `limit` rows of a conversation whose numbers are above `after`, in order,
/// without their delivery.
pub(crate) fn history_page(
    engine: &mut Engine,
    conversation: &Conversation,
    after: u64,
    limit: usize,
) -> Result<Vec<HistoryRow>, EngineError> {
    let from = HistoryRow::name(conversation, after);
    let prefix = &from[..from.len() - 8];
    let page =
        engine.transaction(|transaction| transaction.records_after(HISTORY, &from, limit))?;
    page.iter()
        .take_while(|(name, _)| name.starts_with(prefix))
        .map(|(name, value)| HistoryRow::read(name, value).ok_or(EngineError::Damaged("history")))
        .collect()
}
