//! Ids of texts to persons (docs/spec/node.md, "Texts").

use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::random::{OsRandom, Random as _};
use endseal_session::EngineError;

use super::conversation::Conversation;
use super::error::SayError;
use super::records::{self, SAID, SERIES, Transaction};

/// Persons that are read at once.
const PAGE: usize = 256;
/// Length of a series in bytes.
pub(super) const SERIES_LEN: usize = 8;

/// Id of a text to a person: series (8) || number (8), big-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TextId {
    /// Random bytes, the same for all texts of a device to a person.
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

    /// Returns true if this device has ever written to a person.
    pub(super) fn has_written_to(
        transaction: &Transaction<'_, '_>,
        person: &PublicKey,
    ) -> Result<bool, EngineError> {
        if Self::last(transaction, person)?.is_some() {
            return Ok(true);
        }
        let page = transaction.records_after(SERIES, person.as_bytes(), 1)?;
        Ok(page.iter().any(|(name, _)| name.starts_with(person.as_bytes())))
    }

    /// The last number that was given in a series to a person, also in one that ended; `None` if
    /// the series is of another device.
    pub(super) fn last_in_series(
        transaction: &Transaction<'_, '_>,
        person: &PublicKey,
        series: &[u8; SERIES_LEN],
    ) -> Result<Option<u64>, EngineError> {
        if let Some(last) = Self::last(transaction, person)?.filter(|it| it.series == *series) {
            return Ok(Some(last.number));
        }
        let Some(value) = transaction.record(SERIES, &series_name(person, series))? else {
            return Ok(None);
        };
        records::number(&value).map(Some).ok_or(EngineError::Damaged("series"))
    }

    /// Ends the series to each person: the next text begins another.
    pub(super) fn end_series(transaction: &Transaction<'_, '_>) -> Result<(), EngineError> {
        loop {
            let page = transaction.records_after(SAID, &[], PAGE)?;
            if page.is_empty() {
                return Ok(());
            }
            for (person, value) in &page {
                let last = Self::in_record(value)?;
                let name = [person.as_slice(), &last.series].concat();
                transaction.put_record(SERIES, &name, &last.number.to_le_bytes())?;
                transaction.remove_record(SAID, person)?;
            }
        }
    }
}

/// Name of a record of a series of texts to or from a person: identity (32) || series (8).
pub(super) fn series_name(person: &PublicKey, series: &[u8; SERIES_LEN]) -> [u8; 40] {
    let mut name = [0; PublicKey::LEN + SERIES_LEN];
    let (identity, rest) = name.split_at_mut(PublicKey::LEN);
    identity.copy_from_slice(person.as_bytes());
    rest.copy_from_slice(series);
    name
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
