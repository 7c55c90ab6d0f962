//! Texts that are sent again (docs/spec/node.md, "Sending again").
//!
//! A receiver drops a text whose id has arrived, so that sending again is safe. A text that was
//! confirmed by any device is not sent again.

use alloc::collections::VecDeque;
use std::collections::{HashMap, HashSet};

use endseal_crypto::ed25519::PublicKey;
use endseal_session::{Engine, EngineError};

use super::confirmation::confirmed;
use super::conversation::Conversation;
use super::frame_target::{FRAME, Target};
use super::history::page_in;
use super::hub_groups::{HubGroups, conversation_of_group};
use super::payload::HubGroupId;
use super::records::{COMMIT, DUE, FORMER, GROUPS, RECEIPT, REPLACED, RULES_SENT, Transaction};
use super::replaced;
use super::shared_engine::SharedEngine;
use super::text_id::TextId;
use super::unconfirmed;
use super::undelivered::{Confirmations, each_series, receivers, rows_that_wait};
use super::waiting::Waiting;

/// Rows that are in memory at once.
const PAGE: usize = 64;
/// Texts to a person that are sent again at once, the latest: a person who does not have the writer
/// as a contact confirms nothing.
const MAX_RESENT: usize = 1_000;
/// Texts to a team that are sent again at once, the latest: a member who is away confirms nothing.
const MAX_RESENT_TO_TEAM: usize = 100;

/// Gives up a group of a conversation. Texts that wait in it for the hub, and those that not all
/// its persons have confirmed, are unsent again. Returns false if it was given up before.
pub(super) fn give_up_group(
    transaction: &mut Transaction<'_, '_>,
    own: &PublicKey,
    conversation: &Conversation,
    group: &HubGroupId,
) -> Result<bool, EngineError> {
    let receivers = receivers(transaction, conversation, own)?;
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
            0 => {
                unconfirmed::make_due(transaction, sequence)?;
                replaced::make_due(transaction, conversation, sequence)?;
            }
            row => Waiting::put_again(transaction, row, *conversation)?,
        }
        Target::settle(transaction, sequence)?;
    }
    let waiting = rows_that_wait(transaction)?;
    let (of, all) = (Of { own, conversation, receivers: &receivers }, receivers.len() as u64);
    of.resend(transaction, &waiting, most(conversation), |by| by < all)?;
    Ok(true)
}

/// Marks the last text to a person that no device has confirmed as unsent. Its receipt confirms all
/// that arrived before.
pub(super) fn resend_last(
    transaction: &Transaction<'_, '_>,
    own: &PublicKey,
    person: &PublicKey,
) -> Result<(), EngineError> {
    let of = Of { own, conversation: &Conversation::Person(*person), receivers: &[*person] };
    of.resend(transaction, &rows_that_wait(transaction)?, 1, |by| by == 0)
}

/// Marks the texts that a person has not confirmed as unsent, also those to teams. Those that wait
/// for the hub are among them: they are encrypted for the devices that the person had.
pub(super) fn resend_to(
    transaction: &mut Transaction<'_, '_>,
    own: &PublicKey,
    person: &PublicKey,
) -> Result<(), EngineError> {
    let mut frames = Vec::new();
    Target::each(transaction, &mut |sequence, target| {
        if let (true, Some(group)) = (target.is_text(), target.group) {
            frames.push((sequence, target.row, group));
        }
    })?;
    let mut concerned = HashSet::new();
    for conversation in written(transaction)? {
        if receivers(transaction, &conversation, own)?.contains(person) {
            concerned.insert(conversation);
        }
    }
    for (sequence, row, group) in frames {
        if let Some(of) = conversation_of_group(transaction, &group)?
            && concerned.contains(&of)
        {
            Waiting::put_again(transaction, row, of)?;
            Target::settle(transaction, sequence)?;
        }
    }
    for conversation in concerned {
        resend_in(transaction, own, &conversation, person)?;
    }
    Ok(())
}

/// Marks the texts of a conversation that a person has not confirmed as unsent.
pub(super) fn resend_in(
    transaction: &Transaction<'_, '_>,
    own: &PublicKey,
    conversation: &Conversation,
    person: &PublicKey,
) -> Result<(), EngineError> {
    let of = Of { own, conversation, receivers: &[*person] };
    of.resend(transaction, &HashSet::new(), most(conversation), |by| by == 0)
}

/// Marks the texts that no one has confirmed as unsent: the hub deleted frames of this device. A
/// text to a team that some members have is not sent again because of others who are away.
pub(super) fn resend_all(
    transaction: &mut Transaction<'_, '_>,
    own: &PublicKey,
) -> Result<(), EngineError> {
    resend_if(transaction, own, |by, _| by == 0)
}

/// Marks the texts that not all receivers have confirmed as unsent: the hub has lost frames.
pub(super) fn resend_missing(
    transaction: &mut Transaction<'_, '_>,
    own: &PublicKey,
) -> Result<(), EngineError> {
    resend_if(transaction, own, |by, of| by < of)
}

/// Gives up the groups with persons who have confirmed nothing: the hub deleted frames of this
/// device, among which their welcome may be.
pub(super) fn give_up_unconfirmed(
    transaction: &mut Transaction<'_, '_>,
    own: &PublicKey,
) -> Result<(), EngineError> {
    let mut counts = HashMap::new();
    each_series(transaction, &mut |conversation, series, _| {
        if let Conversation::Person(person) = conversation
            && person != *own
        {
            *counts.entry(person).or_insert(0) +=
                confirmed(transaction, &conversation, &series, &person)?.count();
        }
        Ok(())
    })?;
    for (person, _) in counts.into_iter().filter(|(_, count)| *count == 0) {
        let conversation = Conversation::Person(person);
        let groups = HubGroups::of(transaction, &conversation)?;
        if let Some(group) = groups.first().filter(|_| groups.may_give_up()) {
            give_up_group(transaction, own, &conversation, &group)?;
        }
    }
    Ok(())
}

fn resend_if(
    transaction: &mut Transaction<'_, '_>,
    own: &PublicKey,
    is_needed: impl Fn(u64, u64) -> bool,
) -> Result<(), EngineError> {
    let waiting = rows_that_wait(transaction)?;
    for conversation in written(transaction)? {
        let receivers = receivers(transaction, &conversation, own)?;
        let all = receivers.len() as u64;
        if all > 0 {
            let of = Of { own, conversation: &conversation, receivers: &receivers };
            of.resend(transaction, &waiting, most(&conversation), |by| is_needed(by, all))?;
        }
    }
    Ok(())
}

/// Returns the conversations in which this device has written.
fn written(transaction: &Transaction<'_, '_>) -> Result<HashSet<Conversation>, EngineError> {
    let mut written = HashSet::new();
    each_series(transaction, &mut |conversation, _, _| {
        written.insert(conversation);
        Ok(())
    })?;
    Ok(written)
}

/// Returns the limit of the texts of a conversation that are sent again at once.
fn most(conversation: &Conversation) -> usize {
    match conversation {
        Conversation::Person(_) => MAX_RESENT,
        Conversation::Group(_) => MAX_RESENT_TO_TEAM,
    }
}

/// A conversation, and the persons whose confirmations count.
struct Of<'c> {
    own: &'c PublicKey,
    conversation: &'c Conversation,
    receivers: &'c [PublicKey],
}

impl Of<'_> {
    /// Marks the latest texts as unsent for which `is_needed` is true: it gets the number of
    /// receivers who have confirmed a text. `waiting` are the rows of which a frame waits for the
    /// hub.
    fn resend(
        &self,
        transaction: &Transaction<'_, '_>,
        waiting: &HashSet<u64>,
        limit: usize,
        is_needed: impl Fn(u64) -> bool,
    ) -> Result<(), EngineError> {
        let Self { own, conversation, receivers } = *self;
        let mut confirmations = Confirmations::of(*own, conversation, receivers);
        let (mut after, mut unconfirmed) = (0, VecDeque::new());
        loop {
            let page = page_in(transaction, conversation, after, PAGE)?;
            let Some(last) = page.last() else { break };
            after = last.number;
            for row in page.iter().filter(|row| row.is_sent && !waiting.contains(&row.number)) {
                if confirmations.count(transaction, row)?.is_some_and(&is_needed) {
                    if unconfirmed.len() == limit {
                        unconfirmed.pop_front();
                    }
                    unconfirmed.push_back(row.number);
                }
            }
        }
        for number in unconfirmed {
            Waiting::put_again(transaction, number, *conversation)?;
        }
        Ok(())
    }
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
        resend_missing(transaction, &own)?;
        // Conversations of groups stay: unread texts are of such groups.
        transaction.remove_record(RULES_SENT, &[])?;
        for kind in [RECEIPT, DUE, FRAME, COMMIT, GROUPS, REPLACED] {
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
