//! Record of the signer's settings.

use endseal_crypto::secret::Zeroizing;

use super::app::MAX_RELAYS;
use crate::bytes::{Fields, RecordWriter};
use crate::error::RecordError;
use crate::text::{BoundedText, MAX_TEXT};

/// Settings of a signer that are not about a single app or user.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// Greatest `created_at` of the events that were forgotten. Events that are not newer are
    /// stale.
    pub floor: u64,
    /// Number of the first log line that is loaded into memory at the start, from 1.
    pub first_line: u64,
    /// Number of the next app, from 1.
    pub next_app: u32,
    /// Relays of the signer and of new apps, at most 8.
    pub relays: Vec<BoundedText<MAX_TEXT>>,
    /// True if requests that are encrypted with NIP-04 are refused.
    pub refuses_nip04: bool,
}

impl Settings {
    pub(crate) const KIND: u32 = 1;

    /// Settings of a new signer.
    pub(crate) const fn new() -> Self {
        Self { floor: 0, first_line: 1, next_app: 1, relays: Vec::new(), refuses_nip04: false }
    }

    /// Reads the value of the settings record. The record's name is empty.
    ///
    /// # Errors
    /// [`RecordError`] if the record is malformed or one of the numbers is 0.
    pub fn from_bytes(value: &[u8]) -> Result<Self, RecordError> {
        let mut fields = Fields::versioned(value)?;
        let settings = Self {
            floor: fields.u64()?,
            first_line: fields.u64()?,
            next_app: fields.u32()?,
            relays: fields.texts(MAX_RELAYS)?,
            refuses_nip04: fields.code(|flag| [false, true].get(usize::from(flag)).copied())?,
        };
        fields.end()?;
        if settings.first_line == 0 || settings.next_app == 0 {
            return Err(RecordError::Value);
        }
        Ok(settings)
    }

    /// Encodes the value of the record.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let writer = RecordWriter::versioned(0).u64(self.floor).u64(self.first_line);
        writer.u32(self.next_app).texts(&self.relays).bytes(&[self.refuses_nip04.into()]).finish()
    }
}
