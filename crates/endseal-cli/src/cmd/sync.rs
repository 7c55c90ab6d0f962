//! `endseal sync`: receives and sends messages once.

use core::cell::Cell;
use core::fmt::Write as _;
use std::collections::HashSet;

use endseal_codec::hub::Code;
use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::random::OsRandom;
use endseal_node::api::{CallError, Client, Reply, Request};
use endseal_node::messages::{
    Conversation, Departure, HubClient, HubError, NodeFiles, PersonTexts, ReportedConversation,
    SkippedReason, Status, SyncError, SyncReport, hub_limits, membership, status, sync,
};
use endseal_transport::{Backoff, Failures, TransportKey};

use super::join::hosts;
use super::session::StoreArgs;
use crate::ctx::{Ctx, Outcome};
use crate::device_changes;
use crate::failure::{Failure, Kind};
use crate::hub_moves;
use crate::json::{self, Value};
use crate::names::Names;
use crate::network::{self, Destination, Timeouts};
use crate::printable::{plural, printable};
use crate::sessions::{open, unlock};
use crate::team_changes;
use crate::time::{local, rfc3339};
use crate::typed::redacted;
use crate::waiting_requests;

/// Limit on the attempts, which take up to 10 s each, with half a minute of waiting between them.
const ATTEMPTS: u32 = 8;
/// Hint for a state directory that went back in time, so that it receives and does not send.
pub(super) const RENEW: &str = "close other copies of this directory, then: endseal devices renew";

/// Receive what waits at the hub, and send what waits here
///
/// Each text is received once, also if a process or the hub dies in between. A failed connection is
/// tried again for about two minutes; other commands work meanwhile.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Try to connect only once
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    timeouts: Timeouts,
}

pub(crate) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let attempts = if args.once { 1 } else { ATTEMPTS };
    let (report, waiting) = sync_and_tell(args, attempts, Devices::Told, ctx)?;
    let mut text = format!("{} received, {} sent", report.received, report.sent);
    match waiting.unsent + waiting.frames {
        0 => {}
        // Writing to a string cannot fail.
        1 => drop(write!(text, "; 1 cannot be sent now, and waits")),
        left => drop(write!(text, "; {left} cannot be sent now, and wait")),
    }
    Ok(Outcome::done(text, object(&report, &waiting)))
}

/// Syncs once, as part of another command. Returns the number of texts that still wait here.
pub(super) fn now(
    store: StoreArgs,
    timeouts: Timeouts,
    devices: Devices,
    ctx: &mut Ctx,
) -> Result<u64, Failure> {
    let args = Args { once: true, store, timeouts };
    let (_, waiting) = sync_and_tell(&args, 1, devices, ctx)?;
    Ok(waiting.unsent + waiting.frames)
}

/// Changes of devices in the report of a sync.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Devices {
    Told,
    /// The command prints them itself.
    LeftOut,
}

fn sync_and_tell(
    args: &Args,
    attempts: u32,
    devices: Devices,
    ctx: &mut Ctx,
) -> Result<(SyncReport, Status), Failure> {
    let home = ctx.home()?;
    let (mut report, waiting) = match Client::find(&home)? {
        Some(client) => {
            let replies =
                (client.call(&Request::Sync { attempts })?, client.call(&Request::Status {})?);
            let (Reply::Report(report), Reply::Status(now)) = replies else {
                return Err(CallError::Unexpected.into());
            };
            (*report, now.status)
        }
        None => visit(args, attempts, ctx)?,
    };
    let own = *home.person()?.identity().ed25519();
    if devices == Devices::LeftOut {
        report.device_changes.clear();
    }
    // With the names that the visit brought.
    tell(&report, &own, &Names::load(&home)?, ctx);
    Ok((report, waiting))
}

/// Runs a sync directly with the store. Other commands can use it between two attempts to connect.
fn visit(args: &Args, attempts: u32, ctx: &mut Ctx) -> Result<(SyncReport, Status), Failure> {
    let (home, device) = unlock(ctx)?;
    let person = home.person()?;
    let key = TransportKey::new(&device);
    let files = NodeFiles::new(&home);
    let (as_json, wait) = (ctx.global.json, args.store.wait);
    let mut engine = open(&home, &device, wait)?;
    engine.expire(ctx.now)?;
    let known = membership(&mut engine)?.ok_or(SyncError::NotJoined)?;
    let hosts = hosts(known.addresses.split(' '))?;
    let mut opened = Some(engine);
    let mut report = SyncReport::default();
    let done = network::run(as_json, async |mut interrupt| {
        let (peer, timeouts) = (known.hub, args.timeouts);
        let to = Destination { peer, hosts: &hosts, timeouts, limits: hub_limits() };
        let mut backoff = Backoff::default();
        backoff.attempts = Some(attempts);
        let has_store = Cell::new(true);
        let is_transient = |failure: &Failure| failure.kind == Kind::Environment && has_store.get();
        let mut failures = Failures::default();
        let mut is_told = attempts == 1;
        let attempt = async || {
            report.skipped.clear();
            let visit = interrupt.with_address(&key, &to, async |connection, at| {
                let engine = match &mut opened {
                    Some(engine) => engine,
                    closed => {
                        let engine = open(&home, &device, wait);
                        has_store.set(engine.is_ok());
                        closed.insert(engine?)
                    }
                };
                let hub = HubClient::new(connection, timeouts.idle).at(at);
                Ok(sync(&hub, engine, &person, &files, &mut report).await?)
            });
            let done = visit.await;
            if let Err(failure) = &done
                && is_transient(failure)
            {
                if let Some(engine) = opened.take() {
                    engine.into_store().close()?;
                }
                if !is_told {
                    is_told = true;
                    let why = printable(&redacted(&failure.line()));
                    ctx.note(&format!("note: {why}; trying again"));
                }
            }
            done
        };
        backoff.retry(&mut OsRandom, &mut failures, is_transient, attempt).await
    });
    if done.is_err() {
        hub_moves::tell(&report.hub_moves, ctx);
    }
    // Messages that were received remain, even if a later step failed.
    done.map_err(|failure| match report.received {
        0 => failure,
        1 => failure.hint_first("1 message is in the inbox"),
        received => failure.hint_first(format!("{received} messages are in the inbox")),
    })?;
    let mut engine = match opened {
        Some(engine) => engine,
        None => open(&home, &device, wait)?,
    };
    let waiting = status(&mut engine)?;
    engine.into_store().close()?;
    Ok((report, waiting))
}

/// Tells what did not go as people expect.
pub(super) fn tell(report: &SyncReport, own: &PublicKey, names: &Names, ctx: &mut Ctx) {
    for lost in &report.gaps {
        ctx.note(&match (lost.is_expired, lost.count) {
            (true, count) => {
                let messages = plural(count, "message");
                format!("warning: {messages} waited too long at the hub, and are lost")
            }
            (false, _) => "warning: the hub was restored, and may have lost messages".to_owned(),
        });
    }
    if let Some(time) = report.hub_forgot {
        let time = local(time);
        ctx.note(&format!(
            "warning: the hub has lost messages that it accepted until {time}: some of them may \
             not have arrived"
        ));
    }
    hub_moves::tell(&report.hub_moves, ctx);
    if report.clock_behind != 0 {
        let by = span(report.clock_behind.unsigned_abs());
        let is = if report.clock_behind > 0 { "behind" } else { "ahead of" };
        ctx.note(&format!(
            "warning: the clock of this device is {by} {is} that of the hub: set the one that is wrong"
        ));
    }
    if report.record_conflict {
        ctx.note(
            "warning: another of your devices changed the list of devices at the same time; what \
             this one changed is not in force: see endseal devices list, and repeat it",
        );
    }
    for change in &report.device_changes {
        ctx.note(&format!("note: {}", device_changes::line(change, own, names)));
    }
    for left in &report.left {
        let name = match left.conversation {
            Conversation::Person(person) => names.person(&person, None),
            Conversation::Group(id) => names.group(&id),
        };
        ctx.note(&format!("note: this device is no member of the conversation {name} any more"));
    }
    for ReportedConversation { conversation, .. } in &report.replaced {
        let Conversation::Group(team) = conversation else { continue };
        let name = names.group(team);
        ctx.note(&format!(
            "warning: others changed the group {name} at the same time; what you changed is not in \
             force: see endseal group show {name}, and repeat it"
        ));
    }
    for Departure { team, person, .. } in &report.departures {
        let Conversation::Group(team) = team else { continue };
        let (team, person) = (names.group(team), names.identified(person));
        ctx.note(&format!(
            "note: {person} has left the group {team}: the owner's next change removes the name"
        ));
    }
    for change in &report.team_changes {
        if let Some(line) = team_changes::line(change, own, names) {
            ctx.note(&format!("note: {line}"));
        }
    }
    tell_unasked(report, names, ctx);
    let mut told = HashSet::new();
    for skipped in &report.skipped {
        let name = match skipped.to {
            Conversation::Person(person) => names.person(&person, None),
            Conversation::Group(id) => names.group(&id),
        };
        let note = match (skipped.reason, skipped.device) {
            (SkippedReason::Unknown, _) => {
                format!("note: {name} has no device at the hub: what you wrote waits here")
            }
            (SkippedReason::NoDevice, _) => format!("note: {name} has no device at the hub"),
            (SkippedReason::NoPrekey, Some(device)) => {
                format!("note: the hub has no key of device {} of {name}", device.device)
            }
            (SkippedReason::NoSession | SkippedReason::Behind, _) => format!(
                "note: others have just changed the devices in the conversation with {name}; what \
                 you wrote waits for the next sync"
            ),
            (SkippedReason::Full, Some(device)) => format!(
                "warning: the mailbox of device {} of {name} is full: what you write now does not \
                 reach it",
                device.device
            ),
            (_, Some(device)) => {
                format!("warning: the hub's key of device {} of {name} is not valid", device.device)
            }
            (SkippedReason::Group, _) => format!("warning: the roster of {name} cannot be used"),
            (SkippedReason::NotMember, _) => {
                format!("warning: you are no member of {name}; its texts wait here")
            }
            _ => {
                format!("warning: the hub's record of {name} is outdated, or not signed by {name}")
            }
        };
        // A person may be skipped several times: as a receiver and as a member of groups.
        if told.insert(note.clone()) {
            ctx.note(&note);
        }
    }
    if report.mailbox_full {
        ctx.note("note: a mailbox is full; its texts wait here");
    }
    if report.parked > 0 {
        let parked = plural(report.parked, "message");
        ctx.note(&format!(
            "note: {parked} cannot be opened yet; the conversation begins anew with the next sync \
             if that stays"
        ));
    }
    if report.problems > 0 {
        let problems = plural(report.problems, "problem");
        ctx.note(&format!("warning: {problems}, see endseal inbox --problems"));
    }
}

/// Writes a difference of clocks in the largest unit of which it has two.
fn span(millis: u64) -> String {
    let rounded = |unit: u64| (millis + unit / 2) / unit;
    let minutes = rounded(60_000);
    match (rounded(3_600_000), rounded(86_400_000)) {
        (_, days) if days > 1 => plural(days, "day"),
        (hours, _) if hours > 1 => plural(hours, "hour"),
        _ => plural(minutes, "minute"),
    }
}

/// Tells of texts that did not come into the inbox: of unknown senders, and of blocked people.
fn tell_unasked(report: &SyncReport, names: &Names, ctx: &mut Ctx) {
    if !report.requests.is_empty() {
        let persons: Vec<_> = report.requests.iter().map(|it| it.person).collect();
        let text = waiting_requests::text(&persons, names);
        ctx.note(&format!("note: {text}: endseal inbox --requests"));
    }
    for team in &report.teams {
        let (owner, name) = (names.identified(&team.owner), printable(&team.name));
        ctx.note(&format!(
            "note: texts of the team {name} wait until its owner {owner} is a contact or accepted: \
             endseal contacts add"
        ));
    }
    for PersonTexts { person, texts, .. } in &report.no_room {
        let (name, count) = (names.identified(person), plural(*texts, "text"));
        let verb = if *texts == 1 { "was" } else { "were" };
        ctx.note(&format!(
            "warning: {count} of {name} {verb} dropped: there is no room for more requests; see \
             endseal inbox --requests"
        ));
    }
    for PersonTexts { person, texts, .. } in &report.blocked {
        let (name, count) = (names.identified(person), plural(*texts, "text"));
        let verb = if *texts == 1 { "was" } else { "were" };
        ctx.note(&format!("note: {count} of {name}, who is blocked, {verb} dropped"));
    }
}

fn object(report: &SyncReport, waiting: &Status) -> Value {
    let texts = |rows: &[PersonTexts]| rows.iter().map(|row| row.texts).sum::<u64>();
    let lost: u64 = report.gaps.iter().map(|gap| gap.count).sum();
    json::object([
        ("received", report.received.into()),
        ("sent", report.sent.into()),
        ("problems", report.problems.into()),
        ("lost", lost.into()),
        ("requests", texts(&report.requests).into()),
        ("no_room", texts(&report.no_room).into()),
        ("blocked", texts(&report.blocked).into()),
        ("unread", waiting.unread.into()),
        ("unsent", waiting.unsent.into()),
        ("waiting", waiting.frames.into()),
        ("mailbox_full", report.mailbox_full.into()),
        ("hub_forgot", report.hub_forgot.map(rfc3339).into()),
        ("hub_moves", hub_moves::rows(&report.hub_moves)),
    ])
}

impl From<SyncError> for Failure {
    fn from(error: SyncError) -> Self {
        match error {
            SyncError::Hub(error) => error.into(),
            SyncError::Engine(error) => error.into(),
            SyncError::NotJoined => Self::of(Kind::Configuration, &error).hint(
                "ask the hub's owner for an invitation, then: endseal join FILE; if endseal \
                     restore or recover was interrupted, run it again",
            ),
            SyncError::Restored => Self::of(Kind::Refused, &error).hint(RENEW),
            _ => Self::of(Kind::Refused, &error),
        }
    }
}

impl From<HubError> for Failure {
    fn from(error: HubError) -> Self {
        let kind = if error.is_transient() { Kind::Environment } else { Kind::Refused };
        let failure = Self::of(kind, &error);
        match error {
            HubError::Refused(Code::REVOKED) => failure.hint(
                "if you revoked it or renewed a copy of this directory: endseal devices renew; if \
                 the hub's owner removed you, ask for an invitation, then: endseal devices renew and \
                 endseal join FILE; if neither, someone has your 24 words or your identity file",
            ),
            HubError::Refused(Code::PERSON) => failure
                .hint("if you have devices at this hub, come back with: endseal recover"),
            HubError::Refused(Code::SPACE) => failure.hint(
                "your texts are kept, and sent later; if that stays, ask the hub's owner for room: \
                 endseal hub quota",
            ),
            HubError::Refused(Code::TOKEN) => failure.hint("ask the hub's owner for a new one"),
            _ => failure,
        }
    }
}
