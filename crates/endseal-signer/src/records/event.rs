//! Events that were seen.

use super::name;
use crate::bytes::Fields;
use crate::error::RecordError;

/// An event that was seen, by its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventRecord {
    /// Id of the event.
    pub id: [u8; 32],
    /// Its `created_at`.
    pub created_at: u64,
}

impl EventRecord {
    pub(crate) const KIND: u32 = 6;

    /// A record.
    #[must_use]
    pub const fn new(id: [u8; 32], created_at: u64) -> Self {
        Self { id, created_at }
    }

    /// Reads a record.
    ///
    /// # Errors
    /// [`RecordError`].
    pub fn from_bytes(record_name: &[u8], value: &[u8]) -> Result<Self, RecordError> {
        let id = *name(record_name)?;
        let mut fields = Fields::new(value);
        let created_at = fields.u64()?;
        fields.end()?;
        Ok(Self { id, created_at })
    }

    /// The value.
    #[must_use]
    pub const fn to_bytes(&self) -> [u8; 8] {
        self.created_at.to_le_bytes()
    }
}
