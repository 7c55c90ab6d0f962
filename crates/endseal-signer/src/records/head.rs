//! Record of the end of the audit log.

use endseal_crypto::secret::Zeroizing;
use endseal_crypto::sha256;

use crate::bytes::{Fields, RecordWriter};
use crate::error::RecordError;

/// Number and hash of a line of the log: the last one, or the last one that was archived. If it is
/// kept elsewhere, it proves later that no line up to it was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogHead {
    /// Number of the line; 0 for a log without lines.
    pub number: u64,
    /// Hash of the line; 32 zero bytes for a log without lines.
    pub hash: [u8; sha256::LEN],
}

impl LogHead {
    pub(crate) const KIND: u32 = 6;
    /// Kind of the record of the last line that was archived.
    pub(crate) const START_KIND: u32 = 7;

    /// Head of a log without lines.
    pub const START: Self = Self { number: 0, hash: [0; sha256::LEN] };

    /// Creates a head from a number and hash that were kept elsewhere.
    #[must_use]
    pub const fn new(number: u64, hash: [u8; sha256::LEN]) -> Self {
        Self { number, hash }
    }

    /// Computes the head after one more line with this body.
    #[must_use]
    pub(crate) fn after(&self, body: &[u8]) -> Self {
        let mut digest = sha256::Digest::new();
        digest.update(LABEL);
        digest.update(&self.hash);
        digest.update(body);
        Self { number: self.number.saturating_add(1), hash: digest.finish() }
    }

    /// Reads the value of the head record. The record's name is empty.
    ///
    /// # Errors
    /// [`RecordError`] if the length is wrong or the number is 0.
    pub fn from_bytes(value: &[u8]) -> Result<Self, RecordError> {
        let mut fields = Fields::new(value);
        let head = Self { number: fields.u64()?, hash: *fields.array()? };
        fields.end()?;
        if head.number == 0 { Err(RecordError::Value) } else { Ok(head) }
    }

    /// Encodes the value of the record.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        RecordWriter::new(40).u64(self.number).bytes(&self.hash).finish()
    }
}

const LABEL: &[u8] = b"endseal signer log 1";
