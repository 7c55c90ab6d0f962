//! Ids of texts to persons (docs/spec/node.md, "Texts").

use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::random::{OsRandom, Random as _};
use endseal_session::EngineError;

use super::conversation::Conversation;
use super::error::SayError;
use super::records::{SAID, Transaction};

/// Length of a series in bytes.
pub(super) const SERIES_LEN: usize = 8;

/// Id of a text to a person: series (8) || number (8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TextId {
    /// Random bytes, the same for all texts of a store to a person.
    pub(super) series: [u8; SERIES_LEN],
    /// Counts these texts from 1.
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

    /// `None` if the number is 0.
    pub(super) fn read(bytes: &[u8; 16]) -> Option<Self> {
        let (series, number) = bytes.split_first_chunk()?;
        let number = u64::from_be_bytes(number.try_into().ok()?);
        (number > 0).then_some(Self { series: *series, number })
    }

    /// The id of the last text to a person that was written here.
    pub(super) fn last(
        transaction: &Transaction<'_, '_>,
        person: &PublicKey,
    ) -> Result<Option<Self>, EngineError> {
        match transaction.record(SAID, person.as_bytes())? {
            Some(value) => Self::in_record(&value).map(Some),
            None => Ok(None),
        }
    }

    /// Reads the value of a record.
    pub(super) fn in_record(value: &[u8]) -> Result<Self, EngineError> {
        let id = value.try_into().ok().and_then(Self::read);
        id.ok_or(EngineError::Damaged("said"))
    }
}

/// The id of a text that is written now: the next one to a person, or random to a group.
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
