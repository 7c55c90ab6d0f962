//! Difference between the clocks of the hub and of this device (docs/spec/node.md, "Clocks").

use core::time::Duration;

use endseal_session::EngineError;

use super::records::{self, CLOCK, Transaction};

/// Difference in milliseconds from which on lifetimes are counted by the clock of the hub: a key
/// package is valid from an hour before it was made.
const TOLERATED: u64 = 30 * 60 * 1_000;

/// Notes the time at the hub, in milliseconds since 1970; 0 if it is not known. Returns true if
/// lifetimes are counted by another clock than before.
pub(super) fn note(transaction: &Transaction<'_, '_>, hub_time: u64) -> Result<bool, EngineError> {
    if hub_time == 0 {
        return Ok(false);
    }
    let now = records::now();
    let behind = match hub_time.abs_diff(now) > TOLERATED {
        true => hub_time.wrapping_sub(now),
        false => 0,
    };
    let known = records::counter(transaction, CLOCK)?;
    // It is an offset in both directions.
    let moved = behind.wrapping_sub(known);
    let has_changed = moved.min(moved.wrapping_neg()) > TOLERATED;
    if has_changed {
        transaction.put_record(CLOCK, &[], &behind.to_le_bytes())?;
    }
    Ok(has_changed)
}

/// Returns the time since 1970 by which lifetimes of keys are counted.
pub(super) fn time(transaction: &Transaction<'_, '_>) -> Result<Duration, EngineError> {
    let behind = records::counter(transaction, CLOCK)?;
    Ok(Duration::from_millis(records::now().wrapping_add(behind)))
}

/// Returns by how many milliseconds the clock of this device is behind that of the hub; a negative
/// number if it is ahead, 0 if they agree.
pub(super) fn behind(transaction: &Transaction<'_, '_>) -> Result<i64, EngineError> {
    Ok(records::counter(transaction, CLOCK)?.cast_signed())
}
