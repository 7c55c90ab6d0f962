//! Decoding of fields in stored states.

use super::error::StateError;

/// Removes `N` bytes from the start of `rest` and returns them.
pub(super) fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], StateError> {
    let (taken, after) = rest.split_first_chunk().ok_or(StateError)?;
    *rest = after;
    Ok(*taken)
}

/// Removes a byte from the start of `rest`, which must be 0 or 1.
pub(super) fn flag(rest: &mut &[u8]) -> Result<bool, StateError> {
    match take(rest)? {
        [0] => Ok(false),
        [1] => Ok(true),
        _ => Err(StateError),
    }
}
