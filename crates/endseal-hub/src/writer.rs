//! The thread that writes. It combines the commands that arrive together into one transaction.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use endseal_codec::hub::{Answer, Code, Refused};
use endseal_crypto::peer_id::PeerId;
use endseal_keyring::PeerIdText;
use tokio::sync::mpsc;

use crate::command::{Command, MailboxEnd, refused};
use crate::directory::Directory;
use crate::error::ServeError;
use crate::limits::HubLimits;
use crate::metrics::Metrics;
use crate::rules::{Changes, Device, Rules};
use crate::store::{DeviceState, HubStore, StorageError};

/// Maximum number of commands that wait for the writer.
const WAITING: usize = 4_096;

/// Starts the writer. It ends when all senders of commands have been dropped.
pub(crate) fn start(
    mut store: impl HubStore,
    limits: HubLimits,
    directory: Directory,
    metrics: Arc<Metrics>,
) -> Result<mpsc::Sender<Command>, ServeError> {
    let now = now();
    let devices = store.devices()?.into_iter().map(|state| {
        directory.set(&state);
        metrics.mailbox(None, &state);
        (state.peer, Device::new(state, &limits, now))
    });
    let devices: HashMap<PeerId, Device> = devices.collect();
    let (sender, receiver) = mpsc::channel(WAITING);
    let writer = Writer { store, limits, directory, devices, metrics };
    let thread = thread::Builder::new().name("hub-writer".to_owned());
    thread.spawn(move || writer.run(receiver)).map_err(ServeError::Thread)?;
    Ok(sender)
}

struct Writer<S> {
    store: S,
    limits: HubLimits,
    directory: Directory,
    devices: HashMap<PeerId, Device>,
    metrics: Arc<Metrics>,
}

/// The result of a command. It is sent after the commit.
enum Outcome {
    Put(Result<(), Refused>),
    Mailbox(Option<MailboxEnd>),
    Answer(Answer),
    Expired(u64),
    Probed,
}

impl<S: HubStore> Writer<S> {
    fn run(mut self, mut commands: mpsc::Receiver<Command>) {
        let mut batch = Vec::new();
        // The commands that arrive during a commit form the next transaction.
        while commands.blocking_recv_many(&mut batch, self.limits.commit_commands) > 0 {
            self.write(&mut batch);
        }
    }

    fn write(&mut self, batch: &mut Vec<Command>) {
        let Self { store, limits, devices, directory, metrics } = self;
        let mut done: Option<(Vec<Outcome>, Changes)> = None;
        let mut worked = Instant::now();
        let written = store.transact(&mut |transaction| {
            let mut rules = Rules::new(devices, transaction, limits, now());
            let outcomes = batch.iter().map(|command| execute(&mut rules, command));
            let outcomes = outcomes.collect::<Result<_, _>>()?;
            done = Some((outcomes, rules.finish()?));
            worked = Instant::now();
            Ok(())
        });
        match (written, done) {
            (Ok(()), Some((outcomes, changes))) => {
                metrics.commit(worked.elapsed(), changes.stored);
                for (peer, device) in changes.devices {
                    let state = &device.state;
                    let before = devices.get(&peer).map(|device| &device.state);
                    metrics.mailbox(before, state);
                    note(&peer, before, state);
                    let registration = |it: &DeviceState| (it.is_revoked, it.is_pending);
                    if before.map(registration) != Some(registration(state)) {
                        directory.set(state);
                    }
                    devices.insert(peer, device);
                }
                batch
                    .drain(..)
                    .zip(outcomes)
                    .for_each(|(command, outcome)| reply(command, outcome, metrics));
                changes.expired.iter().for_each(|peer| directory.note_expiry(peer));
                changes.woken.iter().for_each(|peer| directory.wake(peer));
            }
            (Err(cause), _) => {
                metrics.write_errors.fetch_add(1, Relaxed);
                metrics.last_write_failed.store(true, Relaxed);
                tracing::error!(target: "hub", %cause, "a transaction failed");
                batch.drain(..).for_each(refuse);
            }
            // A successful transaction always has outcomes, so this cannot happen.
            (Ok(()), None) => batch.clear(),
        }
    }
}

fn execute(rules: &mut Rules<'_>, command: &Command) -> Result<Outcome, StorageError> {
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
        Command::Expire => Outcome::Expired(rules.expire()?),
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
fn reply(command: Command, outcome: Outcome, metrics: &Metrics) {
    match (command, outcome) {
        (Command::Put(put), Outcome::Put(result)) => {
            if result.is_ok() {
                metrics.stored(put.received.elapsed());
            }
            drop(put.answer.send((put.sequence, result)));
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
        (_, Outcome::Expired(frames)) if frames > 0 => {
            tracing::info!(target: "hub", frames, "frames expired");
        }
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
        Command::Acknowledge { .. } | Command::Expire | Command::Probe(_) => {}
    }
}

/// Returns the current time in microseconds since 1970.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}
