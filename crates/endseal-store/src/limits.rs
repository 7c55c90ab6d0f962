//! Bounds, checked before anything is written.

use crate::error::{Limit, StoreError};

/// Longest message id, name of a conversation, a group or a queue, or record name in bytes.
pub const MAX_NAME_LEN: usize = 64;
/// Longest ciphertext, plaintext or queue position in bytes: 1 MiB.
pub const MAX_BODY_LEN: usize = 1 << 20;
/// Longest state, record or certificate in bytes: 32 MiB.
pub const MAX_STATE_LEN: usize = 1 << 25;

/// Checks that a name has 1 to [`MAX_NAME_LEN`] bytes.
pub(crate) fn name(bytes: &[u8]) -> Result<(), StoreError> {
    if bytes.is_empty() || bytes.len() > MAX_NAME_LEN {
        return Err(StoreError::Limit(Limit::Name));
    }
    Ok(())
}

pub(crate) fn body(bytes: &[u8]) -> Result<(), StoreError> {
    if bytes.len() > MAX_BODY_LEN { Err(StoreError::Limit(Limit::Body)) } else { Ok(()) }
}

pub(crate) fn state(bytes: &[u8]) -> Result<(), StoreError> {
    if bytes.len() > MAX_STATE_LEN { Err(StoreError::Limit(Limit::State)) } else { Ok(()) }
}

/// SQLite's integers have a sign.
pub(crate) fn number(number: u64) -> Result<i64, StoreError> {
    i64::try_from(number).map_err(|_| StoreError::Limit(Limit::Number))
}

/// At most [`MAX_NAME_LEN`] bytes: a kind of record with one row alone needs no name.
pub(crate) fn record_name(bytes: &[u8]) -> Result<(), StoreError> {
    if bytes.len() > MAX_NAME_LEN { Err(StoreError::Limit(Limit::Name)) } else { Ok(()) }
}
