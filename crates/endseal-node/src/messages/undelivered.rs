//! Texts that were written on this device and are not known to have arrived.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use endseal_crypto::ed25519::PublicKey;
use endseal_session::group::Members;
use endseal_session::{Engine, EngineError};

use super::confirmation::{self, confirmed};
use super::conversation::Conversation;
use super::frame_target::Target;
use super::history::{Confirmed, HistoryRow, history_page, page_in};
use super::hub_groups::HubGroups;
use super::records::{self, COUNTER, MEMBERS, NEW_MEMBER, SAID, SERIES, Transaction, UNSENT};
use super::runs::Runs;
use super::text_delivery::TextDelivery;
use super::text_id::{SERIES_LEN, TextId};
use super::waiting::Waiting;

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
    engine.transaction(|transaction: &mut Transaction<'_, '_>| {
        let receivers = receivers(transaction, conversation, &own)?;
        let mut confirmations = Confirmations::of(own, conversation, &receivers);
        let mut waiting = None;
        for row in rows.iter_mut().filter(|row| row.is_sent) {
            let confirmed = confirmations.count(transaction, row)?;
            let of = receivers.len() as u64;
            row.confirmed = confirmed.filter(|_| of > 0).map(|by| Confirmed { by, of });
            row.delivery = if is_unsent(transaction, row.number)? {
                Some(TextDelivery::Unsent)
            } else if row.confirmed.is_some_and(|it| it.by == it.of) {
                Some(TextDelivery::Delivered)
            } else {
                // Read at most once, and only if a row needs it.
                let waiting = match &mut waiting {
                    Some(waiting) => waiting,
                    None => waiting.insert(rows_that_wait(transaction)?),
                };
                match row.confirmed {
                    _ if waiting.contains(&row.number) => Some(TextDelivery::Unsent),
                    Some(_) => Some(TextDelivery::Undelivered),
                    None => None,
                }
            };
        }
        Ok(())
    })
}

/// Returns the other persons who confirm texts of a conversation: of a team those who have devices.
/// None of the conversation with oneself, and of a team that has no group yet.
pub(super) fn receivers(
    transaction: &mut Transaction<'_, '_>,
    conversation: &Conversation,
    own: &PublicKey,
) -> Result<Vec<PublicKey>, EngineError> {
    match conversation {
        Conversation::Person(person) if person == own => Ok(Vec::new()),
        Conversation::Person(person) => Ok(vec![*person]),
        Conversation::Group(_) => {
            for group in HubGroups::of(transaction, conversation)?.groups {
                let state = transaction.group(&group.id)?.and_then(|it| it.conversation);
                if let Some(state) = state.filter(|_| group.given_up == 0)
                    && let Members::Team(roster) = state.members()
                {
                    let members = roster.members().iter().map(|it| *it.identity().ed25519());
                    let others = members.filter(|it| it != own && state.record_of(it).is_some());
                    let others: Vec<_> = others.collect();
                    settle_for_new(transaction, conversation, own, &others)?;
                    return Ok(others);
                }
            }
            Ok(Vec::new())
        }
    }
}

/// Counts the texts that were sent to a team as confirmed by those who have become members since:
/// they do not get them. `members` are those who confirm texts now.
fn settle_for_new(
    transaction: &Transaction<'_, '_>,
    conversation: &Conversation,
    own: &PublicKey,
    members: &[PublicKey],
) -> Result<(), EngineError> {
    let name = conversation.name();
    let mut value: Vec<_> = members.iter().map(|it| *it.as_bytes()).collect();
    value.sort_unstable();
    let known = transaction.record(MEMBERS, &name)?;
    if known.as_deref().map(Vec::as_slice) == Some(value.as_flattened()) {
        return Ok(());
    }
    if let Some(known) = known {
        let (known, _) = known.as_chunks::<{ PublicKey::LEN }>();
        let is_new = |it: &&PublicKey| known.binary_search(it.as_bytes()).is_err();
        let new: Vec<_> = members.iter().filter(is_new).collect();
        // Those that went to no one yet are for all.
        let (mut waiting, mut after) = (HashSet::new(), 0);
        Target::each(transaction, &mut |_, target| {
            waiting.extend(target.mailboxes.is_empty().then_some(target.row));
        })?;
        while !new.is_empty() {
            let page = page_in(transaction, conversation, after, PAGE)?;
            let Some(last) = page.last() else { break };
            after = last.number;
            for row in page.iter().filter(|row| row.is_sent && !waiting.contains(&row.number)) {
                let text = row.text(own, conversation).map(|text| *text.id());
                if let (Some(id), false) = (text, is_unsent(transaction, row.number)?) {
                    for person in &new {
                        confirmation::settle(transaction, conversation, person, &id)?;
                    }
                }
            }
        }
        let last = records::counter(transaction, COUNTER)?.to_le_bytes();
        for person in &new {
            let name = [&name[..], person.as_bytes()].concat();
            transaction.put_record(NEW_MEMBER, &name, &last)?;
        }
    }
    transaction.put_record(MEMBERS, &name, value.as_flattened())
}

/// Returns those of the members of a team who must not get a text that is sent again: they became
/// members after it was sent.
pub(super) fn new_since(
    transaction: &Transaction<'_, '_>,
    own: &PublicKey,
    conversation: &Conversation,
    row: &HistoryRow,
    members: &HashSet<PublicKey>,
) -> Result<HashSet<PublicKey>, EngineError> {
    let mut new = HashSet::new();
    let text = row.text(own, conversation);
    let Some(TextId { series, number }) = text.and_then(|it| TextId::read(it.id())) else {
        return Ok(new);
    };
    for member in members {
        let name = [&conversation.name()[..], member.as_bytes()].concat();
        let Some(last) = transaction.record(NEW_MEMBER, &name)? else { continue };
        let last = records::number(&last).ok_or(EngineError::Damaged("new member"))?;
        // What was not sent yet when they came is for them, too.
        if row.number <= last
            && confirmed(transaction, conversation, &series, member)?.contains(number)
        {
            new.insert(*member);
        }
    }
    Ok(new)
}

/// Confirmations of the texts of a conversation, each series read once.
pub(super) struct Confirmations<'c> {
    own: PublicKey,
    conversation: &'c Conversation,
    receivers: &'c [PublicKey],
    series: HashMap<[u8; SERIES_LEN], Option<Vec<Runs>>>,
}

impl<'c> Confirmations<'c> {
    /// `own` is this identity; `receivers` are those of [`receivers`].
    pub(super) fn of(
        own: PublicKey,
        conversation: &'c Conversation,
        receivers: &'c [PublicKey],
    ) -> Self {
        Self { own, conversation, receivers, series: HashMap::new() }
    }

    /// Counts the persons who have confirmed the text of a row that was written here. `None` for a
    /// text without a number of this device.
    pub(super) fn count(
        &mut self,
        transaction: &Transaction<'_, '_>,
        row: &HistoryRow,
    ) -> Result<Option<u64>, EngineError> {
        let text = row.text(&self.own, self.conversation);
        let Some(TextId { series, number }) = text.and_then(|it| TextId::read(it.id())) else {
            return Ok(None);
        };
        let runs = match self.series.entry(series) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let last = TextId::last_in_series(transaction, self.conversation, &series)?;
                let of = |by| confirmed(transaction, self.conversation, &series, by);
                let runs = last.map(|_| self.receivers.iter().map(of).collect());
                new.insert(runs.transpose()?)
            }
        };
        let count = |runs: &Vec<Runs>| runs.iter().filter(|it| it.contains(number)).count() as u64;
        Ok(runs.as_ref().map(count))
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
    each_series(transaction, &mut |of, series, last| {
        let Conversation::Person(person) = of else { return Ok(()) };
        if person == *own {
            return Ok(());
        }
        let confirmed = confirmed(transaction, &of, &series, &person)?.count();
        count = count.saturating_add(last.saturating_sub(confirmed));
        Ok(())
    })?;
    Ok(count.saturating_sub(unsent_to_others(transaction, own)?))
}

/// Returns persons who have not confirmed all texts to them and to their teams, at most `limit`.
/// Their devices may have changed without a text that was sent to them since.
pub(super) fn persons(
    transaction: &mut Transaction<'_, '_>,
    own: &PublicKey,
    limit: usize,
) -> Result<Vec<PublicKey>, EngineError> {
    let mut all = HashMap::<_, Vec<_>>::new();
    each_series(transaction, &mut |of, series, last| {
        all.entry(of).or_default().push((series, last));
        Ok(())
    })?;
    let mut persons = HashSet::new();
    for (conversation, every) in all {
        for receiver in receivers(transaction, &conversation, own)? {
            for (series, last) in &every {
                if persons.len() == limit {
                    return Ok(persons.into_iter().collect());
                }
                if confirmed(transaction, &conversation, series, &receiver)?.count() < *last {
                    persons.insert(receiver);
                }
            }
        }
    }
    Ok(persons.into_iter().collect())
}

/// A series of texts: conversation, series, and the last number that was given in it.
type OfSeries<'w> = dyn FnMut(Conversation, [u8; SERIES_LEN], u64) -> Result<(), EngineError> + 'w;

/// Calls `work` with each series of each conversation, present and past.
pub(super) fn each_series(
    transaction: &Transaction<'_, '_>,
    work: &mut OfSeries<'_>,
) -> Result<(), EngineError> {
    let mut after = Vec::new();
    loop {
        let page = transaction.records_after(SAID, &after, PAGE)?;
        let Some((name, _)) = page.last() else { break };
        after.clone_from(name);
        for (name, value) in &page {
            let last = TextId::in_record(value)?;
            work(conversation(name)?, last.series, last.number)?;
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
            work(conversation(name)?, *series, last)?;
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
