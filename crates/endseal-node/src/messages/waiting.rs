//! Texts that wait unencrypted.

use endseal_session::{Engine, EngineError};

use super::conversation::Conversation;
use super::records::{self, Transaction, UNSENT};

/// Records that are read from the store at once.
const PAGE: usize = 256;

/// A text that is not encrypted yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    /// Receiving person or group.
    pub(super) to: Conversation,
    /// True if the text was encrypted before, and so may have left this device.
    pub(super) has_left: bool,
}

impl Waiting {
    /// Encodes the record: 1 if the text may have left (1) || conversation.
    pub(super) fn to_bytes(self) -> Vec<u8> {
        [&[u8::from(self.has_left)], self.to.as_bytes()].concat()
    }

    /// Writes the record of the text with this number.
    pub(super) fn put(
        self,
        transaction: &Transaction<'_, '_>,
        number: u64,
    ) -> Result<(), EngineError> {
        transaction.put_record(UNSENT, &number.to_be_bytes(), &self.to_bytes())
    }

    /// Marks a text as unencrypted again. A text that waits anyway keeps its state.
    pub(super) fn put_again(
        transaction: &Transaction<'_, '_>,
        number: u64,
        to: Conversation,
    ) -> Result<(), EngineError> {
        if Self::of(transaction, number)?.is_some() {
            return Ok(());
        }
        Self { to, has_left: true }.put(transaction, number)
    }

    /// Reads the record of a text. Returns `None` if the text does not wait unencrypted.
    pub(super) fn of(
        transaction: &Transaction<'_, '_>,
        number: u64,
    ) -> Result<Option<Self>, EngineError> {
        let value = transaction.record(UNSENT, &number.to_be_bytes())?;
        value.map(|value| Self::read(&value)).transpose()
    }

    fn read(value: &[u8]) -> Result<Self, EngineError> {
        let (has_left, to) = match value.split_first() {
            Some((flag @ 0..=1, to)) => (*flag == 1, Conversation::read(to)),
            _ => (false, None),
        };
        Ok(Self { to: to.ok_or(EngineError::Damaged("unsent"))?, has_left })
    }

    /// Returns up to 256 texts with numbers above `after`, in ascending order.
    pub(super) fn page(
        transaction: &Transaction<'_, '_>,
        after: u64,
    ) -> Result<Vec<(u64, Self)>, EngineError> {
        let page = transaction.records_after(UNSENT, &after.to_be_bytes(), PAGE)?;
        let rows = page.iter().map(|(name, value)| {
            let number = records::number_in_name(name).ok_or(EngineError::Damaged("unsent"))?;
            Ok((number, Self::read(value)?))
        });
        rows.collect()
    }
}

/// Returns up to 256 texts with numbers above `after` that wait unencrypted: the number, the
/// receiver, and true if [`unsend`](super::unsend()) can cancel the text.
pub(crate) fn waiting_page(
    engine: &mut Engine,
    after: u64,
) -> Result<Vec<(u64, Conversation, bool)>, EngineError> {
    let page = engine.transaction(|transaction| Waiting::page(transaction, after))?;
    Ok(page.into_iter().map(|(number, it)| (number, it.to, !it.has_left)).collect())
}
