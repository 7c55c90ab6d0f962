//! Deletion of texts from the history (docs/spec/node.md, "Deleting").
//!
//! Only the row is deleted. Ids of texts that arrived stay known, so that a text that comes again
//! is dropped as before.

use endseal_session::{Engine, EngineError};

use super::conversation::Conversation;
use super::error::ForgetError;
use super::history::{HistoryRow, page_in};
use super::records::{HISTORY, Transaction};
use super::undelivered::{is_unsent, rows_that_wait};
use super::unsend::forget_sent;

/// Rows that are read from the store at once.
const PAGE: usize = 64;

/// Deletes texts of a conversation from the history, also those that wait unencrypted, which are
/// then not sent. Either all of them are deleted, or none. Returns their number.
///
/// # Errors
/// Returns [`ForgetError`] if one of the texts does not exist or waits for the hub in encrypted
/// form, or if the store fails.
pub fn delete_texts(
    engine: &mut Engine,
    with: &Conversation,
    numbers: &[u64],
) -> Result<u64, ForgetError> {
    engine.transaction(|transaction: &mut Transaction<'_, '_>| {
        let in_outbox = rows_that_wait(transaction)?;
        for number in numbers {
            let name = HistoryRow::name(with, *number);
            let Some(value) = transaction.record(HISTORY, &name)? else {
                return Err(ForgetError::Unknown(*number));
            };
            if in_outbox.contains(number) {
                return Err(ForgetError::Encrypted(*number));
            }
            let row = HistoryRow::read(&name, &value).ok_or(EngineError::Damaged("history"))?;
            delete(transaction, with, &row)?;
        }
        Ok(numbers.len() as u64)
    })
}

/// Deletes the texts of a conversation that were written or read on this device before a time, in
/// milliseconds since 1970. Texts that are not sent yet stay. Returns the number of deleted texts.
///
/// # Errors
/// Returns [`EngineError`] if the store fails. Nothing was deleted then.
pub fn delete_texts_before(
    engine: &mut Engine,
    with: &Conversation,
    time: u64,
) -> Result<u64, EngineError> {
    engine.transaction(|transaction: &mut Transaction<'_, '_>| {
        let in_outbox = rows_that_wait(transaction)?;
        let (mut after, mut count) = (0, 0);
        loop {
            let page = page_in(transaction, with, after, PAGE)?;
            let Some(last) = page.last() else { return Ok(count) };
            after = last.number;
            for row in page.iter().filter(|row| row.time < time) {
                let waits = in_outbox.contains(&row.number) || is_unsent(transaction, row.number)?;
                if !waits {
                    delete(transaction, with, row)?;
                    count += 1;
                }
            }
        }
    })
}

fn delete(
    transaction: &Transaction<'_, '_>,
    with: &Conversation,
    row: &HistoryRow,
) -> Result<(), EngineError> {
    match row.is_sent {
        true => forget_sent(transaction, with, row.number),
        false => transaction.remove_record(HISTORY, &HistoryRow::name(with, row.number)).map(drop),
    }
}
