//! Texts that are sent again (docs/spec/node.md, "Sending again").
//!
//! A receiver drops a text whose id has arrived, so that sending again is safe. A text that was
//! confirmed by any device is not sent again.

use alloc::collections::VecDeque;
use std::collections::HashSet;

use endseal_crypto::ed25519::PublicKey;
use endseal_session::{Engine, EngineError};

use super::conversation::Conversation;
use super::history::page_in;
use super::hub_groups::{HubGroups, conversation_of_group};
use super::payload::HubGroupId;
use super::records::{COMMIT, DUE, FORMER, GROUPS, RECEIPT, Transaction};
use super::shared_engine::SharedEngine;
use super::text_id::TextId;
use super::unconfirmed;
use super::undelivered::{Confirmations, each_series, rows_that_wait};
use super::waiting::Waiting;
use crate::frame_target::{FRAME, Target};

/// Rows that are in memory at once.
const PAGE: usize = 64;
/// Texts to a person that are sent again at once, the latest: a person who does not have the writer
/// as a contact confirms nothing.
const MAX_RESENT: usize = 1_000;

/// Gives up a group of a conversation. Texts that wait in it for the hub, and those that no device
/// of the person has confirmed, are unsent again. Returns false if it was given up before.
pub(super) fn give_up_group(
    transaction: &mut Transaction<'_, '_>,
    own: &PublicKey,
    conversation: &Conversation,
    group: &HubGroupId,
) -> Result<bool, EngineError> {
    if !HubGroups::of(transaction, conversation)?.give_up(transaction, group)? {
        return Ok(false);
    }
    let mut frames = Vec::new();
    Target::each(transaction, &mut |sequence, target| {
        if target.group == Some(*group) {
            frames.push((sequence, target.row));
        }
    })?;
    for (sequence, row) in frames {
        match row {
            0 => unconfirmed::make_due(transaction, sequence)?,
            row => Waiting::put_again(transaction, row, *conversation)?,
        }
        Target::settle(transaction, sequence)?;
    }
    if let Conversation::Person(person) = conversation {
        resend_to(transaction, own, person)?;
    }
    Ok(true)
}

/// Marks the last text to a person that no device has confirmed as unsent. Its receipt confirms all
/// that arrived before.
pub(super) fn resend_last(
    transaction: &Transaction<'_, '_>,
    own: &PublicKey,
    person: &PublicKey,
) -> Result<(), EngineError> {
    let waiting = rows_that_wait(transaction)?;
    resend_some(transaction, own, person, &waiting, 1)
}

/// Marks the texts to a person that no device has confirmed as unsent. Those that wait here anyway
/// stay as they are.
pub(super) fn resend_to(
    transaction: &Transaction<'_, '_>,
    own: &PublicKey,
    person: &PublicKey,
) -> Result<(), EngineError> {
    resend_unless(transaction, own, person, &rows_that_wait(transaction)?)
}

/// `waiting` are the rows of which a frame waits for the hub.
fn resend_unless(
    transaction: &Transaction<'_, '_>,
    own: &PublicKey,
    person: &PublicKey,
    waiting: &HashSet<u64>,
) -> Result<(), EngineError> {
    resend_some(transaction, own, person, waiting, MAX_RESENT)
}

fn resend_some(
    transaction: &Transaction<'_, '_>,
    own: &PublicKey,
    person: &PublicKey,
    waiting: &HashSet<u64>,
    limit: usize,
) -> Result<(), EngineError> {
    let conversation = Conversation::Person(*person);
    let mut confirmations = Confirmations::of(*own, &conversation);
    let (mut after, mut unconfirmed) = (0, VecDeque::new());
    loop {
        let page = page_in(transaction, &conversation, after, PAGE)?;
        let Some(last) = page.last() else { break };
        after = last.number;
        for row in page.iter().filter(|row| row.is_sent && !waiting.contains(&row.number)) {
            if confirmations.has(transaction, row)? == Some(false) {
                if unconfirmed.len() == limit {
                    unconfirmed.pop_front();
                }
                unconfirmed.push_back(row.number);
            }
        }
    }
    for number in unconfirmed {
        Waiting::put_again(transaction, number, conversation)?;
    }
    Ok(())
}

/// [`resend_to`] for every person: the hub forgot or deleted frames of this device.
pub(super) fn resend_all(
    transaction: &Transaction<'_, '_>,
    own: &PublicKey,
) -> Result<(), EngineError> {
    let mut persons = HashSet::new();
    each_series(transaction, own, &mut |person, _, _| {
        persons.insert(person);
        Ok(())
    })?;
    let waiting = rows_that_wait(transaction)?;
    persons.iter().try_for_each(|person| resend_unless(transaction, own, person, &waiting))
}

/// Prepares the store for new keys of this device: what was encrypted and not confirmed is unsent
/// again under its id, and later texts get ids of a new series. Notes `key`, that of the device
/// until now, and returns all such keys.
///
/// May be called again.
pub(crate) fn begin_anew(
    engine: &SharedEngine<'_>,
    key: &PublicKey,
) -> Result<HashSet<PublicKey>, EngineError> {
    let own = engine.address().identity;
    let waiting = engine.with(texts_in_outbox)?;
    engine.transaction(|transaction: &mut Transaction<'_, '_>| {
        TextId::end_series(transaction)?;
        for (row, to) in waiting {
            Waiting::put_again(transaction, row, to)?;
        }
        let mut frames = Vec::new();
        Target::each(transaction, &mut |sequence, _| frames.push(sequence))?;
        for sequence in frames {
            Target::settle(transaction, sequence)?;
        }
        resend_all(transaction, &own)?;
        // Conversations of groups stay: unread texts are of such groups.
        for kind in [RECEIPT, DUE, FRAME, COMMIT, GROUPS] {
            remove_all(transaction, kind)?;
        }
        transaction.put_record(FORMER, key.as_bytes(), &[])?;
        former_keys(transaction)
    })
}

/// Keys of this device before it was renewed. No person record lists them any more.
pub(crate) fn former_keys(
    transaction: &Transaction<'_, '_>,
) -> Result<HashSet<PublicKey>, EngineError> {
    let (mut after, mut keys) = (Vec::new(), HashSet::new());
    loop {
        let page = transaction.records_after(FORMER, &after, PAGE)?;
        let Some((last, _)) = page.last() else { return Ok(keys) };
        after.clone_from(last);
        for (name, _) in &page {
            let key = name.as_slice().try_into().ok();
            let key = key.and_then(|key| PublicKey::from_bytes(key).ok());
            keys.insert(key.ok_or(EngineError::Damaged("former key"))?);
        }
    }
}

/// Returns the rows of texts of which a ciphertext waits for the hub, with their conversations.
pub(crate) fn texts_in_outbox(
    engine: &mut Engine,
) -> Result<Vec<(u64, Conversation)>, EngineError> {
    engine.transaction(|transaction| {
        let mut frames = Vec::new();
        Target::each(transaction, &mut |_, target| frames.push(target))?;
        let mut texts = Vec::new();
        for target in frames.iter().filter(|target| target.is_text()) {
            let Some(group) = &target.group else { continue };
            let to = conversation_of_group(transaction, group)?;
            texts.extend(to.map(|to| (target.row, to)));
        }
        Ok(texts)
    })
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
