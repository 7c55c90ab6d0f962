//! Texts that were written on this device and are not known to have arrived.

use std::collections::HashSet;

use endseal_crypto::ed25519::PublicKey;
use endseal_session::{Engine, EngineError};

use super::confirmation::confirmed;
use super::conversation::Conversation;
use super::history::{HistoryRow, history_page};
use super::records::{SAID, Transaction, UNSENT};
use super::text_delivery::TextDelivery;
use super::text_id::TextId;
use crate::frame_target::Target;

/// Persons whose texts are counted at once.
const PAGE: usize = 64;

/// Returns up to `limit` rows of a conversation with numbers above `after`, in ascending order and
/// with their delivery.
///
/// # Errors
/// Returns [`EngineError`] if the store fails.
pub fn history(
    engine: &mut Engine,
    conversation: &Conversation,
    after: u64,
    limit: usize,
) -> Result<Vec<HistoryRow>, EngineError> {
    let mut rows = history_page(engine, conversation, after, limit)?;
    note_delivery(engine, conversation, &mut rows)?;
    Ok(rows)
}

/// Sets the delivery of rows of a conversation.
pub(crate) fn note_delivery(
    engine: &mut Engine,
    conversation: &Conversation,
    rows: &mut [HistoryRow],
) -> Result<(), EngineError> {
    if !rows.iter().any(|row| row.is_sent) {
        return Ok(());
    }
    let own = engine.address().identity;
    engine.transaction(|transaction| {
        let person = match conversation {
            Conversation::Person(person) => Some(person),
            Conversation::Group(_) => None,
        };
        let last = person.map(|person| TextId::last(transaction, person)).transpose()?.flatten();
        let confirmed = person.map(|person| confirmed(transaction, person)).transpose()?;
        // `None` for a letter, and for a text without a number.
        let is_confirmed = |row: &HistoryRow| {
            let id = TextId::read(row.text(&own, conversation)?.id())?;
            let is_counted = last.is_some_and(|last| last.series == id.series);
            Some(confirmed.as_ref()?.contains(id.number)).filter(|_| is_counted)
        };
        let mut waiting = None;
        for row in rows.iter_mut().filter(|row| row.is_sent) {
            let is_confirmed = is_confirmed(row);
            row.delivery = if is_unsent(transaction, row.number)? {
                Some(TextDelivery::Unsent)
            } else if is_confirmed == Some(true) {
                Some(TextDelivery::Delivered)
            } else {
                // Read at most once, and only if a row needs it.
                let waiting = match &mut waiting {
                    Some(waiting) => waiting,
                    None => waiting.insert(rows_that_wait(transaction)?),
                };
                match is_confirmed {
                    _ if waiting.contains(&row.number) => Some(TextDelivery::Unsent),
                    Some(_) => Some(TextDelivery::Undelivered),
                    None => None,
                }
            };
        }
        Ok(())
    })
}

/// Returns true if a text is not encrypted yet.
fn is_unsent(transaction: &Transaction<'_, '_>, number: u64) -> Result<bool, EngineError> {
    Ok(transaction.record(UNSENT, &number.to_be_bytes())?.is_some())
}

/// Returns the numbers of the rows that have a frame waiting for the hub.
fn rows_that_wait(transaction: &Transaction<'_, '_>) -> Result<HashSet<u64>, EngineError> {
    let mut rows = HashSet::new();
    Target::each(transaction, &mut |_, target| {
        rows.insert(target.row);
    })?;
    Ok(rows)
}

/// Counts the encrypted texts to persons that no device has confirmed.
pub(super) fn count(transaction: &Transaction<'_, '_>) -> Result<u64, EngineError> {
    let (mut after, mut count) = (Vec::new(), 0_u64);
    loop {
        let page = transaction.records_after(SAID, &after, PAGE)?;
        let Some((name, _)) = page.last() else { break };
        after.clone_from(name);
        for (name, value) in &page {
            let person = name.as_slice().try_into().ok();
            let person = person.and_then(|name| PublicKey::from_bytes(name).ok());
            let person = person.ok_or(EngineError::Damaged("said"))?;
            let last = TextId::in_record(value)?.number;
            let confirmed = confirmed(transaction, &person)?.count();
            count = count.saturating_add(last.saturating_sub(confirmed));
        }
    }
    Ok(count.saturating_sub(unsent_to_persons(transaction)?))
}

/// Counts the texts to persons that are not encrypted yet.
fn unsent_to_persons(transaction: &Transaction<'_, '_>) -> Result<u64, EngineError> {
    let (mut after, mut count) = (Vec::new(), 0);
    loop {
        let page = transaction.records_after(UNSENT, &after, PAGE)?;
        let Some((name, _)) = page.last() else { return Ok(count) };
        after.clone_from(name);
        count += page.iter().filter(|(_, to)| to.len() == PublicKey::LEN).count() as u64;
    }
}
