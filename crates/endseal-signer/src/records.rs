//! Records, one kind a file (docs/spec/signer.md, "Records").

pub(crate) mod app;
pub(crate) mod head;
pub(crate) mod line;
pub(crate) mod rule;
pub(crate) mod settings;
pub(crate) mod user;

use crate::error::RecordError;

/// Name of a record, of a fixed length.
fn name<const N: usize>(bytes: &[u8]) -> Result<&[u8; N], RecordError> {
    bytes.try_into().map_err(|_| RecordError::Length)
}
