//! Requests that were decided.

use endseal_crypto::secret::Zeroizing;
use endseal_crypto::sha256;

use super::line::LogVerdict;
use super::name;
use crate::bytes::{Fields, RecordWriter};
use crate::error::RecordError;

/// A request: the transport key of its app, and SHA-256 of its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestKey([u8; Self::LEN]);

impl RequestKey {
    /// Length in bytes.
    pub const LEN: usize = 64;

    /// The key of a request of an app.
    #[must_use]
    pub fn new(transport: &[u8; 32], request_id: &str) -> Self {
        let mut key = [0; Self::LEN];
        key[..32].copy_from_slice(transport);
        key[32..].copy_from_slice(&sha256::digest(request_id.as_bytes()));
        Self(key)
    }

    /// Name of the record.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }
}

/// Decision about a request, which stands if the request is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestRecord {
    /// Digest of the request (docs/spec/nostr-connect.md, "Repetitions").
    pub digest: [u8; 32],
    /// Decision.
    pub verdict: LogVerdict,
    /// Number of the rule that decided, 0 for none.
    pub rule: u32,
    /// Time of the decision in seconds since 1970.
    pub time: u64,
}

impl RequestRecord {
    pub(crate) const KIND: u32 = 7;

    /// A record.
    #[must_use]
    pub const fn new(digest: [u8; 32], verdict: LogVerdict, rule: u32, time: u64) -> Self {
        Self { digest, verdict, rule, time }
    }

    /// Reads a record.
    ///
    /// # Errors
    /// [`RecordError`].
    pub fn from_bytes(record_name: &[u8], value: &[u8]) -> Result<(RequestKey, Self), RecordError> {
        let key = RequestKey(*name(record_name)?);
        let mut fields = Fields::new(value);
        let record = Self {
            digest: *fields.array()?,
            verdict: fields.code(LogVerdict::from_code)?,
            rule: fields.u32()?,
            time: fields.u64()?,
        };
        fields.end()?;
        Ok((key, record))
    }

    /// The value.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let writer = RecordWriter::new(45).bytes(&self.digest).bytes(&[self.verdict.code()]);
        writer.u32(self.rule).u64(self.time).finish()
    }
}
