//! Ids of texts to persons (docs/spec/node.md, "Texts").

use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::random::{OsRandom, Random as _};
use endseal_session::EngineError;

use super::conversation::Conversation;
use super::error::SayError;
use super::records::{SAID, Transaction};

/// Length of a series in bytes.
pub(super) const SERIES_LEN: usize = 8;

/// Id of a text to a person: series (8) || number (8), big-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TextId {
    /// Random bytes that all texts from one store to one person share.
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

    /// Returns the id of the last text to a person that was written on this device.
    pub(super) fn last(
        transaction: &Transaction<'_, '_>,
        person: &PublicKey,
    ) -> Result<Option<Self>, EngineError> {
        match transaction.record(SAID, person.as_bytes())? {
            Some(value) => Self::in_record(&value).map(Some),
            None => Ok(None),
        }
    }

    /// Decodes an id from a record of the store.
    pub(super) fn in_record(value: &[u8]) -> Result<Self, EngineError> {
        let id = value.try_into().ok().and_then(Self::read);
        id.ok_or(EngineError::Damaged("said"))
    }
}

/// Assigns the id of a new text: the next one of the person's series, or a random one for a group.
pub(super) fn next_id(
    transaction: &Transaction<'_, '_>,
    to: &Conversation,
) -> Result<[u8; 16], SayError> {
    let mut random = [0; 16];
    let Conversation::Person(person) = to else {
        OsRandom.fill(&mut random).map_err(SayError::Random)?;
        return Ok(random);
    };
    let last = match TextId::last(transaction, person)? {
        Some(last) => last,
        None => {
            let mut series = [0; SERIES_LEN];
            OsRandom.fill(&mut series).map_err(SayError::Random)?;
            TextId { series, number: 0 }
        }
    };
    let number = last.number.checked_add(1).ok_or(EngineError::Damaged("said"))?;
    let id = TextId { number, ..last }.to_bytes();
    transaction.put_record(SAID, person.as_bytes(), &id)?;
    Ok(id)
}
