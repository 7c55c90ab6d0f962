//! Frames for full mailboxes get new numbers, behind all others.
//!
//! So those of a mailbox keep their order, also where a frame for several is divided, and the hub's
//! window moves on.

use std::collections::HashSet;

use endseal_crypto::peer_id::PeerId;
use endseal_session::EngineError;

use super::records::{self, Transaction};
use super::shared_engine::SharedEngine;
use crate::frame_target::{FRAME, Target};

/// Records that are in memory at once.
const PAGE: usize = 32;
/// Numbers between a text and a receipt that may wait: half of what the hub's window allows.
const FAR: u64 = 500;

/// Divides frames for full mailboxes from others, and gives them new numbers in their order, in one
/// transaction, but not those of receipts. The caller MUST know that the hub has stored no text of
/// them: each was refused, or is behind one of its mailbox that was.
pub(super) fn requeue(
    engine: &SharedEngine<'_>,
    full: &HashSet<PeerId>,
) -> Result<(), EngineError> {
    engine.transaction(|transaction: &mut Transaction<'_, '_>| {
        let (mut first, mut last, mut has_others) = (None, 0, false);
        each(transaction, u64::MAX, &mut |_, number, target| {
            last = number;
            if target.is_receipt() {
                // Receipts leave as long as their numbers are not too far behind that of a text.
                has_others |= first.is_some_and(|first| number > first + FAR);
            } else {
                first.get_or_insert(number);
                has_others |= target.mailboxes.iter().any(|(peer, _)| !full.contains(peer));
            }
            Ok(())
        })?;
        // Alone they may keep their places.
        if !has_others {
            return Ok(());
        }
        each(transaction, last, &mut |transaction, number, target| {
            // The hub may have stored a receipt: they are put behind texts.
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

/// Work with a frame and its number.
type Work<'w> = dyn FnMut(&mut Transaction<'_, '_>, u64, Target) -> Result<(), EngineError> + 'w;

/// Does something with each frame up to a number.
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
