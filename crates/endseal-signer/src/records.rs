//! Formats of the signer's records, one file per kind (docs/spec/signer.md, "Records").

pub(crate) mod app;
pub(crate) mod head;
pub(crate) mod line;
pub(crate) mod rule;
pub(crate) mod settings;
pub(crate) mod user;

use crate::error::RecordError;

/// Checks that the name of a record has the length `N`.
fn name<const N: usize>(bytes: &[u8]) -> Result<&[u8; N], RecordError> {
    bytes.try_into().map_err(|_| RecordError::Length)
}
