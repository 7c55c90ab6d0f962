//! Mark of a device whose recovery or restoration is not finished, and may be repeated.

use endseal_session::{Engine, EngineError};

use super::records::{Transaction, UNFINISHED};

/// Marks the device, when it is made.
pub(crate) fn mark_unfinished(engine: &mut Engine) -> Result<(), EngineError> {
    engine.transaction(|transaction| transaction.put_record(UNFINISHED, &[], &[]))
}

/// Returns true if the recovery or restoration of this device was interrupted.
///
/// # Errors
/// Returns [`EngineError`] if the store fails.
pub fn is_unfinished(engine: &mut Engine) -> Result<bool, EngineError> {
    engine.transaction(|transaction| Ok(transaction.record(UNFINISHED, &[])?.is_some()))
}

/// Removes the mark. A registration does it as well.
///
/// # Errors
/// Returns [`EngineError`] if the store fails.
pub fn finish(engine: &mut Engine) -> Result<(), EngineError> {
    engine.transaction(|transaction| clear(transaction))
}

/// [`finish`] in a transaction.
pub(super) fn clear(transaction: &Transaction<'_, '_>) -> Result<(), EngineError> {
    transaction.remove_record(UNFINISHED, &[]).map(|_| ())
}
