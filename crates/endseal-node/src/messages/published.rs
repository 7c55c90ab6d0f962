//! Key packages that this device has given to the hub.

use endseal_session::EngineError;

use super::records::{PUBLISHED, Transaction};

/// Record of the key packages that were published.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Published {
    /// Number of all key packages that were ever published, those of last resort included.
    pub(super) count: u64,
    /// Time at which the oldest of those that may be at the hub was made, in milliseconds since
    /// 1970; 0 if there is none.
    pub(super) time: u64,
}

impl Published {
    pub(super) fn load(transaction: &Transaction<'_, '_>) -> Result<Self, EngineError> {
        let Some(value) = transaction.record(PUBLISHED, &[])? else { return Ok(Self::default()) };
        let read = value.split_first_chunk().and_then(|(count, time)| {
            let time = u64::from_le_bytes(time.try_into().ok()?);
            Some(Self { count: u64::from_le_bytes(*count), time })
        });
        read.ok_or(EngineError::Damaged("published"))
    }

    /// Writes the record: count (8) || time (8).
    pub(super) fn put(self, transaction: &Transaction<'_, '_>) -> Result<(), EngineError> {
        let value = [self.count.to_le_bytes(), self.time.to_le_bytes()].concat();
        transaction.put_record(PUBLISHED, &[], &value)
    }
}
