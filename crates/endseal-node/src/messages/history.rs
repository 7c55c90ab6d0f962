//! The history: texts that were written on this device, and texts that were read.

use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::secret::Zeroizing;
use endseal_keyring::device::Address;
use endseal_keyring::roster::GroupId;
use endseal_session::{Engine, EngineError};
use serde::{Deserialize, Serialize};

use super::address_bytes::{ADDRESS_LEN, address, address_bytes};
use super::conversation::Conversation;
use super::records::{HISTORY, Transaction};
use super::text::Text;
use super::text_delivery::TextDelivery;

/// A text of a conversation in the history.
#[allow(missing_debug_implementations, reason = "it is secret")]
#[non_exhaustive]
pub struct HistoryRow {
    /// Number of the row. Later rows have higher numbers.
    pub number: u64,
    /// True if the text was written on this device.
    pub is_sent: bool,
    /// Device that wrote the text, authenticated by its group.
    pub writer: Address,
    /// Time at which it was written here or marked as read, in milliseconds since 1970.
    pub time: u64,
    /// Encoded message. Decode it with [`Self::text`].
    pub plaintext: Zeroizing<Vec<u8>>,
    /// Delivery of a text that was written here. `None` if it is not known: for texts that arrived,
    /// for notes to oneself, and for what another device of this person wrote.
    pub delivery: Option<TextDelivery>,
    /// Persons who have confirmed a text that was written here.
    pub confirmed: Option<Confirmed>,
}

/// Number of the persons who have confirmed a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::exhaustive_structs, reason = "a number of a number")]
pub struct Confirmed {
    /// Persons of whom at least one device has confirmed it.
    pub by: u64,
    /// Persons for whom it is, without its writer.
    pub of: u64,
}

impl HistoryRow {
    /// Decodes the text. `own` is the identity of this device. Returns `None` if the plaintext is
    /// not a text of this conversation.
    #[must_use]
    pub fn text(&self, own: &PublicKey, conversation: &Conversation) -> Option<Text<'_>> {
        match conversation {
            Conversation::Person(other) if self.is_own(own) => {
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

    /// Returns true if this person wrote the text, on this device or on another one.
    #[must_use]
    pub fn is_own(&self, own: &PublicKey) -> bool {
        self.is_sent || self.writer.identity == *own
    }

    /// Makes a row whose delivery is not known.
    pub(crate) fn new(
        number: u64,
        is_sent: bool,
        writer: Address,
        time: u64,
        plaintext: Zeroizing<Vec<u8>>,
    ) -> Self {
        Self { number, is_sent, writer, time, plaintext, delivery: None, confirmed: None }
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

    /// Returns the encoded row as another device has it: not written there.
    pub(super) fn elsewhere(value: &[u8]) -> Zeroizing<Vec<u8>> {
        let mut value = Zeroizing::new(value.to_vec());
        if let Some(direction) = value.first_mut() {
            *direction = 1;
        }
        value
    }

    /// Decodes a record of the store. Returns `None` if it is damaged.
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

    /// Reads the row with this number. Fails if it does not exist.
    pub(super) fn of(
        transaction: &Transaction<'_, '_>,
        conversation: &Conversation,
        number: u64,
    ) -> Result<Self, EngineError> {
        let name = Self::name(conversation, number);
        let value = transaction.record(HISTORY, &name)?;
        value.and_then(|it| Self::read(&name, &it)).ok_or(EngineError::Damaged("history"))
    }

    /// Writes the row under its number.
    pub(super) fn put(
        &self,
        transaction: &Transaction<'_, '_>,
        conversation: &Conversation,
    ) -> Result<(), EngineError> {
        transaction.put_record(HISTORY, &Self::name(conversation, self.number), &self.to_bytes())
    }
}

/// Returns up to `limit` rows of a conversation with numbers above `after`, in ascending order and
/// without their delivery.
pub(crate) fn history_page(
    engine: &mut Engine,
    conversation: &Conversation,
    after: u64,
    limit: usize,
) -> Result<Vec<HistoryRow>, EngineError> {
    engine.transaction(|transaction| page_in(transaction, conversation, after, limit))
}

/// [`history_page`] in a transaction.
pub(super) fn page_in(
    transaction: &Transaction<'_, '_>,
    conversation: &Conversation,
    after: u64,
    limit: usize,
) -> Result<Vec<HistoryRow>, EngineError> {
    let from = HistoryRow::name(conversation, after);
    let prefix = &from[..from.len() - 8];
    let page = transaction.records_after(HISTORY, &from, limit)?;
    page.iter()
        .take_while(|(name, _)| name.starts_with(prefix))
        .map(|(name, value)| HistoryRow::read(name, value).ok_or(EngineError::Damaged("history")))
        .collect()
}
