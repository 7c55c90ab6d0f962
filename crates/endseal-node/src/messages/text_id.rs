//! Ids of texts (docs/spec/node.md, "Texts").

use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::random::{OsRandom, Random as _};
use endseal_session::EngineError;

use super::conversation::Conversation;
use super::error::SayError;
use super::records::{self, SAID, SERIES, Transaction};

/// Conversations that are read at once.
const PAGE: usize = 256;
/// Length of a series in bytes.
pub(super) const SERIES_LEN: usize = 8;

/// Id of a text: series (8) || number (8), big-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TextId {
    /// Random bytes, the same for all texts of a device in a conversation.
    pub(super) series: [u8; SERIES_LEN],
    /// Number of the text in its series, counted from 1.
    pub(super) number: u64,
}

impl TextId {
    pub(super) fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        let (series, number) = bytes.split_at_mut(SERIES_LEN);
        series.copy_from_slice(&self.series);
        number.copy_from_slice(&self.number.to_be_bytes());
        bytes
    }

    /// Decodes an id. Returns `None` if the number is 0.
    pub(super) fn read(bytes: &[u8; 16]) -> Option<Self> {
        let (series, number) = bytes.split_first_chunk()?;
        let number = u64::from_be_bytes(number.try_into().ok()?);
        (number > 0).then_some(Self { series: *series, number })
    }

    /// Returns the id of the last text of a conversation that was written on this device.
    pub(super) fn last(
        transaction: &Transaction<'_, '_>,
        conversation: &Conversation,
    ) -> Result<Option<Self>, EngineError> {
        match transaction.record(SAID, &conversation.name())? {
            Some(value) => Self::in_record(&value).map(Some),
            None => Ok(None),
        }
    }

    /// Decodes an id from a record of the store.
    pub(super) fn in_record(value: &[u8]) -> Result<Self, EngineError> {
        let id = value.try_into().ok().and_then(Self::read);
        id.ok_or(EngineError::Damaged("said"))
    }

    /// Returns true if this device has ever written in a conversation.
    pub(super) fn has_written_in(
        transaction: &Transaction<'_, '_>,
        conversation: &Conversation,
    ) -> Result<bool, EngineError> {
        if Self::last(transaction, conversation)?.is_some() {
            return Ok(true);
        }
        let name = conversation.name();
        let page = transaction.records_after(SERIES, &name, 1)?;
        Ok(page.iter().any(|(it, _)| it.starts_with(&name)))
    }

    /// Returns the last number that was given in a series of a conversation, also in one that
    /// ended; `None` if the series is of another device.
    pub(super) fn last_in_series(
        transaction: &Transaction<'_, '_>,
        conversation: &Conversation,
        series: &[u8; SERIES_LEN],
    ) -> Result<Option<u64>, EngineError> {
        let last = Self::last(transaction, conversation)?;
        if let Some(last) = last.filter(|it| it.series == *series) {
            return Ok(Some(last.number));
        }
        let Some(value) = transaction.record(SERIES, &series_name(conversation, series))? else {
            return Ok(None);
        };
        records::number(&value).map(Some).ok_or(EngineError::Damaged("series"))
    }

    /// Ends the series in each conversation: the next text begins another.
    pub(super) fn end_series(transaction: &Transaction<'_, '_>) -> Result<(), EngineError> {
        loop {
            let page = transaction.records_after(SAID, &[], PAGE)?;
            if page.is_empty() {
                return Ok(());
            }
            for (conversation, value) in &page {
                let last = Self::in_record(value)?;
                let name = [conversation.as_slice(), &last.series].concat();
                transaction.put_record(SERIES, &name, &last.number.to_le_bytes())?;
                transaction.remove_record(SAID, conversation)?;
            }
        }
    }
}

/// Name of a record of a series of texts in a conversation: name of the conversation || series (8).
pub(super) fn series_name(conversation: &Conversation, series: &[u8; SERIES_LEN]) -> Vec<u8> {
    [&conversation.name()[..], series].concat()
}

/// A series of texts: its conversation, the identity of its writer, and its bytes.
pub(super) type OfSeries = (Conversation, PublicKey, [u8; SERIES_LEN]);

/// Name of a record of a series that another person wrote: [`series_name`] || start of the writer
/// (16).
pub(super) fn name_of((conversation, writer, series): &OfSeries) -> Vec<u8> {
    [&series_name(conversation, series)[..], &writer.as_bytes()[..16]].concat()
}

/// Assigns the id of a new text: the next one of the series in its conversation.
pub(super) fn next_id(
    transaction: &Transaction<'_, '_>,
    to: &Conversation,
) -> Result<[u8; 16], SayError> {
    let last = match TextId::last(transaction, to)? {
        Some(last) => last,
        None => {
            let mut series = [0; SERIES_LEN];
            OsRandom.fill(&mut series).map_err(SayError::Random)?;
            TextId { series, number: 0 }
        }
    };
    let number = last.number.checked_add(1).ok_or(EngineError::Damaged("said"))?;
    let id = TextId { number, ..last }.to_bytes();
    transaction.put_record(SAID, &to.name(), &id)?;
    Ok(id)
}
