//! Texts that were written on this device and are not known to have arrived.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use endseal_crypto::ed25519::PublicKey;
use endseal_session::{Engine, EngineError};

use super::confirmation::confirmed;
use super::conversation::Conversation;
use super::history::{HistoryRow, history_page};
use super::records::{self, SAID, SERIES, Transaction, UNSENT};
use super::runs::Runs;
use super::text_delivery::TextDelivery;
use super::text_id::{SERIES_LEN, TextId};
use super::waiting::Waiting;
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
    // A device confirms no texts of its own person.
    let is_own = *conversation == Conversation::Person(own);
    engine.transaction(|transaction| {
        let mut confirmations = Confirmations::of(own, conversation);
        let mut waiting = None;
        for row in rows.iter_mut().filter(|row| row.is_sent) {
            let is_confirmed = confirmations.has(transaction, row)?;
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
                    Some(_) if !is_own => Some(TextDelivery::Undelivered),
                    Some(_) => None,
                    None => None,
                }
            };
        }
        Ok(())
    })
}

/// Confirmations of the texts of a conversation, each series read once.
pub(super) struct Confirmations<'c> {
    own: PublicKey,
    conversation: &'c Conversation,
    series: HashMap<[u8; SERIES_LEN], Option<Runs>>,
}

impl<'c> Confirmations<'c> {
    /// `own` is this identity.
    pub(super) fn of(own: PublicKey, conversation: &'c Conversation) -> Self {
        Self { own, conversation, series: HashMap::new() }
    }

    /// Returns true if a device has confirmed the text of a row that was written here. `None` for a
    /// text to a team, and for one without a number of this device.
    pub(super) fn has(
        &mut self,
        transaction: &Transaction<'_, '_>,
        row: &HistoryRow,
    ) -> Result<Option<bool>, EngineError> {
        let Conversation::Person(person) = self.conversation else { return Ok(None) };
        let text = row.text(&self.own, self.conversation);
        let Some(TextId { series, number }) = text.and_then(|it| TextId::read(it.id())) else {
            return Ok(None);
        };
        let runs = match self.series.entry(series) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let last = TextId::last_in_series(transaction, self.conversation, &series)?;
                let is_own = last.is_some();
                let runs = is_own.then(|| confirmed(transaction, person, &series)).transpose()?;
                new.insert(runs)
            }
        };
        Ok(runs.as_ref().map(|runs| runs.contains(number)))
    }
}

/// Returns true if a text is not encrypted yet.
pub(super) fn is_unsent(
    transaction: &Transaction<'_, '_>,
    number: u64,
) -> Result<bool, EngineError> {
    Ok(transaction.record(UNSENT, &number.to_be_bytes())?.is_some())
}

/// Numbers of the rows of which a frame waits for the hub.
pub(super) fn rows_that_wait(
    transaction: &Transaction<'_, '_>,
) -> Result<HashSet<u64>, EngineError> {
    let mut rows = HashSet::new();
    Target::each(transaction, &mut |_, target| {
        rows.insert(target.row);
    })?;
    Ok(rows)
}

/// Counts the encrypted texts to persons that no device has confirmed.
pub(super) fn count(
    transaction: &Transaction<'_, '_>,
    own: &PublicKey,
) -> Result<u64, EngineError> {
    let mut count = 0_u64;
    each_series(transaction, own, &mut |person, series, last| {
        let confirmed = confirmed(transaction, &person, &series)?.count();
        count = count.saturating_add(last.saturating_sub(confirmed));
        Ok(())
    })?;
    Ok(count.saturating_sub(unsent_to_others(transaction, own)?))
}

/// Returns persons who have not confirmed all texts to them, at most `limit`. Their devices may
/// have changed without a text that was sent to them since.
pub(super) fn persons(
    transaction: &Transaction<'_, '_>,
    own: &PublicKey,
    limit: usize,
) -> Result<Vec<PublicKey>, EngineError> {
    let mut persons = HashSet::new();
    each_series(transaction, own, &mut |person, series, last| {
        if persons.len() < limit && confirmed(transaction, &person, &series)?.count() < last {
            persons.insert(person);
        }
        Ok(())
    })?;
    Ok(persons.into_iter().collect())
}

/// A series of texts to a person: person, series, and the last number that was given in it.
type OfSeries<'w> = dyn FnMut(PublicKey, [u8; SERIES_LEN], u64) -> Result<(), EngineError> + 'w;

/// Calls `work` with each series to each other person, present and past. `own` is this identity.
pub(super) fn each_series(
    transaction: &Transaction<'_, '_>,
    own: &PublicKey,
    work: &mut OfSeries<'_>,
) -> Result<(), EngineError> {
    let mut after = Vec::new();
    loop {
        let page = transaction.records_after(SAID, &after, PAGE)?;
        let Some((name, _)) = page.last() else { break };
        after.clone_from(name);
        for (name, value) in &page {
            let last = TextId::in_record(value)?;
            if let Conversation::Person(person) = conversation(name)?
                && person != *own
            {
                work(person, last.series, last.number)?;
            }
        }
    }
    after.clear();
    loop {
        let page = transaction.records_after(SERIES, &after, PAGE)?;
        let Some((name, _)) = page.last() else { return Ok(()) };
        after.clone_from(name);
        for (name, value) in &page {
            let (name, series) = name.split_last_chunk().ok_or(EngineError::Damaged("series"))?;
            let last = records::number(value).ok_or(EngineError::Damaged("series"))?;
            if let Conversation::Person(person) = conversation(name)?
                && person != *own
            {
                work(person, *series, last)?;
            }
        }
    }
}

fn conversation(name: &[u8]) -> Result<Conversation, EngineError> {
    Conversation::in_name(name).ok_or(EngineError::Damaged("said"))
}

/// Counts the texts to other persons that are not encrypted yet.
fn unsent_to_others(
    transaction: &Transaction<'_, '_>,
    own: &PublicKey,
) -> Result<u64, EngineError> {
    let (mut after, mut count) = (0, 0);
    loop {
        let page = Waiting::page(transaction, after)?;
        let Some((last, _)) = page.last() else { return Ok(count) };
        after = *last;
        let is_to_other = |to| matches!(to, Conversation::Person(person) if person != *own);
        count += page.iter().filter(|(_, it)| is_to_other(it.to)).count() as u64;
    }
}
