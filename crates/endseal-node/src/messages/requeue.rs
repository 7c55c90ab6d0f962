//! Renumbers the frames for full mailboxes, behind all other frames.
//!
//! The frames of a mailbox keep their order, even if a frame for several mailboxes is divided, and
//! the hub's window can advance.

use std::collections::HashSet;

use endseal_crypto::peer_id::PeerId;
use endseal_session::EngineError;

use super::records::{self, Transaction};
use super::shared_engine::SharedEngine;
use crate::frame_target::{FRAME, Target};

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
    engine.transaction(|transaction: &mut Transaction<'_, '_>| {
        let (mut first, mut last, mut has_others) = (None, 0, false);
        each(transaction, u64::MAX, &mut |_, number, target| {
            last = number;
            if target.is_receipt() {
                // Receipts can leave as long as their numbers are not too far after that of a text.
                has_others |= first.is_some_and(|first| number > first + FAR);
            } else {
                first.get_or_insert(number);
                has_others |= target.mailboxes.iter().any(|(peer, _)| !full.contains(peer));
            }
            Ok(())
        })?;
        // If there are no other frames, these may keep their numbers.
        if !has_others {
            return Ok(());
        }
        each(transaction, last, &mut |transaction, number, target| {
            // Receipts are sent after texts, so that the hub may have stored one.
            if target.is_receipt() {
                return Ok(());
            }
            let Target { row, epoch, mailboxes } = target;
            let (full, others): (Vec<_>, Vec<_>) =
                mailboxes.into_iter().partition(|(peer, _)| full.contains(peer));
            if full.is_empty() {
                return Ok(());
            }
            let again = transaction.post_again(number)?.ok_or(EngineError::Damaged("frame"))?;
            Target { row, epoch, mailboxes: full }.put(transaction, again)?;
            if others.is_empty() {
                Target::settle(transaction, number)
            } else {
                Target { row, epoch, mailboxes: others }.put(transaction, number)
            }
        })
    })
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
