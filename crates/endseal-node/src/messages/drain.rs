//! Receives the frames of this device's mailbox and delivers them to the inbox (docs/spec/node.md,
//! "Receiving").

use core::time::Duration;
use std::collections::{HashMap, HashSet};
use std::thread;

use bytes::Bytes;
use endseal_codec::frame::StoredFrame;
use endseal_codec::hub::{Acknowledge, Credit as CreditRequest, GapReason, Request, Subscribe};
use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::peer_id::PeerId;
use endseal_delivery::node::{Arrival, HubFault, Subscription};
use endseal_delivery::{Credit, MessageId, SlotLen};
use endseal_keyring::device::Address;
use endseal_session::{BatchOptions, Engine, EngineError, Envelope, Outcome};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout, timeout_at};

use super::archive_part::ArchivePart;
use super::arrived_letter::{ArrivedLetter, Verdict, open};
use super::blocked_person::{self, BlockedPerson, MAX_OPENED};
use super::error::{HubError, SyncError};
use super::hub::{HubClient, HubExchange};
use super::known_persons::KnownPersons;
use super::letter::Letter;
use super::letter_inbox::keep;
use super::letter_keys::LetterKeys;
use super::link::linked_by;
use super::membership::replace_prekeys;
use super::parked_letter::Parked;
use super::payload::{ADDRESS_LEN, Payload};
use super::problem::{self, ProblemClass};
use super::records::{self, ACKNOWLEDGED, QUEUE, Transaction};
use super::report::{Lost, SyncReport};
use super::request::release_known;
use super::shared_engine::SharedEngine;
use super::unconfirmed::{self, Noted};
use crate::home::Home;

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
/// Valid lengths of a slot in bytes.
const SLOT_LENS: [usize; 2] = [SlotLen::Classical.bytes(), SlotLen::Hybrid.bytes()];
/// Limit on the threads that decrypt.
const MAX_THREADS: usize = 8;

/// Subscription to this device's mailbox at the hub.
pub(super) struct Mailbox<'m, 'e> {
    hub: &'m HubClient<'m>,
    engine: &'m SharedEngine<'e>,
    keys: &'m LetterKeys<'m>,
    exchange: HubExchange,
    subscription: Subscription,
    backlog: Backlog,
    /// Deadline for opening the backlog; `None` while it is empty.
    due: Option<Instant>,
    parked: Parked,
    /// Number of gaps that the hub has reported.
    gaps: usize,
    /// Credit of delivered frames, which is not yet returned to the hub.
    due_credit: Credit,
}

impl<'m, 'e> Mailbox<'m, 'e> {
    /// Opens the parked letters that can be opened now, and then subscribes.
    pub(super) async fn subscribe(
        hub: &'m HubClient<'m>,
        engine: &'m SharedEngine<'e>,
        keys: &'m LetterKeys<'m>,
        report: &mut SyncReport,
    ) -> Result<Self, SyncError> {
        let (mut parked, waiting) = Parked::load(hub, engine).await?;
        open_waiting((hub, engine, keys), &waiting, &mut parked, report).await?;
        let cursor = engine.transaction(|transaction| transaction.cursor(QUEUE))?;
        let after = match cursor {
            Some(bytes) => records::number(&bytes).ok_or(EngineError::Damaged("cursor"))?,
            None => 0,
        };
        let mut exchange = hub.open().await?;
        let Credit { frames, bytes } = CREDIT;
        exchange.send(Request::Subscribe(Subscribe { after, frames, bytes })).await?;
        let subscription = Subscription::new(after, CREDIT);
        let linked_by = engine.transaction(|transaction| linked_by(transaction))?;
        let (backlog, due_credit) = (Backlog::new(linked_by), Credit { frames: 0, bytes: 0 });
        let (due, gaps) = (None, 0);
        Ok(Self {
            hub,
            engine,
            keys,
            exchange,
            subscription,
            backlog,
            due,
            parked,
            gaps,
            due_credit,
        })
    }

    /// Opens the parked letters that can be opened now.
    pub(super) async fn open_waiting(&mut self, report: &mut SyncReport) -> Result<(), SyncError> {
        if !self.parked.has_letters() {
            return Ok(());
        }
        let waiting = self.parked.all(self.engine)?;
        let with = (self.hub, self.engine, self.keys);
        open_waiting(with, &waiting, &mut self.parked, report).await
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

    /// Waits for a frame and receives a batch. There is no time limit, except that it returns at
    /// `retry` if letters wait for their rosters.
    pub(super) async fn wait(
        &mut self,
        retry: Instant,
        report: &mut SyncReport,
    ) -> Result<(), SyncError> {
        self.pay().await?;
        let mut next = if self.parked.has_letters() {
            match timeout_at(retry, self.exchange.wait()).await {
                Ok(next) => next,
                Err(_) => return Ok(()),
            }
        } else {
            self.exchange.wait().await
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

    /// Processes an answer of the hub.
    async fn arrived(
        &mut self,
        payload: &Bytes,
        report: &mut SyncReport,
    ) -> Result<Step, SyncError> {
        match self.subscription.answer(payload)? {
            Arrival::Frame { position, frame, id, slot } => {
                self.backlog.add(position, id, &frame, slot, payload);
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

    /// Opens the frames of the backlog and acknowledges them.
    async fn deliver(&mut self, report: &mut SyncReport) -> Result<(), SyncError> {
        let Some(position) = self.backlog.position else { return Ok(()) };
        let Credit { frames, bytes } = self.backlog.credit();
        self.due_credit.frames += frames;
        self.due_credit.bytes += bytes;
        let mut letters = self.parked.before(self.engine, &self.backlog.letters)?;
        letters.append(&mut self.backlog.letters);
        let verdicts = open(self.hub, self.engine, self.keys, &letters).await?;
        self.parked.meet_waiting(self.hub, &letters, &verdicts).await?;
        let (backlog, parked) = (&mut self.backlog, &mut self.parked);
        let home = self.keys.home();
        self.engine
            .with(|engine| backlog.deliver(engine, home, (&letters, verdicts), parked, report))?;
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

/// Opens parked letters, and stores the results.
async fn open_waiting(
    (hub, engine, keys): (&HubClient<'_>, &SharedEngine<'_>, &LetterKeys<'_>),
    waiting: &[ArrivedLetter],
    parked: &mut Parked,
    report: &mut SyncReport,
) -> Result<(), SyncError> {
    let verdicts = open(hub, engine, keys, waiting).await?;
    let own = engine.address().identity;
    let known = KnownPersons::new(keys.home());
    engine.transaction(|transaction| {
        release_known(transaction, &known)?;
        report.add_noted(unconfirmed::note(transaction, &own, &known)?);
        keep(transaction, waiting, verdicts, parked, report)?;
        problem::forget_old(transaction)
    })?;
    engine.note_arrivals();
    Ok(())
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

/// Frames that are opened together.
struct Backlog {
    frames: Vec<Arrived>,
    letters: Vec<ArrivedLetter>,
    /// Length of all frames in bytes.
    len: usize,
    problems: Vec<Problem>,
    /// Position in the mailbox up to which everything is done when this backlog is delivered.
    position: Option<u64>,
    /// Cache of decoded addresses: decoding costs more than the rest of a frame.
    addresses: HashMap<[u8; ADDRESS_LEN], Option<Address>>,
    /// Device that has linked this one. This one has taken its archive.
    linked_by: Option<PeerId>,
    /// Frames with parts of that archive.
    parts: usize,
}

/// A ciphertext with the sender and the position that the hub states.
struct Arrived {
    id: MessageId,
    peer: PeerId,
    from: Address,
    position: u64,
    ciphertext: Bytes,
}

struct Problem {
    class: &'static str,
    peer: PeerId,
    position: u64,
}

impl Backlog {
    fn new(linked_by: Option<PeerId>) -> Self {
        Self {
            frames: Vec::new(),
            letters: Vec::new(),
            len: 0,
            problems: Vec::new(),
            position: None,
            addresses: HashMap::new(),
            linked_by,
            parts: 0,
        }
    }

    /// Adds a frame, which is a part of `payload`.
    fn add(
        &mut self,
        position: u64,
        id: MessageId,
        frame: &StoredFrame<'_>,
        slot: &[u8],
        payload: &Bytes,
    ) {
        self.len += payload.len();
        self.position = Some(position);
        let peer = PeerId::from_bytes(&frame.stamp().sender);
        if ArchivePart::read(frame.payload()).is_some() {
            match self.linked_by == Some(peer) {
                true => self.parts += 1,
                false => {
                    let class = ProblemClass::ARCHIVE;
                    self.problems.push(Problem { class, peer, position });
                }
            }
            return;
        }
        if let Some(Letter { head, .. }) = Letter::read(frame.payload())
            && SLOT_LENS.contains(&slot.len())
        {
            let (slot, payload) = (payload.slice_ref(slot), payload.slice_ref(frame.payload()));
            self.letters.push(ArrivedLetter { peer, position, head, slot, payload, parked: None });
            return;
        }
        match self.ciphertext(frame) {
            Some((from, ciphertext)) => {
                let ciphertext = payload.slice_ref(ciphertext);
                self.frames.push(Arrived { id, peer, from, position, ciphertext });
            }
            None => self.problems.push(Problem { class: ProblemClass::FRAME, peer, position }),
        }
    }

    /// Adds bytes that are not a frame because they were damaged at the hub.
    fn add_damaged(&mut self, position: u64, payload: &Bytes) {
        self.len += payload.len();
        self.position = Some(position);
        let peer = PeerId::from_bytes(&[0; PeerId::LEN]);
        self.problems.push(Problem { class: ProblemClass::FRAME, peer, position });
    }

    fn ciphertext<'a>(&mut self, frame: &StoredFrame<'a>) -> Option<(Address, &'a [u8])> {
        let payload = Payload::read(frame.payload())?;
        let from = self.addresses.entry(*payload.context).or_insert_with(|| payload.sender());
        Some(((*from)?, payload.ciphertext))
    }

    fn is_full(&self) -> bool {
        self.count() >= BATCH_FRAMES || self.len >= BATCH_BYTES
    }

    fn count(&self) -> usize {
        self.frames.len() + self.letters.len() + self.problems.len() + self.parts
    }

    fn credit(&self) -> Credit {
        Credit { frames: self.count() as u64, bytes: self.len as u64 }
    }

    /// Opens the messages of sessions in one transaction. A second transaction delivers the letters
    /// to the inbox, and stores the problems and the new position. After that, all of them may be
    /// acknowledged. A process that is killed between the two opens the frames again: delivered
    /// messages are recognised, and the others fail again.
    fn deliver(
        &mut self,
        engine: &mut Engine,
        home: &Home,
        (letters, verdicts): (&[ArrivedLetter], Vec<Verdict>),
        parked: &mut Parked,
        report: &mut SyncReport,
    ) -> Result<(), SyncError> {
        let known = KnownPersons::new(home);
        let blocked = engine.transaction(|transaction: &mut Transaction<'_, '_>| {
            // Texts of an accepted request come before those that arrive now.
            release_known(transaction, &known)?;
            self.drop_unopened(transaction, report)
        })?;
        let envelopes: Vec<_> = self
            .frames
            .iter()
            .map(|it| Envelope::from_device(it.id.as_bytes(), it.from, &it.ciphertext))
            .collect();
        let threads = thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
        let options = BatchOptions::whole().threads(threads);
        let opened = engine.decrypt_batch(&envelopes, &options).map_err(|error| error.cause)?;
        for (outcome, arrived) in opened.outcomes.iter().zip(&self.frames) {
            match outcome {
                Outcome::Delivered(_) => report.received += 1,
                // A blocked person causes no notice of a problem.
                Outcome::Parked(_) | Outcome::Buffered(_) | Outcome::Failed(_)
                    if blocked.contains(&arrived.from.identity) => {}
                Outcome::Parked(_) | Outcome::Buffered(_) => report.parked += 1,
                Outcome::Failed(failure) => self.problems.push(Problem {
                    class: failure.code(),
                    peer: arrived.peer,
                    position: arrived.position,
                }),
                _ => {}
            }
        }
        report.received += opened.released.iter().filter(|it| it.outcome.is_kept()).count() as u64;
        report.problems += self.problems.len() as u64;
        let own = engine.address().identity;
        engine.transaction(|transaction| {
            report.add_noted(unconfirmed::note(transaction, &own, &known)?);
            keep(transaction, letters, verdicts, parked, report)?;
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
        (self.frames, self.len, self.position, self.parts) = (Vec::new(), 0, None, 0);
        self.problems.clear();
        self.addresses.clear();
        Ok(())
    }

    /// Drops frames of blocked persons of whom enough texts were opened. The address in a frame is
    /// not authenticated, but a frame with a wrong one cannot be opened either. Returns the blocked
    /// persons.
    fn drop_unopened(
        &mut self,
        transaction: &Transaction<'_, '_>,
        report: &mut SyncReport,
    ) -> Result<HashSet<PublicKey>, EngineError> {
        let blocked = BlockedPerson::all(transaction)?;
        let mut dropped = HashMap::<_, u64>::new();
        self.frames.retain(|frame| {
            let person = frame.from.identity;
            let is_opened = blocked.get(&person).is_none_or(|it| it.dropped < MAX_OPENED);
            if !is_opened {
                *dropped.entry(person).or_default() += 1;
            }
            is_opened
        });
        for (person, texts) in &dropped {
            blocked_person::count_dropped(transaction, person, *texts)?;
        }
        report.add_noted(Noted { blocked: dropped, ..Noted::default() });
        Ok(blocked.into_keys().collect())
    }
}
