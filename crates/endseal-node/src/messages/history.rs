//! The history: texts that were written here, and those that were read.

use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::secret::Zeroizing;
use endseal_session::{Address, Engine, EngineError};

use super::payload::{ADDRESS_LEN, address, address_bytes};
use super::records::{self, HISTORY, Transaction};
use super::text::Text;

/// First byte of the name: a conversation with a person.
const PERSON: u8 = 1;
const NAME_LEN: usize = 1 + 32 + 8;

/// A text of a conversation with a person.
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
}

impl HistoryRow {
    /// The text of a conversation between this identity and `other`; `None` if it is none.
    #[must_use]
    pub fn text(&self, own: &PublicKey, other: &PublicKey) -> Option<Text<'_>> {
        let (sender, receiver) = if self.is_sent { (own, other) } else { (other, own) };
        Text::read(&self.plaintext, sender, receiver)
    }

    pub(super) fn name(other: &PublicKey, number: u64) -> [u8; NAME_LEN] {
        let mut name = [PERSON; NAME_LEN];
        name[1..33].copy_from_slice(other.as_bytes());
        name[33..].copy_from_slice(&number.to_be_bytes());
        name
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
        let (&PERSON, rest) = name.split_first()? else { return None };
        let number = records::number_in_name(rest.get(32..)?)?;
        let (&direction, rest) = value.split_first()?;
        let (writer, rest) = rest.split_first_chunk::<ADDRESS_LEN>()?;
        let (time, plaintext) = rest.split_first_chunk::<8>()?;
        Some(Self {
            number,
            is_sent: match direction {
                0 => true,
                1 => false,
                _ => return None,
            },
            writer: address(writer)?,
            time: u64::from_le_bytes(*time),
            plaintext: Zeroizing::new(plaintext.to_vec()),
        })
    }

    /// Writes it under its number.
    pub(super) fn put(
        &self,
        transaction: &Transaction<'_, '_>,
        other: &PublicKey,
    ) -> Result<(), EngineError> {
        transaction.put_record(HISTORY, &Self::name(other, self.number), &self.to_bytes())
    }
}

/// Returns at most `limit` rows of the conversation with `other` whose numbers are above `after`,
/// in order.
///
/// # Errors
/// [`EngineError`].
pub fn history(
    engine: &mut Engine,
    other: &PublicKey,
    after: u64,
    limit: usize,
) -> Result<Vec<HistoryRow>, EngineError> {
    let from = HistoryRow::name(other, after);
    let page =
        engine.transaction(|transaction| transaction.records_after(HISTORY, &from, limit))?;
    page.iter()
        .take_while(|(name, _)| name.starts_with(&from[..33]))
        .map(|(name, value)| HistoryRow::read(name, value).ok_or(EngineError::Damaged("history")))
        .collect()
}
