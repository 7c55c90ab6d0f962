//! Cancellation of texts that have not left this device (docs/spec/node.md, "Taking back").

use endseal_session::{Engine, EngineError};

use super::confirmation;
use super::conversation::Conversation;
use super::error::ForgetError;
use super::history::HistoryRow;
use super::records::{HISTORY, Transaction, UNSENT};
use super::undelivered::rows_that_wait;
use super::waiting::Waiting;

/// Cancels texts to a person or group that have not left this device: they are deleted. Either all
/// of them are cancelled, or none.
///
/// # Errors
/// Returns [`ForgetError`] if one of the texts does not exist, has left this device or may have
/// left it, or if the store fails.
pub fn unsend(engine: &mut Engine, to: &Conversation, numbers: &[u64]) -> Result<u64, ForgetError> {
    engine.transaction(|transaction: &mut Transaction<'_, '_>| {
        let mut in_outbox = None;
        let mut count = 0;
        for number in numbers {
            let row = transaction.record(HISTORY, &HistoryRow::name(to, *number))?;
            let row = row.map(|it| HistoryRow::read(&HistoryRow::name(to, *number), &it));
            let Some(row) = row else { return Err(ForgetError::Unknown(*number)) };
            if !row.ok_or(EngineError::Damaged("history"))?.is_sent {
                return Err(ForgetError::Unknown(*number));
            }
            match Waiting::of(transaction, *number)? {
                Some(Waiting { has_left: false, .. }) => {}
                Some(_) => return Err(ForgetError::Left(*number)),
                None => {
                    let rows = match &mut in_outbox {
                        Some(rows) => rows,
                        None => in_outbox.insert(rows_that_wait(transaction)?),
                    };
                    return Err(match rows.contains(number) {
                        true => ForgetError::Encrypted(*number),
                        false => ForgetError::Left(*number),
                    });
                }
            }
            forget_sent(transaction, to, *number)?;
            count += 1;
        }
        Ok(count)
    })
}

/// Cancels all texts to a person or group that have not left this device. Returns their number.
///
/// # Errors
/// Returns [`EngineError`] if the store fails. Nothing was cancelled then.
pub fn unsend_all(engine: &mut Engine, to: &Conversation) -> Result<u64, EngineError> {
    engine.transaction(|transaction| forget_unsent(transaction, to))
}

/// Deletes the texts to a person or group that have not left this device. Returns their number.
pub(super) fn forget_unsent(
    transaction: &Transaction<'_, '_>,
    to: &Conversation,
) -> Result<u64, EngineError> {
    let (mut after, mut count) = (0, 0);
    loop {
        let page = Waiting::page(transaction, after)?;
        let Some((last, _)) = page.last() else { return Ok(count) };
        after = *last;
        for (number, _) in page.iter().filter(|(_, it)| it.to == *to && !it.has_left) {
            forget_sent(transaction, to, *number)?;
            count += 1;
        }
    }
}

/// Sends none of the texts to a team any more that wait to be encrypted: this person has left it.
/// Those that have left this device stay in the history.
pub(super) fn forget_waiting(
    transaction: &Transaction<'_, '_>,
    to: &Conversation,
) -> Result<(), EngineError> {
    forget_unsent(transaction, to)?;
    let mut after = 0;
    loop {
        let page = Waiting::page(transaction, after)?;
        let Some((last, _)) = page.last() else { return Ok(()) };
        after = *last;
        for (number, _) in page.iter().filter(|(_, it)| it.to == *to) {
            transaction.remove_record(UNSENT, &number.to_be_bytes())?;
        }
    }
}

/// Deletes a text that was written here, and its mark if it waits unencrypted. Its id is never
/// given again, and counts as confirmed, so that nothing counts or sends the text any more.
pub(super) fn forget_sent(
    transaction: &Transaction<'_, '_>,
    to: &Conversation,
    number: u64,
) -> Result<(), EngineError> {
    let row = HistoryRow::of(transaction, to, number)?;
    settle_id(transaction, to, &row)?;
    transaction.remove_record(UNSENT, &number.to_be_bytes())?;
    transaction.remove_record(HISTORY, &HistoryRow::name(to, number))?;
    Ok(())
}

fn settle_id(
    transaction: &Transaction<'_, '_>,
    to: &Conversation,
    row: &HistoryRow,
) -> Result<(), EngineError> {
    let Conversation::Person(by) = to else { return Ok(()) };
    match row.text(&row.writer.identity, to).map(|text| *text.id()) {
        Some(id) => confirmation::settle(transaction, to, by, &id),
        None => Ok(()),
    }
}
