//! The thread that writes. It combines the commands that arrive together into one transaction.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::error;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use endseal_codec::hub::{Answer, Code, Refused};
use endseal_crypto::peer_id::PeerId;
use endseal_keyring::PeerIdText;
use tokio::sync::mpsc;

use crate::budget::Budgets;
use crate::command::{Command, MailboxEnd, refused};
use crate::current_address::CurrentAddress;
use crate::directory::Directory;
use crate::error::ServeError;
use crate::expiry_clock::ExpiryClock;
use crate::limits::HubLimits;
use crate::metrics::Metrics;
use crate::reader::{Read, Readers};
use crate::rules::{Changes, Context, Deletion, DeletionReason, Device, Rules};
use crate::store::{DeviceState, HubStore, Quota, Space, StorageError};

/// Maximum number of commands that wait for the writer.
const WAITING: usize = 4_096;
/// Maximum number of planned deletions in a transaction. Each is bounded in bytes; most delete
/// nothing.
const DELETIONS: usize = 256;
/// Frames after whose deletion a transaction ends.
const DELETED_FRAMES: u64 = 1_024;
/// Bytes without rows that the database keeps for later frames.
const KEPT_UNUSED: u64 = 4 << 20;
/// The time of the expiry clock is noted once in this many microseconds.
const NOTE_EVERY: u64 = 3_600_000_000;

/// Deliveries to members of a group that cost as much as a frame: its body is stored once.
const DELIVERIES_PER_FRAME: usize = 16;
/// Devices that are kept in memory at most.
const CACHED_DEVICES: usize = 65_536;
/// Shortest interval at which totals are read that other processes change.
const READ_TOTALS: Duration = Duration::from_secs(10);
/// Interval at which failures that go on are logged.
const LOG_FAILURES: Duration = Duration::from_secs(60);

/// Starts the writer. It ends when all senders of commands have been dropped.
pub(crate) fn start(
    mut store: Box<dyn HubStore>,
    limits: HubLimits,
    directory: Directory,
    metrics: Arc<Metrics>,
    budgets: Arc<Budgets>,
    reads: Readers,
    address: CurrentAddress,
) -> Result<mpsc::Sender<Command>, ServeError> {
    let totals = store.reader()?.totals()?;
    let (mut noted, mut quotas) = (0, HashMap::new());
    let grace = limits.clock_grace;
    store.transact(&mut |transaction| {
        noted = transaction.noted_time()?;
        quotas = transaction.quotas()?.into_iter().collect();
        address.adopt(transaction.address_note()?);
        Ok(())
    })?;
    let clock = ExpiryClock::new(noted, now(), grace, Instant::now());
    let woken = directory.clone();
    store.listen(Box::new(move |devices| devices.iter().for_each(|it| woken.wake(*it))))?;
    let (sender, receiver) = mpsc::channel(WAITING);
    let mut writer = Writer {
        store,
        limits,
        directory,
        cache: HashMap::new(),
        needed: BTreeSet::new(),
        told: HashMap::new(),
        budgets,
        waiting: totals.iter().map(|it| it.1).sum(),
        totals: totals.into_iter().collect(),
        quotas,
        deletions: VecDeque::new(),
        metrics,
        clock,
        noted,
        reads,
        commands: sender.downgrade(),
        address,
        is_stale: false,
        read_at: None,
        failures: Failures::default(),
        has_room: None,
        was_full: false,
    };
    writer.room();
    let thread = thread::Builder::new().name("hub-writer".to_owned());
    thread.spawn(move || writer.run(receiver)).map_err(ServeError::Thread)?;
    Ok(sender)
}

struct Writer {
    store: Box<dyn HubStore>,
    limits: HubLimits,
    directory: Directory,
    /// Devices as the database has them, while no other process writes.
    cache: HashMap<PeerId, Device>,
    /// Devices that a transaction which is repeated reads together.
    needed: BTreeSet<PeerId>,
    told: HashMap<PeerId, u64>,
    budgets: Arc<Budgets>,
    /// Bytes that wait in all mailboxes, by the identities of the senders.
    totals: HashMap<[u8; 32], u64>,
    /// Their sum.
    waiting: u64,
    /// Limits of single persons, as they were read with the totals.
    quotas: HashMap<[u8; 32], Quota>,
    /// Frames that are to be deleted.
    deletions: VecDeque<Deletion>,
    metrics: Arc<Metrics>,
    clock: ExpiryClock,
    /// The time of the clock that the database has.
    noted: u64,
    reads: Readers,
    commands: mpsc::WeakSender<Command>,
    address: CurrentAddress,
    /// True if another process has changed the database since totals were read.
    is_stale: bool,
    /// The time at which totals were last read again.
    read_at: Option<Instant>,
    failures: Failures,
    /// True if there was room for frames before the last transaction.
    has_room: Option<bool>,
    /// True if the database had no space for the last frames that it should store.
    was_full: bool,
}

/// Failed transactions since the last one that succeeded. They are logged once a minute.
#[derive(Debug, Default)]
struct Failures {
    count: u64,
    logged: Option<Instant>,
}

/// The result of a command. It is sent after the commit.
enum Outcome {
    /// The deliveries that the sender has not paid for.
    Put(Result<usize, Refused>),
    Mailbox(Option<MailboxEnd>),
    Answer(Answer),
    Expires,
    Reloaded,
    Probed,
}

impl Writer {
    fn run(mut self, mut commands: mpsc::Receiver<Command>) {
        let mut batch = Vec::new();
        let mut has_work = !self.deletions.is_empty();
        loop {
            // The commands that arrive during a commit form the next transaction.
            while has_work && batch.len() < self.limits.commit_commands {
                match commands.try_recv() {
                    Ok(command) => batch.push(command),
                    Err(_) => break,
                }
            }
            if !has_work
                && commands.blocking_recv_many(&mut batch, self.limits.commit_commands) == 0
            {
                return;
            }
            // Commands of the operator and other processes change the database beside the hub.
            let is_due = batch.iter().any(|command| matches!(command, Command::Reload));
            if let Err(cause) = self.reload(is_due) {
                self.failed(&cause);
            }
            let budgets = &self.budgets;
            batch.retain_mut(|command| match command {
                Command::Reload => false,
                Command::Put(put) => match put.stopped.get() {
                    // An earlier frame of its exchange was refused after it had been sent.
                    Some(code) => {
                        budgets.give_back(&put.sender, put.cost);
                        drop(put.answer.send((put.sequence, Err(refused(*code)))));
                        false
                    }
                    None => true,
                },
                Command::Totals(totals) => {
                    // What was committed while they were read is adopted with the next ones.
                    self.waiting = totals.iter().map(|it| it.1).sum();
                    self.totals = totals.drain(..).collect();
                    false
                }
                _ => true,
            });
            let is_idle = batch.is_empty() && self.deletions.is_empty();
            has_work = if is_idle { self.shrink() } else { self.write(&mut batch) };
            // Everything else waits until there are commands again.
            if commands.is_closed() && commands.is_empty() {
                return;
            }
        }
    }

    /// Forgets what another process may have changed. If it `is_due`, the registrations of
    /// connected devices are read again, and at times what else the memory has of the database.
    fn reload(&mut self, is_due: bool) -> Result<(), StorageError> {
        if self.store.was_changed()? {
            self.cache.clear();
            self.is_stale = true;
        }
        if self.cache.len() > CACHED_DEVICES {
            self.cache.clear();
        }
        if !(is_due && self.is_stale) {
            return Ok(());
        }
        // A full queue is read soon, and the next second comes.
        let _ = self.reads.surveys.try_send(Read::Refresh);
        // Commands of the operator are rare; other hubs change the database all the time.
        let is_late = self.read_at.is_none_or(|at| at.elapsed() >= READ_TOTALS);
        if is_late || !self.store.is_shared() {
            self.read_at = Some(Instant::now());
            if self.store.is_shared() {
                let _ = self.reads.surveys.try_send(Read::Totals(self.commands.clone()));
            }
            self.read_others_changes()?;
            self.is_stale = false;
        }
        Ok(())
    }

    /// Reads the quotas and the address note, and plans the deletion of what waits for devices that
    /// another process has revoked.
    fn read_others_changes(&mut self) -> Result<(), StorageError> {
        let (mut found, mut quotas, mut note) = (Vec::new(), Vec::new(), None);
        self.store.transact(&mut |transaction| {
            found = transaction.revoked()?;
            quotas = transaction.quotas()?;
            note = transaction.address_note()?;
            Ok(())
        })?;
        self.quotas = quotas.into_iter().collect();
        self.address.adopt(note);
        let reason = DeletionReason::Dropped;
        let planned = found.into_iter();
        self.deletions.extend(planned.map(|it| Deletion { peer: it.peer, up_to: it.last, reason }));
        Ok(())
    }

    /// Gives unused space back. Returns true if there is more of it.
    fn shrink(&mut self) -> bool {
        let is_much =
            |it: Space| it.unused > KEPT_UNUSED && it.used.is_some_and(|used| it.unused > used / 4);
        if !self.store.space().is_ok_and(is_much) {
            return false;
        }
        match self.store.shrink() {
            Ok(()) => true,
            Err(cause) => {
                tracing::warn!(target: "hub", %cause, "unused space cannot be given back");
                false
            }
        }
    }

    /// Executes commands and planned deletions. Returns true if more can be done at once.
    fn write(&mut self, batch: &mut Vec<Command>) -> bool {
        let mut written = self.transact(batch);
        let was_full = matches!(written, Err(StorageError::Full));
        self.was_full |= was_full;
        let needs_space = |it: &mut Command| matches!(it, Command::Put(_) | Command::Probe(_));
        if was_full && batch.iter_mut().any(&needs_space) {
            // What frees space goes on without what needs it.
            batch.extract_if(.., needs_space).for_each(refuse);
            self.failed(&StorageError::Full);
            written = self.transact(batch);
        }
        match written {
            Ok(()) => {
                if !was_full {
                    self.failures = Failures::default();
                }
                true
            }
            Err(cause) => {
                // A transaction may be durable although its commit failed.
                self.cache.clear();
                self.failed(&cause);
                batch.drain(..).for_each(refuse);
                false
            }
        }
    }

    fn failed(&mut self, cause: &StorageError) {
        self.metrics.write_errors.fetch_add(1, Relaxed);
        self.metrics.last_write_failed.store(true, Relaxed);
        let Failures { count, logged } = &mut self.failures;
        *count += 1;
        if logged.is_none_or(|at| at.elapsed() >= LOG_FAILURES) {
            *logged = Some(Instant::now());
            let cause = cause as &dyn error::Error;
            tracing::error!(target: "hub", cause, count, "a transaction failed");
        }
    }

    fn transact(&mut self, batch: &mut Vec<Command>) -> Result<(), StorageError> {
        let room = self.room();
        let Self {
            store,
            limits,
            cache,
            needed,
            told,
            totals,
            waiting,
            quotas,
            deletions,
            directory,
            metrics,
            budgets,
            was_full,
            ..
        } = self;
        let mut done: Option<(Vec<Outcome>, Changes, usize, u64)> = None;
        let mut worked = Instant::now();
        let mut expires = None;
        if batch.iter().any(|command| matches!(command, Command::Expire)) {
            expires = Some(self.clock.read(now(), Instant::now()));
        }
        let is_noted = expires.is_some_and(|time| time.abs_diff(self.noted) >= NOTE_EVERY);
        // Those of an earlier batch, which failed.
        needed.clear();
        store.transact(&mut |transaction| {
            let now = now();
            let was_full = *was_full;
            let context =
                Context { cache, needed, told, totals, quotas, limits, room, was_full, now };
            let planned = deletions.len().min(DELETIONS);
            let (planned, _) = deletions.make_contiguous().split_at(planned);
            let mut rules = Rules::new(context, transaction, batch, planned)?;
            let outcomes = batch.iter().map(|command| execute(&mut rules, command, expires));
            let outcomes = outcomes.collect::<Result<_, _>>()?;
            if let Some(time) = expires.filter(|_| is_noted) {
                rules.note_time(time)?;
            }
            let (mut executed, mut expired, mut deleted) = (0, 0, 0);
            for deletion in planned {
                let frames = rules.delete(deletion)?;
                expired += if deletion.reason == DeletionReason::Expired { frames } else { 0 };
                (executed, deleted) = (executed + 1, deleted + frames);
                if deleted >= DELETED_FRAMES {
                    break;
                }
            }
            done = Some((outcomes, rules.finish()?, executed, expired));
            worked = Instant::now();
            Ok(())
        })?;
        // A successful transaction always has outcomes.
        let Some((outcomes, changes, executed, expired)) = done else { return Ok(()) };
        if let Some(time) = expires.filter(|_| is_noted) {
            self.noted = time;
        }
        deletions.drain(..executed);
        deletions.extend(changes.deletions);
        if expired > 0 {
            tracing::info!(target: "hub", frames = expired, "frames expired");
        }
        for (sender, bytes) in changes.added {
            let total = totals.entry(sender).or_default();
            *total = total.saturating_add_signed(bytes);
            *waiting = waiting.saturating_add_signed(bytes);
            if *total == 0 {
                totals.remove(&sender);
            }
        }
        let is_probed = batch.iter().any(|command| matches!(command, Command::Probe(_)));
        if is_probed || changes.stored.frames > 0 {
            *was_full = false;
        }
        metrics.commit(worked.elapsed(), changes.stored);
        for (stopped, code) in changes.stops {
            let _ = stopped.set(code);
        }
        cache.extend(changes.loaded.into_iter().filter_map(|(peer, it)| Some((peer, it?))));
        let mut announced = Vec::new();
        for (peer, device) in changes.devices {
            let (before, state) = (cache.get(&peer).map(|it| &it.state), &device.state);
            note(&peer, before, state);
            let news = |it: &DeviceState| (it.last, it.gap, it.is_revoked, it.is_pending);
            if before.map(news) != Some(news(state)) {
                announced.push(state.row);
            }
            directory.set(&device.state);
            cache.insert(peer, device);
        }
        batch
            .drain(..)
            .zip(outcomes)
            .for_each(|(command, outcome)| reply(command, outcome, metrics, budgets));
        store.announce(&announced);
        self.warn_of_clock(expires);
        Ok(())
    }

    /// Returns the bytes that frames may take up in the next transaction.
    fn room(&mut self) -> u64 {
        let HubLimits { database_bytes, reserve, .. } = self.limits;
        let room = match self.store.space() {
            Ok(Space { used, free, .. }) => {
                let used = used.unwrap_or(self.waiting);
                database_bytes.saturating_sub(used).min(free.saturating_sub(reserve))
            }
            // The transaction shows if the database can be written.
            Err(_) => u64::MAX,
        };
        self.metrics.room.store(room, Relaxed);
        match (self.has_room.replace(room > 0), room > 0) {
            (Some(true) | None, false) => tracing::warn!(
                target: "hub",
                "there is no space for frames, which are refused until what waits was fetched"
            ),
            (Some(false), true) => tracing::info!(target: "hub", "there is space for frames again"),
            _ => {}
        }
        room
    }

    fn warn_of_clock(&self, expires: Option<u64>) {
        if expires.is_some()
            && let Some(ahead) = self.clock.ahead(now())
        {
            let (seconds, grace) = (ahead.as_secs(), self.limits.clock_grace.as_secs());
            tracing::warn!(
                target: "hub", seconds, grace,
                "the clock is ahead of the time that the hub knew; frames expire by it after the grace"
            );
        }
    }
}

fn execute(
    rules: &mut Rules<'_>,
    command: &Command,
    expires: Option<u64>,
) -> Result<Outcome, StorageError> {
    Ok(match command {
        Command::Put(put) => Outcome::Put(rules.put(put)?),
        Command::Acknowledge { peer, position, told, .. } => {
            Outcome::Mailbox(rules.acknowledge(peer, *position, *told)?)
        }
        Command::Hello { peer, .. } => Outcome::Answer(rules.hello(peer)?),
        Command::Register { peer, register, .. } => {
            Outcome::Answer(rules.register(peer, register)?)
        }
        Command::Publish { peer, publication, .. } => {
            Outcome::Answer(rules.publish(peer, publication)?)
        }
        Command::Find { by, .. } => Outcome::Answer(rules.find(by)?),
        Command::Take { peer, device, .. } => Outcome::Answer(rules.take(peer, device)?),
        Command::Recover { identity, .. } => Outcome::Answer(rules.recover(identity)?),
        Command::Expire => {
            rules.expire(expires.unwrap_or_default())?;
            Outcome::Expires
        }
        Command::Reload | Command::Totals(_) => Outcome::Reloaded,
        Command::Probe(_) => {
            rules.probe()?;
            Outcome::Probed
        }
    })
}

/// Logs that a device is new, or that it was revoked.
fn note(peer: &PeerId, before: Option<&DeviceState>, after: &DeviceState) {
    let device = PeerIdText::from(*peer);
    if before.is_none() {
        tracing::info!(target: "hub", %device, "a device registered");
    }
    if after.is_revoked && before.is_none_or(|before| !before.is_revoked) {
        tracing::info!(target: "hub", %device, "a device is revoked");
    }
}

/// Answers a command. Its connection may have ended.
fn reply(command: Command, outcome: Outcome, metrics: &Metrics, budgets: &Budgets) {
    match (command, outcome) {
        (Command::Put(put), Outcome::Put(result)) => {
            if let Ok(unpaid) = result {
                metrics.stored(put.received.elapsed());
                budgets.spend(&put.sender, unpaid / DELIVERIES_PER_FRAME);
            }
            drop(put.answer.send((put.sequence, result.map(drop))));
        }
        (Command::Acknowledge { answer: Some(to), .. }, Outcome::Mailbox(Some(end))) => {
            let _ = to.send(end);
        }
        (
            Command::Hello { answer, .. }
            | Command::Register { answer, .. }
            | Command::Publish { answer, .. }
            | Command::Find { answer, .. }
            | Command::Take { answer, .. }
            | Command::Recover { answer, .. },
            Outcome::Answer(said),
        ) => drop(answer.send(said)),
        (Command::Probe(answer), Outcome::Probed) => drop(answer.send(())),
        _ => {}
    }
}

/// Answers a command that was not executed because the database failed.
fn refuse(command: Command) {
    let refusal = || refused(Code::STORAGE);
    match command {
        Command::Put(put) => {
            let _ = put.stopped.set(Code::STORAGE);
            drop(put.answer.send((put.sequence, Err(refusal()))));
        }
        Command::Hello { answer, .. }
        | Command::Register { answer, .. }
        | Command::Publish { answer, .. }
        | Command::Find { answer, .. }
        | Command::Take { answer, .. }
        | Command::Recover { answer, .. } => drop(answer.send(Answer::Refused(refusal()))),
        Command::Acknowledge { .. }
        | Command::Expire
        | Command::Reload
        | Command::Totals(_)
        | Command::Probe(_) => {}
    }
}

/// Returns the current time in microseconds since 1970.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}
