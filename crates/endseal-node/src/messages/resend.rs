//! Texts that are sent again (docs/spec/node.md, "Sending again").
//!
//! A receiver drops a text whose id has arrived, so that sending again is safe. A text that was
//! confirmed by any device is not sent again.

use alloc::collections::VecDeque;
use std::collections::HashSet;

use endseal_crypto::ed25519::PublicKey;
use endseal_session::{ConversationId, Engine, EngineError};

use super::confirmation;
use super::conversation::Conversation;
use super::error::SayError;
use super::history::{HistoryRow, page_in};
use super::membership::membership_in;
use super::records::{self, DROPPED, DUE, PUBLISHED, RECEIPT, Transaction, UNSENT};
use super::shared_engine::SharedEngine;
use super::text;
use super::text_id::{TextId, next_id};
use super::undelivered::{Confirmations, each_series, is_unsent, rows_that_wait};
use crate::frame_target::{FRAME, Target};

/// Rows that are in memory at once.
const PAGE: usize = 64;
/// Texts to a person that are sent again at once, the latest: a person who does not have the writer
/// as a contact confirms nothing.
const MAX_RESENT: usize = 1_000;

/// Marks the texts to a person that no device has confirmed as unsent. Those that wait here anyway
/// stay as they are. Returns their number.
pub(super) fn resend_to(
    transaction: &Transaction<'_, '_>,
    own: &PublicKey,
    person: &PublicKey,
) -> Result<u64, EngineError> {
    let conversation = Conversation::Person(*person);
    let waiting = rows_that_wait(transaction)?;
    let mut confirmations = Confirmations::of(*own, &conversation);
    let (mut after, mut unconfirmed) = (0, VecDeque::new());
    loop {
        let page = page_in(transaction, &conversation, after, PAGE)?;
        let Some(last) = page.last() else { break };
        after = last.number;
        for row in page.iter().filter(|row| row.is_sent && !waiting.contains(&row.number)) {
            if confirmations.has(transaction, row)? == Some(false) {
                if unconfirmed.len() == MAX_RESENT {
                    unconfirmed.pop_front();
                }
                unconfirmed.push_back(row.number);
            }
        }
    }
    let mut count = 0;
    for number in unconfirmed {
        if !is_unsent(transaction, number)? {
            transaction.put_record(UNSENT, &number.to_be_bytes(), person.as_bytes())?;
            count += 1;
        }
    }
    Ok(count)
}

/// [`resend_to`] for every person: the hub forgot or deleted frames of this device.
pub(super) fn resend_all(
    transaction: &Transaction<'_, '_>,
    own: &PublicKey,
) -> Result<u64, EngineError> {
    let mut persons = HashSet::new();
    each_series(transaction, &mut |person, _, _| {
        persons.insert(person);
        Ok(())
    })?;
    persons.iter().try_fold(0, |count, person| Ok(count + resend_to(transaction, own, person)?))
}

/// Prepares the store for new keys of this device: what was encrypted and not confirmed is unsent
/// again, nothing of the hub's memory of this device is kept, and texts that were not sent get new
/// ids. Numbers that another copy of this store gave are not met again.
///
/// May be called again.
pub(crate) fn begin_anew(engine: &SharedEngine<'_>) -> Result<(), SayError> {
    let own = engine.address().identity;
    let waiting = engine.with(texts_in_outbox)?;
    engine.transaction(|transaction: &mut Transaction<'_, '_>| {
        let unsent = all_unsent(transaction)?;
        TextId::end_series(transaction)?;
        for (number, to) in unsent {
            renumber(transaction, &own, &to, number)?;
        }
        for (row, to) in waiting {
            transaction.put_record(UNSENT, &row.to_be_bytes(), to.as_bytes())?;
        }
        let mut frames = Vec::new();
        Target::each(transaction, &mut |sequence, _| frames.push(sequence))?;
        for sequence in frames {
            Target::settle(transaction, sequence)?;
        }
        resend_all(transaction, &own)?;
        for kind in [RECEIPT, DUE, FRAME] {
            remove_all(transaction, kind)?;
        }
        transaction.remove_record(PUBLISHED, &[])?;
        transaction.remove_record(DROPPED, &[])?;
        if let Some(mut membership) = membership_in(transaction)? {
            (membership.sequence, membership.time) = (0, 0);
            membership.put(transaction)?;
        }
        Ok(())
    })
}

/// Texts that are not encrypted yet.
fn all_unsent(transaction: &Transaction<'_, '_>) -> Result<Vec<(u64, Conversation)>, EngineError> {
    let (mut after, mut found) = (Vec::new(), Vec::new());
    loop {
        let page = transaction.records_after(UNSENT, &after, PAGE)?;
        let Some((last, _)) = page.last() else { return Ok(found) };
        after.clone_from(last);
        for (name, to) in &page {
            let number = records::number_in_name(name).ok_or(EngineError::Damaged("unsent"))?;
            let to = Conversation::read(to).ok_or(EngineError::Damaged("unsent"))?;
            found.push((number, to));
        }
    }
}

/// Gives a text that did not leave another id: another copy of this store may have given its id to
/// another text.
fn renumber(
    transaction: &Transaction<'_, '_>,
    own: &PublicKey,
    to: &Conversation,
    number: u64,
) -> Result<(), SayError> {
    let row = HistoryRow::of(transaction, to, number)?;
    let Some(text) = row.text(own, to) else { return Ok(()) };
    if let (Conversation::Person(person), Some(old)) = (to, TextId::read(text.id())) {
        confirmation::forget_id(transaction, person, old)?;
    }
    let id = next_id(transaction, to)?;
    let plaintext = text::plaintext(id, own, to, text.time, text.text);
    let plaintext = plaintext.ok_or(EngineError::Damaged("history"))?;
    Ok(HistoryRow::new(number, true, row.writer, row.time, plaintext).put(transaction, to)?)
}

/// Rows of texts of which a ciphertext waits for the hub, with their conversations.
fn texts_in_outbox(engine: &mut Engine) -> Result<Vec<(u64, Conversation)>, EngineError> {
    let mut frames = Vec::new();
    engine.transaction(|transaction| {
        Target::each(transaction, &mut |sequence, target| frames.push((sequence, target.row)))
    })?;
    let mut texts = Vec::new();
    for (sequence, row) in frames {
        let pending = engine.outbox().pending(sequence.saturating_sub(1), 1)?.pop();
        let to = match pending.filter(|it| it.number == sequence).map(|it| it.conversation) {
            Some(ConversationId::Person(person)) => Some(Conversation::Person(person)),
            Some(ConversationId::Group(id)) => Conversation::read(&id),
            _ => None,
        };
        texts.extend(to.filter(|_| row > 0).map(|to| (row, to)));
    }
    Ok(texts)
}

fn remove_all(transaction: &Transaction<'_, '_>, kind: u16) -> Result<(), EngineError> {
    loop {
        let page = transaction.records_after(kind, &[], PAGE)?;
        if page.is_empty() {
            return Ok(());
        }
        for (name, _) in &page {
            transaction.remove_record(kind, name)?;
        }
    }
}
