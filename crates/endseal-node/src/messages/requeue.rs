//! Renumbers the frames for full mailboxes, behind all other frames.
//!
//! The frames of a mailbox keep their order, even if a frame for several mailboxes is divided, and
//! the hub's window can advance.

use std::collections::{HashMap, HashSet};

use endseal_crypto::peer_id::PeerId;
use endseal_session::EngineError;

use super::frame_target::{FRAME, Target};
use super::payload::HubGroupId;
use super::records::{self, Transaction};
use super::shared_engine::SharedEngine;

/// Records that are read from the store at once.
const PAGE: usize = 32;
/// Distance in numbers between a text and a receipt up to which both may wait: half of the hub's
/// window.
const FAR: u64 = 500;

/// Splits frames for full mailboxes from those for others, and gives them new numbers in their
/// order, in one transaction. Receipts are left alone. The caller MUST know that the hub has stored
/// none of these texts: each was refused, or follows a refused one of its mailbox.
pub(super) fn requeue(
    engine: &SharedEngine<'_>,
    full: &HashSet<PeerId>,
) -> Result<(), EngineError> {
    let own = engine.with(|engine| engine.certificate().keys().peer_id);
    let mut members = MembersOf { own, groups: HashMap::new() };
    engine.transaction(|transaction: &mut Transaction<'_, '_>| {
        let (mut first, mut last, mut has_others) = (None, 0, false);
        each(transaction, u64::MAX, &mut |transaction, number, target| {
            last = number;
            if target.is_text() {
                first.get_or_insert(number);
                let mailboxes = members.mailboxes(transaction, &target)?;
                has_others |= mailboxes.iter().any(|peer| !full.contains(peer));
            } else {
                // Receipts can leave as long as their numbers are not too far after that of a text.
                has_others |= first.is_some_and(|first| number > first + FAR);
            }
            Ok(())
        })?;
        // If there are no other frames, these may keep their numbers.
        if !has_others {
            return Ok(());
        }
        each(transaction, last, &mut |transaction, number, target| {
            // Receipts are sent after texts, so that the hub may have stored one.
            if !target.is_text() {
                return Ok(());
            }
            let mailboxes = members.mailboxes(transaction, &target)?;
            let (full, others): (Vec<_>, Vec<_>) =
                mailboxes.into_iter().partition(|peer| full.contains(peer));
            if full.is_empty() {
                return Ok(());
            }
            let again = transaction.post_again(number)?.ok_or(EngineError::Damaged("frame"))?;
            let Target { row, group, .. } = target;
            Target { row, group, mailboxes: full }.put(transaction, again)?;
            if others.is_empty() {
                Target::settle(transaction, number)
            } else {
                Target { row, group, mailboxes: others }.put(transaction, number)
            }
        })
    })
}

/// Members of groups, each read once.
struct MembersOf {
    own: PeerId,
    groups: HashMap<HubGroupId, Vec<PeerId>>,
}

impl MembersOf {
    /// Returns the mailboxes of a frame.
    fn mailboxes(
        &mut self,
        transaction: &mut Transaction<'_, '_>,
        target: &Target,
    ) -> Result<Vec<PeerId>, EngineError> {
        let Some(group) = target.group.filter(|_| target.mailboxes.is_empty()) else {
            return Ok(target.mailboxes.clone());
        };
        if let Some(known) = self.groups.get(&group) {
            return Ok(known.clone());
        }
        let members = transaction.group_peers(&group)?;
        let peers = members.into_iter().map(|(_, peer)| peer).filter(|peer| *peer != self.own);
        let peers: Vec<_> = peers.collect();
        self.groups.insert(group, peers.clone());
        Ok(peers)
    }
}

/// Callback that receives a frame and its number.
type Work<'w> = dyn FnMut(&mut Transaction<'_, '_>, u64, Target) -> Result<(), EngineError> + 'w;

/// Calls `work` with each frame up to the number `last`.
fn each(
    transaction: &mut Transaction<'_, '_>,
    last: u64,
    work: &mut Work<'_>,
) -> Result<(), EngineError> {
    let mut after = Vec::new();
    loop {
        let page = transaction.records_after(FRAME, &after, PAGE)?;
        let Some((name, _)) = page.last() else { return Ok(()) };
        after.clone_from(name);
        for (name, _) in &page {
            let number = records::number_in_name(name).ok_or(EngineError::Damaged("frame"))?;
            if number > last {
                return Ok(());
            }
            let target = Target::of(transaction, number)?.ok_or(EngineError::Damaged("frame"))?;
            work(transaction, number, target)?;
        }
    }
}
