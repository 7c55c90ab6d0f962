//! Records of blocked persons (docs/spec/node.md, "Blocked persons").

use std::collections::HashMap;

use endseal_crypto::ed25519::PublicKey;
use endseal_session::EngineError;

use super::records::{self, BLOCKED, Transaction};

/// A blocked person, and the texts that were dropped since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockedPerson {
    /// Time of blocking, in milliseconds since 1970.
    pub(super) time: u64,
    /// Number of dropped texts.
    pub(super) dropped: u64,
}

impl BlockedPerson {
    /// Returns the record of a person; `None` if the person is not blocked.
    pub(super) fn of(
        transaction: &Transaction<'_, '_>,
        person: &PublicKey,
    ) -> Result<Option<Self>, EngineError> {
        let value = transaction.record(BLOCKED, person.as_bytes())?;
        value.map(|value| Self::read(&value)).transpose()
    }

    /// Returns all blocked persons.
    pub(super) fn all(
        transaction: &Transaction<'_, '_>,
    ) -> Result<HashMap<PublicKey, Self>, EngineError> {
        let all = records::persons(transaction, BLOCKED)?;
        all.into_iter().map(|(person, value)| Ok((person, Self::read(&value)?))).collect()
    }

    fn read(value: &[u8]) -> Result<Self, EngineError> {
        let numbers = value.split_first_chunk::<8>();
        let read = numbers.and_then(|(time, dropped)| {
            Some(Self { time: u64::from_le_bytes(*time), dropped: records::number(dropped)? })
        });
        read.ok_or(EngineError::Damaged("blocked"))
    }

    pub(super) fn put(
        self,
        transaction: &Transaction<'_, '_>,
        person: &PublicKey,
    ) -> Result<(), EngineError> {
        let value = [self.time.to_le_bytes(), self.dropped.to_le_bytes()].concat();
        transaction.put_record(BLOCKED, person.as_bytes(), &value)
    }
}

/// Adds to the number of texts of a blocked person that were dropped.
pub(super) fn count_dropped(
    transaction: &Transaction<'_, '_>,
    person: &PublicKey,
    texts: u64,
) -> Result<(), EngineError> {
    let Some(mut blocked) = BlockedPerson::of(transaction, person)? else { return Ok(()) };
    blocked.dropped = blocked.dropped.saturating_add(texts);
    blocked.put(transaction, person)
}
