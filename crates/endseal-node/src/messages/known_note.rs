//! The newest address note of the hub that this device has.

use endseal_session::EngineError;

use super::records::{HUB_NOTE, Transaction};

/// Record of the newest note: its time, and its addresses until the hub has answered there.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct KnownNote {
    pub(super) time: u64,
    /// Addresses with a space between two; empty after the hub has answered.
    pub(super) awaited: String,
}

impl KnownNote {
    pub(super) fn load(transaction: &Transaction<'_, '_>) -> Result<Self, EngineError> {
        let Some(value) = transaction.record(HUB_NOTE, &[])? else { return Ok(Self::default()) };
        let note = value.split_first_chunk().and_then(|(time, awaited)| {
            let awaited = str::from_utf8(awaited).ok()?.to_owned();
            Some(Self { time: u64::from_le_bytes(*time), awaited })
        });
        note.ok_or(EngineError::Damaged("hub note"))
    }

    pub(super) fn put(&self, transaction: &Transaction<'_, '_>) -> Result<(), EngineError> {
        let value = [&self.time.to_le_bytes()[..], self.awaited.as_bytes()].concat();
        transaction.put_record(HUB_NOTE, &[], &value)
    }
}

/// Returns the time of the newest note that this device has, 0 if none.
pub(super) fn note_time(transaction: &Transaction<'_, '_>) -> Result<u64, EngineError> {
    Ok(KnownNote::load(transaction)?.time)
}

/// Returns the addresses to which the hub moves, until it has answered there.
pub(super) fn awaited(transaction: &Transaction<'_, '_>) -> Result<Option<String>, EngineError> {
    Ok(Some(KnownNote::load(transaction)?.awaited).filter(|it| !it.is_empty()))
}

/// Drops addresses that the hub has not answered at: a user has chosen others.
pub(super) fn forget_awaited(transaction: &Transaction<'_, '_>) -> Result<(), EngineError> {
    let known = KnownNote::load(transaction)?;
    match known.awaited.is_empty() {
        true => Ok(()),
        false => KnownNote { awaited: String::new(), ..known }.put(transaction),
    }
}
