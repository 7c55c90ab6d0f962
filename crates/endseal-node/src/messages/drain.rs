//! Receives the frames of this device's mailbox and delivers them to the inbox (docs/spec/node.md,
//! "Receiving").

use core::time::Duration;
use std::thread;

use bytes::Bytes;
use endseal_codec::frame::StoredFrame;
use endseal_codec::hub::{Acknowledge, Credit as CreditRequest, GapReason, Request, Subscribe};
use endseal_crypto::peer_id::PeerId;
use endseal_delivery::node::{Arrival, HubFault, Subscription};
use endseal_delivery::{Credit, MessageId};
use endseal_session::{BatchOptions, Engine, EngineError, Envelope, Failure, Outcome};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout, timeout_at};

use super::archive_part::ArchivePart;
use super::arrivals;
use super::error::{HubError, SyncError};
use super::hub::{HubClient, HubExchange};
use super::link::linked_by;
use super::membership::replace_prekeys;
use super::node_files::NodeFiles;
use super::payload::{HubGroupId, Payload, PayloadKind};
use super::problem::{self, ProblemClass};
use super::records::{self, ACKNOWLEDGED, QUEUE, Transaction};
use super::report::{Lost, SyncReport};
use super::rule_change::accept_contacts;
use super::shared_engine::SharedEngine;
use super::unfollowed::{Unopened, note_unopened};
use super::welcomes::{Welcome, compare_joined, join};

/// Limit on the frames of a transaction.
const BATCH_FRAMES: usize = 5_000;
/// Length of the frames in bytes after which a transaction starts.
const BATCH_BYTES: usize = 8 << 20;
/// Credit for two batches: one is in transit while the other is opened.
const CREDIT: Credit = Credit { frames: 2 * BATCH_FRAMES as u64, bytes: 2 * BATCH_BYTES as u64 };
/// Time without a frame after which the batch is opened, if the hub does not report that nothing is
/// left.
const LINGER: Duration = Duration::from_millis(200);
/// Age of a batch at which it is opened even if it is not full, so that a sync over an unreliable
/// connection makes progress.
const PROMPT: Duration = Duration::from_secs(1);
/// Limit on the gaps that a hub may report in a subscription.
const MAX_GAPS: usize = 64;
/// Limit on the threads that decrypt.
const MAX_THREADS: usize = 8;

/// Subscription to this device's mailbox at the hub.
pub(super) struct Mailbox<'m, 'e> {
    hub: &'m HubClient<'m>,
    engine: &'m SharedEngine<'e>,
    files: &'m NodeFiles<'m>,
    exchange: HubExchange,
    subscription: Subscription,
    backlog: Backlog,
    /// Deadline for opening the backlog; `None` while it is empty.
    due: Option<Instant>,
    /// Number of gaps that the hub has reported.
    gaps: usize,
    /// Credit of delivered frames, which is not yet returned to the hub.
    due_credit: Credit,
}

impl<'m, 'e> Mailbox<'m, 'e> {
    /// Settles the inbox, and then subscribes.
    pub(super) async fn subscribe(
        hub: &'m HubClient<'m>,
        engine: &'m SharedEngine<'e>,
        files: &'m NodeFiles<'m>,
        report: &mut SyncReport,
    ) -> Result<Self, SyncError> {
        compare_joined(hub, engine, files, report).await?;
        let own = engine.address().identity;
        let (cursor, linked_by) = engine.transaction(|transaction: &mut Transaction<'_, '_>| {
            accept_contacts(transaction, &own, files)?;
            report.add_noted(arrivals::settle(transaction, &own, files)?);
            Ok::<_, EngineError>((transaction.cursor(QUEUE)?, linked_by(transaction)?))
        })?;
        engine.note_arrivals();
        let after = match cursor {
            Some(bytes) => records::number(&bytes).ok_or(EngineError::Damaged("cursor"))?,
            None => 0,
        };
        let mut exchange = hub.open().await?;
        let Credit { frames, bytes } = CREDIT;
        exchange.send(Request::Subscribe(Subscribe { after, frames, bytes })).await?;
        let subscription = Subscription::new(after, CREDIT);
        let (backlog, due_credit) = (Backlog::new(linked_by), Credit { frames: 0, bytes: 0 });
        let (due, gaps) = (None, 0);
        Ok(Self { hub, engine, files, exchange, subscription, backlog, due, gaps, due_credit })
    }

    /// Receives until nothing is left. Notifies `opened` after each batch except the last.
    pub(super) async fn catch_up(
        &mut self,
        opened: &Notify,
        report: &mut SyncReport,
    ) -> Result<(), SyncError> {
        loop {
            let next = match self.due {
                None => Ok(self.exchange.next().await),
                Some(due) => timeout_at(due, self.exchange.next()).await,
            };
            let step = match next {
                Ok(Ok(payload)) => self.arrived(&payload, report).await?,
                Ok(Err(error)) => return Err(self.broken(error, report).await),
                Err(_) => Step::Due,
            };
            match step {
                Step::More => {}
                Step::Due => {
                    self.deliver(report).await?;
                    self.pay().await?;
                    opened.notify_one();
                }
                Step::CaughtUp => return self.deliver(report).await,
            }
        }
    }

    /// Ends the subscription and waits for the hub. Without this, the connection could end before
    /// the hub has read the last acknowledgement.
    pub(super) async fn finish(self) -> Result<(), HubError> {
        self.exchange.finish().await
    }

    /// Waits for a frame without a time limit, and receives a batch. At `retry` it settles the
    /// inbox and returns: a person may be a contact now.
    pub(super) async fn wait(
        &mut self,
        retry: Instant,
        report: &mut SyncReport,
    ) -> Result<(), SyncError> {
        self.pay().await?;
        let mut next = match timeout_at(retry, self.exchange.wait()).await {
            Ok(next) => next,
            Err(_) => return self.settle(report),
        };
        loop {
            match next {
                Ok(payload) => match self.arrived(&payload, report).await? {
                    Step::More => {}
                    Step::Due | Step::CaughtUp => break,
                },
                Err(error) => return Err(self.broken(error, report).await),
            }
            match timeout(LINGER, self.exchange.wait()).await {
                Ok(result) => next = result,
                Err(_) => break,
            }
        }
        self.deliver(report).await
    }

    fn settle(&self, report: &mut SyncReport) -> Result<(), SyncError> {
        let own = self.engine.address().identity;
        let noted = self.engine.transaction(|transaction: &mut Transaction<'_, '_>| {
            arrivals::settle(transaction, &own, self.files)
        })?;
        report.add_noted(noted);
        self.engine.note_arrivals();
        Ok(())
    }

    /// Processes an answer of the hub.
    async fn arrived(
        &mut self,
        payload: &Bytes,
        report: &mut SyncReport,
    ) -> Result<Step, SyncError> {
        match self.subscription.answer(payload)? {
            Arrival::Frame { position, frame, id } => {
                self.backlog.add(position, id, &frame, payload);
            }
            Arrival::Damaged { position } => self.backlog.add_damaged(position, payload),
            Arrival::Gap(gap) => {
                // The hub reports at most one gap of each reason at the start, and later the frames
                // that expire.
                self.gaps += 1;
                if self.gaps > MAX_GAPS {
                    return Err(HubFault::Unexpected.into());
                }
                let class = match gap.reason {
                    GapReason::EXPIRED => ProblemClass::EXPIRED,
                    _ => {
                        replace_prekeys::<SyncError>(self.hub, self.engine).await?;
                        ProblemClass::RESTORED
                    }
                };
                let peer = PeerId::from_bytes(&[0; PeerId::LEN]);
                self.backlog.problems.push(Problem { class, peer, position: gap.position });
                self.backlog.position = self.backlog.position.max(Some(gap.position));
                report
                    .gaps
                    .push(Lost { count: gap.count, is_expired: class == ProblemClass::EXPIRED });
            }
            Arrival::CaughtUp => return Ok(Step::CaughtUp),
            Arrival::Refused(refused) => return Err(HubError::Refused(refused.code).into()),
        }
        let now = Instant::now();
        let due = *self.due.get_or_insert(now + PROMPT);
        Ok(if self.backlog.is_full() || now >= due { Step::Due } else { Step::More })
    }

    /// Delivers the frames that arrived before the connection ended. Returns the error of the sync.
    async fn broken(&mut self, error: HubError, report: &mut SyncReport) -> SyncError {
        match self.deliver(report).await {
            // The hub does not receive this acknowledgement, but gets it with the next
            // subscription.
            Ok(()) | Err(SyncError::Hub(_)) => error.into(),
            Err(of_store) => of_store,
        }
    }

    /// Opens the frames of the backlog and acknowledges them. The last transaction stores the
    /// problems and the new position. After that, all of them may be acknowledged. A process that
    /// is killed before it opens the frames again: delivered messages are recognised, and the
    /// others fail again.
    async fn deliver(&mut self, report: &mut SyncReport) -> Result<(), SyncError> {
        let Some(position) = self.backlog.position else { return Ok(()) };
        let Credit { frames, bytes } = self.backlog.credit();
        self.due_credit.frames += frames;
        self.due_credit.bytes += bytes;
        let Self { hub, engine, files, backlog, .. } = self;
        let mut unopened = Vec::new();
        for (at, run) in core::mem::take(&mut backlog.runs).into_iter().enumerate() {
            if at > 0 {
                // Of a team that was left, what came before the welcome says so.
                let own = engine.address().identity;
                let noted = engine.transaction(|it: &mut Transaction<'_, '_>| {
                    arrivals::settle(it, &own, files)
                })?;
                report.add_noted(noted);
            }
            engine.with(|engine| join(engine, &run.welcomes, report))?;
            let opened = engine.with(|engine| backlog.open(engine, &run.messages, report));
            unopened.extend(opened?);
        }
        // What came is kept also if the line breaks now.
        let compared = compare_joined(hub, engine, files, report).await;
        let noted = note_unopened(hub, engine, files, &unopened).await;
        engine.with(|engine| backlog.finish(engine, files, report))?;
        compared?;
        noted?;
        self.due = None;
        self.engine.note_arrivals();
        let acknowledge = Request::Acknowledge(Acknowledge { position });
        Ok(self.exchange.send(acknowledge).await?)
    }

    /// Returns the credit of the delivered frames to the hub.
    async fn pay(&mut self) -> Result<(), HubError> {
        let Credit { frames, bytes } = self.due_credit;
        if frames == 0 {
            return Ok(());
        }
        self.due_credit = Credit { frames: 0, bytes: 0 };
        self.subscription.give(Credit { frames, bytes });
        self.exchange.send(Request::Credit(CreditRequest { frames, bytes })).await
    }
}

/// State of the backlog after an answer of the hub.
enum Step {
    /// The backlog may wait for more frames.
    More,
    /// The backlog is full or has reached its deadline, and must be opened.
    Due,
    /// The hub has no more frames.
    CaughtUp,
}

/// Welcomes, and the messages that follow them until the next welcome.
#[derive(Default)]
struct Run {
    welcomes: Vec<Welcome>,
    messages: Vec<Arrived>,
}

/// Frames that are opened together.
struct Backlog {
    runs: Vec<Run>,
    frames: usize,
    /// Length of all frames in bytes.
    len: usize,
    problems: Vec<Problem>,
    /// Position in the mailbox up to which everything is done when this backlog is delivered.
    position: Option<u64>,
    /// Device that has linked this one. This one has taken its archive.
    linked_by: Option<PeerId>,
}

/// A message of a group with the sender and the position that the hub states.
struct Arrived {
    id: MessageId,
    peer: PeerId,
    group: HubGroupId,
    position: u64,
    body: Bytes,
}

struct Problem {
    class: &'static str,
    peer: PeerId,
    position: u64,
}

impl Backlog {
    fn new(linked_by: Option<PeerId>) -> Self {
        let (runs, problems) = (Vec::new(), Vec::new());
        Self { runs, frames: 0, len: 0, problems, position: None, linked_by }
    }

    /// Adds a frame, which is a part of `payload`.
    fn add(&mut self, position: u64, id: MessageId, frame: &StoredFrame<'_>, payload: &Bytes) {
        self.len += payload.len();
        self.frames += 1;
        self.position = Some(position);
        let peer = PeerId::from_bytes(&frame.stamp().sender);
        if ArchivePart::read(frame.payload()).is_some() {
            if self.linked_by != Some(peer) {
                let class = ProblemClass::ARCHIVE;
                self.problems.push(Problem { class, peer, position });
            }
            return;
        }
        let Some(Payload { kind, group, body }) = Payload::read(frame.payload()) else {
            self.problems.push(Problem { class: ProblemClass::FRAME, peer, position });
            return;
        };
        let (group, body) = (*group, payload.slice_ref(body));
        let ends_run = self.runs.last().is_none_or(|run| !run.messages.is_empty());
        if kind == PayloadKind::Welcome && ends_run || self.runs.is_empty() {
            self.runs.push(Run::default());
        }
        let Some(run) = self.runs.last_mut() else { return };
        match kind {
            PayloadKind::Welcome => run.welcomes.push(Welcome { peer, position, body }),
            PayloadKind::Message => {
                run.messages.push(Arrived { id, peer, group, position, body });
            }
        }
    }

    /// Adds bytes that are not a frame because they were damaged at the hub.
    fn add_damaged(&mut self, position: u64, payload: &Bytes) {
        self.len += payload.len();
        self.frames += 1;
        self.position = Some(position);
        let peer = PeerId::from_bytes(&[0; PeerId::LEN]);
        self.problems.push(Problem { class: ProblemClass::FRAME, peer, position });
    }

    fn is_full(&self) -> bool {
        self.frames >= BATCH_FRAMES || self.len >= BATCH_BYTES
    }

    /// Credit that the frames have used.
    fn credit(&self) -> Credit {
        Credit { frames: self.frames as u64, bytes: self.len as u64 }
    }

    /// Opens messages in one transaction. Returns those that were not opened.
    fn open(
        &mut self,
        engine: &mut Engine,
        messages: &[Arrived],
        report: &mut SyncReport,
    ) -> Result<Vec<Unopened>, SyncError> {
        let envelopes: Vec<_> = messages
            .iter()
            .map(|it| Envelope::from_group(it.id.as_bytes(), &it.group, &it.body))
            .collect();
        let threads = thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
        let options = BatchOptions::whole().threads(threads);
        let opened = engine.decrypt_batch(&envelopes, &options).map_err(|error| error.cause)?;
        let mut unopened = Vec::new();
        for (outcome, arrived) in opened.outcomes.iter().zip(messages) {
            match outcome {
                Outcome::Delivered(_) => report.received += 1,
                Outcome::Parked(failure) => {
                    report.parked += 1;
                    let Arrived { peer, group, .. } = *arrived;
                    unopened.push(Unopened { peer, group, failure: Some(*failure) });
                }
                Outcome::Buffered(_) => {
                    report.parked += 1;
                    let Arrived { peer, group, .. } = *arrived;
                    unopened.push(Unopened { peer, group, failure: None });
                }
                // A note or commit of another member for the epoch that this device ended; or a
                // repetition.
                Outcome::Failed(Failure::Own) => {}
                Outcome::Failed(failure) => {
                    let Arrived { peer, group, .. } = *arrived;
                    unopened.push(Unopened { peer, group, failure: Some(*failure) });
                    self.problems.push(Problem {
                        class: failure.code(),
                        peer: arrived.peer,
                        position: arrived.position,
                    });
                }
                _ => {}
            }
        }
        report.received += opened.released.iter().filter(|it| it.outcome.is_kept()).count() as u64;
        Ok(unopened)
    }

    /// Notes the messages that were delivered, and stores the problems and the position.
    fn finish(
        &mut self,
        engine: &mut Engine,
        files: &NodeFiles<'_>,
        report: &mut SyncReport,
    ) -> Result<(), SyncError> {
        report.problems += self.problems.len() as u64;
        let own = engine.address().identity;
        engine.transaction(|transaction| {
            report.add_noted(arrivals::settle(transaction, &own, files)?);
            for Problem { class, peer, position } in &self.problems {
                problem::note(transaction, class, peer, *position)?;
            }
            problem::forget_old(transaction)?;
            let position = self.position.unwrap_or_default();
            // The cursor goes back with a hub that was restored, and this does not.
            if position > records::counter(transaction, ACKNOWLEDGED)? {
                transaction.put_record(ACKNOWLEDGED, &[], &position.to_le_bytes())?;
            }
            transaction.set_cursor(QUEUE, &position.to_le_bytes())
        })?;
        (self.frames, self.len, self.position) = (0, 0, None);
        self.problems.clear();
        Ok(())
    }
}
