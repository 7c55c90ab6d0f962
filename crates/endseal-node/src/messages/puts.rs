//! Sends the ciphertexts of the outbox to the hub.

use core::time::Duration;
use std::collections::{HashMap, HashSet};

use endseal_codec::frame::{Stamp, StoredFrame};
use endseal_codec::hub::{Code, Conversation as HubConversation, Put, RefusedView, Request};
use endseal_crypto::peer_id::PeerId;
use endseal_delivery::node::{Puts, Settled};
use endseal_delivery::{MembersDigest, stored_limits};
use endseal_session::group::Group;
use endseal_session::{Engine, EngineError, Message, Pending};
use tokio::time::sleep;

use super::archive_part::ArchivePart;
use super::error::{HubError, SyncError};
use super::frame_target::Target;
use super::hub::{HubClient, HubExchange, MAX_WAIT};
use super::hub_groups::{HubGroups, Notice, conversation_of_group};
use super::membership::membership_in;
use super::payload::{HubGroupId, Payload, PayloadKind};
use super::problem::{self, ProblemClass};
use super::records::{self, Transaction};
use super::replaced::{self, Replaced};
use super::report::SyncReport;
use super::requeue::requeue;
use super::resend::give_up_group;
use super::send_state::SendState;
use super::shared_engine::SharedEngine;
use super::unconfirmed;
use super::waiting::Waiting;

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
/// Limit on consecutive exchanges in which the hub accepts nothing.
const MAX_WITHOUT_PROGRESS: u32 = 8;

/// Kinds of frames that are sent together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Frames {
    /// Texts.
    Texts,
    /// Everything that is no text. It is sent after the texts.
    Others,
}

/// Sends the texts of the outbox, in their order for each mailbox. Texts that the hub cannot accept
/// now stay in the outbox. Returns the full mailboxes.
pub(super) async fn put_texts(
    hub: &HubClient<'_>,
    engine: &SharedEngine<'_>,
    state: &SendState,
    report: &mut SyncReport,
) -> Result<HashSet<PeerId>, SyncError> {
    let mut full = HashSet::new();
    put_some((hub, engine, state), Frames::Texts, &mut full, report).await?;
    report.mailbox_full = !full.is_empty();
    Ok(full)
}

/// Sends what is no text, except to full mailboxes. Must be called after [`put_texts`].
pub(super) async fn put_others(
    hub: &HubClient<'_>,
    engine: &SharedEngine<'_>,
    state: &SendState,
    mut full: HashSet<PeerId>,
    report: &mut SyncReport,
) -> Result<(), SyncError> {
    put_some((hub, engine, state), Frames::Others, &mut full, report).await?;
    // Users need not be informed about a receipt that waits.
    report.mailbox_full = !full.is_empty() && engine.transaction(|it| Target::count_texts(it))? > 0;
    Ok(())
}

async fn put_some(
    (hub, engine, state): (&HubClient<'_>, &SharedEngine<'_>, &SendState),
    frames: Frames,
    full: &mut HashSet<PeerId>,
    report: &mut SyncReport,
) -> Result<(), SyncError> {
    let mut without_progress = 0;
    loop {
        let before = (report.sent + report.receipts + report.returned, full.len());
        let mut round = Round::new(state, frames, full);
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
        let after = (report.sent + report.receipts + report.returned, full.len());
        without_progress = if after > before { 0 } else { without_progress + 1 };
        if full.len() > before.1 && frames == Frames::Texts {
            requeue(engine, full)?;
        }
        match refusal {
            None => return Ok(()),
            // The receipts wait for the next sync and delay no text.
            Some(wait) if frames == Frames::Others && !wait.is_zero() => return Ok(()),
            Some(_) if without_progress > MAX_WITHOUT_PROGRESS => {
                return Err(HubError::Refused(Code::RATE).into());
            }
            Some(wait) => sleep(wait).await,
        }
    }
}

/// Members of a group in its present epoch.
struct Epoch {
    number: u64,
    digest: MembersDigest,
    /// All members but this device.
    others: Vec<PeerId>,
}

/// One exchange. After the first refusal no frame is sent in it, and the hub accepts none, so that
/// no frame overtakes another of the same mailbox.
struct Round<'f> {
    state: &'f SendState,
    puts: Puts,
    /// Outbox number up to which frames were considered.
    after: u64,
    frames: Frames,
    /// Mailboxes that the hub reported as full.
    full: &'f mut HashSet<PeerId>,
    /// Time to wait before the next exchange, if a frame was refused.
    refusal: Option<Duration>,
    epochs: HashMap<HubGroupId, Epoch>,
}

impl<'f> Round<'f> {
    fn new(state: &'f SendState, frames: Frames, full: &'f mut HashSet<PeerId>) -> Self {
        let (puts, epochs) = (Puts::new(), HashMap::new());
        Self { state, puts, after: 0, frames, full, refusal: None, epochs }
    }

    /// Returns the members of a group; `None` if this device cannot send in it.
    fn epoch(
        &mut self,
        engine: &mut Engine,
        group: &HubGroupId,
    ) -> Result<Option<&Epoch>, EngineError> {
        let number = engine.transaction(|transaction| transaction.group_epoch(group))?;
        let Some(number) = number else { return Ok(None) };
        if self.epochs.get(group).is_none_or(|it| it.number != number) {
            let own = engine.certificate().keys().peer_id;
            let members = engine.transaction(|transaction| transaction.group_peers(group))?;
            let mut others: Vec<_> = members.into_iter().map(|(_, peer)| peer).collect();
            others.sort_unstable();
            let digest = MembersDigest::of(&others);
            others.retain(|peer| *peer != own);
            self.epochs.insert(*group, Epoch { number, digest, others });
        }
        Ok(self.epochs.get(group))
    }

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
                // Frames without a target leave the outbox in files, or are commits.
                let Some(target) = target else { continue };
                if target.is_text() == (self.frames == Frames::Texts)
                    && !self.is_full(engine, &target)?
                {
                    found.push((pending, target));
                }
            }
        }
        Ok(found)
    }

    /// Returns true if a mailbox of a frame is full.
    fn is_full(&mut self, engine: &mut Engine, target: &Target) -> Result<bool, EngineError> {
        if self.full.is_empty() {
            return Ok(false);
        }
        let mailboxes = match &target.group {
            Some(group) if target.mailboxes.is_empty() => match self.epoch(engine, group)? {
                Some(epoch) => epoch.others.clone(),
                None => Vec::new(),
            },
            _ => target.mailboxes.clone(),
        };
        Ok(mailboxes.iter().any(|peer| self.full.contains(peer)))
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
                self.feed(exchange, engine, next, report).await?;
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
        report: &mut SyncReport,
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
                let number = pending.number;
                // It may have been settled while another one was sent.
                let present = engine.transaction(|it| Target::of(it, number))?;
                if present.is_none_or(|it| it != target) {
                    continue;
                }
                match engine.with(|engine| self.put(engine, pending, &target))? {
                    Some(put) if self.puts.send(number) => exchange.feed(put).await?,
                    Some(_) => {}
                    // The epoch has changed since it was encrypted.
                    None => engine.transaction(|transaction: &mut Transaction<'_, '_>| {
                        take_back(transaction, number, &target, report)
                    })?,
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

    /// Makes the request that sends a ciphertext; `None` if it was made in another epoch than the
    /// present one, so that the hub would refuse it.
    fn put(
        &mut self,
        engine: &mut Engine,
        pending: Pending,
        target: &Target,
    ) -> Result<Option<Request>, SyncError> {
        let sender = *engine.certificate().keys().peer_id.as_bytes();
        let stamp = Stamp { sequence: pending.number, timestamp: 0, sender };
        let (sealed, conversation) = match target.group {
            None => (ArchivePart::seal(pending.body), None),
            Some(group) => {
                let Some(epoch) = self.epoch(engine, &group)? else { return Ok(None) };
                if epoch_of(&pending.body) != Some(epoch.number) {
                    return Ok(None);
                }
                let conversation = HubConversation {
                    group,
                    epoch: epoch.number,
                    members: *epoch.digest.as_bytes(),
                    ..HubConversation::default()
                };
                let sealed = Payload::seal(PayloadKind::Message, &group, pending.body);
                (sealed, Some(conversation))
            }
        };
        let frame = StoredFrame::vouched(&sealed, stamp, stored_limits());
        let frame = frame.map_err(|_| HubError::TooLong)?.into();
        let targets = target.peers().into();
        Ok(Some(Request::Put(Put { targets, frame, conversation })))
    }

    fn refused(
        &mut self,
        engine: &mut Engine,
        report: &mut SyncReport,
        sequence: u64,
        refused: &RefusedView<'_>,
    ) -> Result<(), SyncError> {
        let named = || refused.mailboxes.iter().map(PeerId::from_bytes);
        let target = engine.transaction(|transaction| Target::of(transaction, sequence))?;
        let Some(target) = target else {
            // It was taken back while it was in transit. None after it may overtake others.
            return match refused.code {
                Code::USED => {
                    engine.mark_restored()?;
                    Err(SyncError::Restored)
                }
                _ => {
                    self.wait(refused);
                    Ok(())
                }
            };
        };
        match (refused.code, target.group) {
            (Code::FULL, group) => {
                let others = match group {
                    Some(group) if target.mailboxes.is_empty() => {
                        self.epoch(engine, &group)?.map(|it| it.others.clone())
                    }
                    _ => None,
                };
                let mailboxes = others.unwrap_or(target.mailboxes);
                self.full.extend(named().filter(|peer| mailboxes.contains(peer)));
                self.wait(refused);
                return Ok(());
            }
            (Code::RATE, _) => {
                self.wait(refused);
                return Ok(());
            }
            // The frame before it was refused, and no frame may overtake another.
            (Code::MAILBOX | Code::MEMBERS, _) if refused.mailboxes.is_empty() => {
                self.refusal = self.refusal.max(Some(Duration::ZERO));
                return Ok(());
            }
            (Code::USED, _) => {
                engine.mark_restored()?;
                return Err(SyncError::Restored);
            }
            (Code::EPOCH, Some(group)) => {
                // The commit that it lacks may have been opened since it was sent.
                let pending = engine.outbox().pending(sequence.saturating_sub(1), 1)?.pop();
                if let Some(epoch) = pending.and_then(|it| epoch_of(&it.body)) {
                    self.state.note_behind(group, epoch);
                }
            }
            (Code::MEMBERS, Some(group)) => self.state.note_at_hub(group, named().collect()),
            (Code::MAILBOX, Some(group)) => self.state.note_gone(group, named()),
            (Code::CONVERSATION, Some(group)) => {
                let own = engine.address().identity;
                engine.transaction(|transaction: &mut Transaction<'_, '_>| {
                    if let Some(conversation) = conversation_of_group(transaction, &group)? {
                        give_up_group(transaction, &own, &conversation, &group)?;
                    }
                    Ok::<_, EngineError>(())
                })?;
            }
            // Texts are encrypted again, and receipts are made again.
            (Code::OLD, Some(_)) => {}
            (Code::OLD | Code::MAILBOX, None) => {
                return Ok(engine.transaction(|transaction| {
                    let class = match refused.code {
                        Code::OLD => ProblemClass::OLD,
                        _ => ProblemClass::MAILBOX,
                    };
                    for peer in &target.mailboxes {
                        problem::note(transaction, class, peer, sequence)?;
                    }
                    problem::forget_old(transaction)?;
                    Target::settle(transaction, sequence)
                })?);
            }
            (code, _) => return Err(HubError::Refused(code).into()),
        }
        engine.transaction(|transaction: &mut Transaction<'_, '_>| {
            take_back(transaction, sequence, &target, report)
        })?;
        if refused.code == Code::MAILBOX || refused.code == Code::MEMBERS {
            self.refusal = self.refusal.max(Some(Duration::ZERO));
        }
        Ok(())
    }

    fn wait(&mut self, refused: &RefusedView<'_>) {
        let wait = Duration::from_millis(refused.wait).min(MAX_WAIT);
        self.refusal = self.refusal.max(Some(wait));
    }
}

/// Returns the epoch in which a message of a group was made.
fn epoch_of(body: &[u8]) -> Option<u64> {
    match Message::parse(body) {
        Ok(Message::Group(body)) => Group::peek_epoch(body).map(|header| header.epoch),
        _ => None,
    }
}

/// Removes a ciphertext that the hub has not taken and will not take. A text is unsent again, a
/// receipt is due again.
fn take_back(
    transaction: &mut Transaction<'_, '_>,
    sequence: u64,
    target: &Target,
    report: &mut SyncReport,
) -> Result<(), EngineError> {
    if target.is_text()
        && let Some(group) = &target.group
        && let Some(conversation) = conversation_of_group(transaction, group)?
    {
        Waiting::put_again(transaction, target.row, conversation)?;
        report.returned += 1;
    } else {
        note_notice(transaction, sequence, target, Notice::Due)?;
        unconfirmed::make_due(transaction, sequence)?;
    }
    Target::settle(transaction, sequence)
}

/// Removes the frames that the hub has stored, and records the acknowledgement.
fn stored(
    engine: &mut Engine,
    sequences: &[u64],
    report: &mut SyncReport,
) -> Result<(), EngineError> {
    let mut texts = 0;
    engine.transaction(|transaction| {
        for sequence in sequences {
            let target = Target::of(transaction, *sequence)?;
            texts += u64::from(target.as_ref().is_some_and(Target::is_text));
            if let Some(target) = target {
                note_notice(transaction, *sequence, &target, Notice::Stored)?;
            }
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
    report.sent += texts;
    report.receipts += sequences.len() as u64 - texts;
    Ok(())
}

/// Notes that a notice to the members of a group was stored, or taken back. Another one that became
/// due meanwhile stays due.
fn note_notice(
    transaction: &mut Transaction<'_, '_>,
    sequence: u64,
    target: &Target,
    notice: Notice,
) -> Result<(), EngineError> {
    let Target { row: 0, group: Some(group), mailboxes } = target else { return Ok(()) };
    if !mailboxes.is_empty() {
        return Ok(());
    }
    let Some(conversation) = conversation_of_group(transaction, group)? else { return Ok(()) };
    if let Some(replaced) = Replaced::in_outbox(transaction, &conversation, sequence)? {
        return match notice {
            Notice::Stored => replaced.remove(transaction),
            _ => replaced::make_due(transaction, &conversation, sequence),
        };
    }
    let mut groups = HubGroups::of(transaction, &conversation)?;
    if groups.group_mut(group).is_some_and(|it| it.notice == Notice::Waits) {
        groups.set_notice(group, notice);
        groups.put(transaction)?;
    }
    Ok(())
}
