//! Numbers of the texts of others that this person has read, on any device.

use endseal_session::EngineError;

use super::receipt::MAX_RUNS;
use super::records::{READ, Transaction};
use super::runs::Runs;
use super::text_id::{OfSeries, name_of};

/// Limit on the series of a conversation.
const MAX_SERIES: usize = 1_024;

/// Returns the numbers of a series; `None` if none was read.
pub(super) fn of(
    transaction: &Transaction<'_, '_>,
    of: &OfSeries,
) -> Result<Option<Runs>, EngineError> {
    let value = transaction.record(READ, &name_of(of))?;
    value.map(|value| Runs::read(&value).ok_or(EngineError::Damaged("read"))).transpose()
}

/// Adds numbers to those of a series. Returns true if that changes them. Beyond [`MAX_SERIES`] of a
/// conversation nothing is added.
pub(super) fn add(
    transaction: &Transaction<'_, '_>,
    of_series: &OfSeries,
    read: &Runs,
) -> Result<bool, EngineError> {
    let known = of(transaction, of_series)?;
    if known.is_none() {
        let prefix = of_series.0.name();
        let page = transaction.records_after(READ, &prefix, MAX_SERIES)?;
        if page.iter().filter(|(name, _)| name.starts_with(&prefix)).count() == MAX_SERIES {
            return Ok(false);
        }
    }
    let mut runs = known.unwrap_or_default();
    let is_new = runs.add_all(read, MAX_RUNS);
    if is_new {
        transaction.put_record(READ, &name_of(of_series), &runs.to_bytes())?;
    }
    Ok(is_new)
}
