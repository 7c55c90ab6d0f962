//! Sends the ciphertexts of the outbox to the hub.

use core::time::Duration;
use std::collections::HashSet;

use endseal_codec::frame::{Stamp, StoredFrame};
use endseal_codec::hub::{Code, Put, RefusedView, Request};
use endseal_crypto::peer_id::PeerId;
use endseal_delivery::node::{HubFault, Puts, Settled};
use endseal_delivery::stored_limits;
use endseal_keyring::roster::GroupId;
use endseal_session::{ConversationId, Engine, EngineError, Pending};
use tokio::time::sleep;

use super::archive_part::ArchivePart;
use super::conversation::Conversation;
use super::error::{HubError, SyncError};
use super::hub::{HubClient, HubExchange, MAX_WAIT};
use super::letter::{Letter, LetterHead};
use super::membership::membership_in;
use super::payload::Payload;
use super::problem::{self, ProblemClass};
use super::records::{self, Transaction};
use super::report::SyncReport;
use super::requeue::requeue;
use super::shared_engine::SharedEngine;
use super::unconfirmed;
use super::waiting::Waiting;
use crate::frame_target::{FRAME, Target};

/// Frames that are read from the store at once.
const PAGE: usize = 32;
/// Limit on the frames in transit.
const WINDOW: usize = 512;
/// Length in bytes of the frames that are sent before answers are read. The acknowledgements are
/// then stored even if the connection breaks.
const FEED: usize = 1 << 20;
/// Distance in outbox numbers between the first waiting frame and the last one that is sent. The
/// hub's window has 1,024 numbers.
const SPAN: u64 = 1_000;
/// Limit on the devices of a person.
const MAX_DEVICES: usize = 16;
/// Limit on consecutive exchanges in which the hub accepts nothing.
const MAX_WITHOUT_PROGRESS: u32 = 8;

/// Sends the texts of the outbox, in their order for each mailbox. Texts that the hub cannot accept
/// now stay in the outbox. Returns the full mailboxes.
pub(super) async fn put_texts(
    hub: &HubClient<'_>,
    engine: &SharedEngine<'_>,
    report: &mut SyncReport,
) -> Result<HashSet<PeerId>, SyncError> {
    let mut full = HashSet::new();
    put_some(hub, engine, false, &mut full, report).await?;
    report.mailbox_full = !full.is_empty();
    Ok(full)
}

/// Sends the receipts of the outbox, except those to full mailboxes. Must be called after
/// [`put_texts`].
pub(super) async fn put_receipts(
    hub: &HubClient<'_>,
    engine: &SharedEngine<'_>,
    mut full: HashSet<PeerId>,
    report: &mut SyncReport,
) -> Result<(), SyncError> {
    put_some(hub, engine, true, &mut full, report).await?;
    // Users need not be informed about a receipt that waits.
    report.mailbox_full = !full.is_empty() && engine.transaction(|it| Target::count_texts(it))? > 0;
    Ok(())
}

/// Sends the frames of texts, or those of receipts.
async fn put_some(
    hub: &HubClient<'_>,
    engine: &SharedEngine<'_>,
    is_receipts: bool,
    full: &mut HashSet<PeerId>,
    report: &mut SyncReport,
) -> Result<(), SyncError> {
    let mut without_progress = 0;
    loop {
        let before = (report.sent + report.receipts, full.len());
        let mut round = Round { puts: Puts::new(), after: 0, is_receipts, full, refusal: None };
        let mut next = engine.with(|engine| round.next(engine))?;
        // An exchange without a request is not allowed.
        if next.is_empty() {
            return Ok(());
        }
        let mut exchange = hub.open().await?;
        round.run(&mut exchange, engine, &mut next, report).await?;
        // All requests of this exchange have been answered.
        exchange.end().await?;
        let refusal = round.refusal;
        let after = (report.sent + report.receipts, full.len());
        without_progress = if after > before { 0 } else { without_progress + 1 };
        if full.len() > before.1 && !is_receipts {
            requeue(engine, full)?;
        }
        match refusal {
            None => return Ok(()),
            // The receipts wait for the next sync and delay no text.
            Some(wait) if is_receipts && !wait.is_zero() => return Ok(()),
            Some(_) if without_progress > MAX_WITHOUT_PROGRESS => {
                return Err(HubError::Refused(Code::RATE).into());
            }
            Some(wait) => sleep(wait).await,
        }
    }
}

/// One exchange. After the first refusal no frame is sent in it, and the hub accepts none, so that
/// no frame overtakes another of the same mailbox.
struct Round<'f> {
    puts: Puts,
    /// Outbox number up to which frames were considered.
    after: u64,
    /// True if receipts are sent, false if texts are sent.
    is_receipts: bool,
    /// Mailboxes that the hub reported as full.
    full: &'f mut HashSet<PeerId>,
    /// Time to wait before the next exchange, if a frame was refused.
    refusal: Option<Duration>,
}

impl Round<'_> {
    /// Returns the next frames that can be sent. The hub forgets sequences that are too far back,
    /// so that no frame may be too far ahead of the first waiting text.
    fn next(&mut self, engine: &mut Engine) -> Result<Vec<(Pending, Target)>, EngineError> {
        // A receipt that becomes too old is created again.
        let first = engine.transaction(|it| Target::first_text(it))?;
        let end = first.map_or(u64::MAX, |first| first.saturating_add(SPAN));
        let mut found = Vec::new();
        while found.is_empty() {
            let mut page = engine.outbox().pending(self.after, PAGE)?;
            page.retain(|it| it.number < end);
            let Some(last) = page.last() else { break };
            self.after = last.number;
            for pending in page {
                let number = pending.number;
                let target = engine.transaction(|transaction| Target::of(transaction, number))?;
                // Frames without a target leave the outbox in files.
                let Some(target) = target else { continue };
                let is_full = |(peer, _): &(PeerId, _)| self.full.contains(peer);
                if target.is_receipt() == self.is_receipts && !target.mailboxes.iter().any(is_full)
                {
                    found.push((pending, target));
                }
            }
        }
        Ok(found)
    }

    async fn run(
        &mut self,
        exchange: &mut HubExchange,
        engine: &SharedEngine<'_>,
        next: &mut Vec<(Pending, Target)>,
        report: &mut SyncReport,
    ) -> Result<(), SyncError> {
        loop {
            if self.refusal.is_none() {
                self.feed(exchange, engine, next).await?;
            }
            if self.puts.unanswered() == 0 {
                return Ok(());
            }
            let payload = exchange.next().await?;
            match self.puts.answer(&payload)? {
                Settled::Stored(sequences) => {
                    engine.with(|engine| stored(engine, &sequences, report))?;
                }
                Settled::Refused(None, refused) => {
                    return Err(HubError::Refused(refused.code).into());
                }
                Settled::Refused(Some(sequence), refused) => {
                    engine.with(|engine| self.refused(engine, report, sequence, &refused))?;
                }
            }
        }
    }

    /// Sends frames until enough are in transit, or none are left.
    async fn feed(
        &mut self,
        exchange: &mut HubExchange,
        engine: &SharedEngine<'_>,
        next: &mut Vec<(Pending, Target)>,
    ) -> Result<(), SyncError> {
        if self.puts.unanswered() > WINDOW / 2 {
            return Ok(());
        }
        if next.is_empty() {
            *next = engine.with(|engine| self.next(engine))?;
        }
        let mut bytes = 0;
        while self.puts.unanswered() < WINDOW && bytes < FEED && !next.is_empty() {
            let mut page = core::mem::take(next).into_iter();
            for (pending, target) in page.by_ref() {
                bytes += pending.body.len();
                if self.puts.send(pending.number) {
                    let put = engine.with(|engine| put(engine, pending, &target))?;
                    exchange.feed(put).await?;
                }
                if bytes >= FEED {
                    break;
                }
            }
            *next = page.collect();
            if next.is_empty() {
                *next = engine.with(|engine| self.next(engine))?;
            }
        }
        Ok(exchange.flush().await?)
    }

    fn refused(
        &mut self,
        engine: &mut Engine,
        report: &mut SyncReport,
        sequence: u64,
        refused: &RefusedView<'_>,
    ) -> Result<(), SyncError> {
        let is_named = |peer: &PeerId| refused.mailboxes.iter().any(|it| it == peer.as_bytes());
        let class = match refused.code {
            code @ (Code::FULL | Code::RATE) => {
                if code == Code::FULL {
                    let target = engine.transaction(|it| Target::of(it, sequence))?;
                    let mailboxes = target.map(|target| target.mailboxes).unwrap_or_default();
                    let named = mailboxes.iter().map(|(peer, _)| *peer);
                    self.full.extend(named.filter(|peer| is_named(peer)));
                }
                let wait = Duration::from_millis(refused.wait).min(MAX_WAIT);
                self.refusal = self.refusal.max(Some(wait));
                return Ok(());
            }
            // The frame before it was refused, and no frame may overtake another.
            Code::MAILBOX if refused.mailboxes.is_empty() => {
                self.refusal = self.refusal.max(Some(Duration::ZERO));
                return Ok(());
            }
            Code::USED => {
                engine.mark_restored()?;
                return Err(SyncError::Restored);
            }
            Code::OLD => ProblemClass::OLD,
            Code::MAILBOX => ProblemClass::MAILBOX,
            code => return Err(HubError::Refused(code).into()),
        };
        let pending = engine.outbox().pending(sequence.saturating_sub(1), 1)?.pop();
        // The mailboxes that are left get the frame with the next exchange, because it was not
        // stored for any of them.
        let is_left = engine.transaction(|transaction| {
            let target = Target::of(transaction, sequence)?;
            let Target { row, epoch, mut mailboxes } =
                target.ok_or(EngineError::Damaged("frame"))?;
            let all = class == ProblemClass::OLD || mailboxes.len() == 1;
            let is_dropped = |peer: &PeerId| all || is_named(peer);
            if row == 0 {
                if class == ProblemClass::OLD {
                    unconfirmed::make_due(transaction, sequence)?;
                }
                Target::settle(transaction, sequence)?;
                return Ok(false);
            }
            for (peer, _) in mailboxes.iter().filter(|(peer, _)| is_dropped(peer)) {
                problem::note(transaction, class, peer, sequence)?;
                report.problems += 1;
            }
            problem::forget_old(transaction)?;
            let before = mailboxes.len();
            mailboxes.retain(|(peer, _)| !is_dropped(peer));
            if mailboxes.is_empty() {
                Target::settle(transaction, sequence)?;
                if class == ProblemClass::MAILBOX
                    && let Some(Pending { conversation: ConversationId::Person(to), .. }) = &pending
                    && is_last_device(transaction, sequence, row, epoch)?
                {
                    Waiting::put_again(transaction, row, Conversation::Person(*to))?;
                    report.returned += 1;
                }
                return Ok(false);
            }
            if mailboxes.len() == before {
                return Err(SyncError::from(HubFault::Unexpected));
            }
            Target { row, epoch, mailboxes }.put(transaction, sequence)?;
            Ok(true)
        })?;
        if is_left {
            self.refusal = self.refusal.max(Some(Duration::ZERO));
        }
        Ok(())
    }
}

/// Records that a device of a text is gone. `others` is the number of other devices that received
/// the text or may still receive it. Returns true if there are none.
fn is_last_device(
    transaction: &mut Transaction<'_, '_>,
    sequence: u64,
    row: u64,
    others: u64,
) -> Result<bool, EngineError> {
    if others == 0 {
        return Ok(true);
    }
    // They were encrypted together and have adjacent numbers, unless some were renumbered.
    let mut frames = Vec::new();
    let before = sequence.saturating_sub(MAX_DEVICES as u64).to_be_bytes();
    for (name, _) in transaction.records_after(FRAME, &before, 2 * MAX_DEVICES)? {
        let number = records::number_in_name(&name).ok_or(EngineError::Damaged("frame"))?;
        frames.extend(Target::of(transaction, number)?.map(|target| (number, target)));
    }
    frames.retain(|(_, target)| target.row == row);
    if (frames.len() as u64) < others {
        frames.clear();
        Target::each(transaction, &mut |number, target| {
            if target.row == row {
                frames.push((number, target));
            }
        })?;
    }
    for (number, mut target) in frames {
        target.epoch = target.epoch.saturating_sub(1);
        target.put(transaction, number)?;
    }
    Ok(false)
}

/// Makes the request that sends a ciphertext.
fn put(engine: &Engine, pending: Pending, target: &Target) -> Result<Request, HubError> {
    let sender = *engine.certificate().keys().peer_id.as_bytes();
    let stamp = Stamp { sequence: pending.number, timestamp: 0, sender };
    let sealed = match pending.conversation {
        ConversationId::Group(id) => {
            let id = id.as_slice().try_into().map_err(|_| HubError::TooLong)?;
            let group = GroupId::from_bytes(id);
            let head = LetterHead::new(engine.address(), group, target.epoch);
            Letter::seal(head, pending.body)
        }
        ConversationId::Person(to) if to == engine.address().identity => {
            ArchivePart::seal(pending.body)
        }
        _ => Payload::seal(&engine.address(), pending.body),
    };
    let frame = StoredFrame::vouched(&sealed, stamp, stored_limits());
    let frame = frame.map_err(|_| HubError::TooLong)?.into();
    let (targets, slots) = (target.peers().into(), target.slots().into());
    Ok(Request::Put(Put { targets, slots, frame, conversation: None }))
}

/// Removes the frames that the hub has stored, and records the acknowledgement.
fn stored(
    engine: &mut Engine,
    sequences: &[u64],
    report: &mut SyncReport,
) -> Result<(), EngineError> {
    let mut receipts = 0;
    engine.transaction(|transaction| {
        for sequence in sequences {
            let target = Target::of(transaction, *sequence)?;
            receipts += u64::from(target.is_some_and(|it| it.is_receipt()));
            Target::settle(transaction, *sequence)?;
        }
        if let (Some(mut membership), Some(last)) = (membership_in(transaction)?, sequences.last())
            && *last >= membership.sequence
        {
            (membership.sequence, membership.time) = (*last, records::now());
            membership.put(transaction)?;
        }
        Ok::<_, EngineError>(())
    })?;
    report.receipts += receipts;
    report.sent += sequences.len() as u64 - receipts;
    Ok(())
}
