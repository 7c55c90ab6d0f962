//! One sync with the hub: receives what waits there, and sends what waits here.

use endseal_codec::hub::{Answer, Hello, Publish, Request, Welcome};
use endseal_delivery::node::HubFault;
use endseal_keyring::PersonRecord;
use endseal_session::{Engine, EngineError};

use super::approach::Sender;
use super::clock;
use super::conversation::Conversation;
use super::device_change;
use super::directory::{self, Found};
use super::drain::Mailbox;
use super::due;
use super::error::SyncError;
use super::hub::HubClient;
use super::hub_address::note_address;
use super::hub_groups::{self, HubGroups, conversation_of_group};
use super::known_note;
use super::membership::{Membership, membership, membership_in, publish_prekeys, replace_prekeys};
use super::node_files::NodeFiles;
use super::payload::HubGroupId;
use super::pending_commit::put_commits;
use super::problem::{self, ProblemClass};
use super::published::Published;
use super::puts::{put_others, put_texts};
use super::records::{self, ACKNOWLEDGED, DROPPED, Transaction};
use super::report::SyncReport;
use super::resend::{give_up_group, give_up_unconfirmed, resend_all, resend_missing};
use super::send_state::SendState;
use super::send_turns::SendTurns;
use super::shared_engine::SharedEngine;
use super::unconfirmed::encrypt_notes;
use super::undelivered;
use super::unfollowed::give_up_unfollowed;

const VERSION: u32 = 1;
/// Limit on the times that texts are encrypted because their groups have changed.
const ROUNDS: usize = 3;
/// Limit on the exchanges of a visit. One suffices, unless other members change groups meanwhile.
const VISITS: usize = 4;

/// Persons about whom a visit asks because they have not confirmed all texts to them.
const MAX_ASKED: usize = 256;

/// Receives everything that waits at the hub, and sends everything that waits here. `person` is the
/// newest record of this identity, and `files` belong to the same state directory. After a failure,
/// `report` holds what was done before.
///
/// # Errors
/// Returns [`SyncError`] if the device is not registered, the hub or the connection fails, or the
/// store fails. The call may be repeated.
pub async fn sync(
    hub: &HubClient<'_>,
    engine: &mut Engine,
    person: &PersonRecord,
    files: &NodeFiles<'_>,
    report: &mut SyncReport,
) -> Result<(), SyncError> {
    let engine = &SharedEngine::new(engine);
    let may_send = greet(hub, engine, person, files, report).await?;
    let state = &SendState::default();
    let sender = &Sender { hub, engine, files, state, own: engine.address() };
    for _ in 0..VISITS {
        // Commits of groups that are behind now must arrive.
        let behind = state.all_behind(engine)?;
        report.skipped.clear();
        let ended = exchange(sender, may_send, report).await;
        report.add_replaced(files.take_replaced());
        forget_rejoined(engine, files, report)?;
        report.team_changes.extend(files.take_changes());
        // Some were dropped since, as those of a team that this person has left.
        let parked = engine.with(|it| it.parked())?.iter().map(|it| it.messages).sum();
        report.parked = report.parked.min(parked);
        ended?;
        let still = state.all_behind(engine)?;
        if still.is_empty() {
            return Ok(());
        }
        for (group, _) in still.iter().filter(|it| behind.contains(it)) {
            give_up(sender, group)?;
        }
    }
    Ok(())
}

/// Drops from a report the conversations of which this device is a member again: a commit that
/// replaces a device removes it, too.
pub(super) fn forget_rejoined(
    engine: &SharedEngine<'_>,
    files: &NodeFiles<'_>,
    report: &mut SyncReport,
) -> Result<(), EngineError> {
    let own = engine.address().identity;
    let mut left = Vec::new();
    for it in report.left.drain(..) {
        let is_named = match &it.conversation {
            Conversation::Person(_) => true,
            Conversation::Group(team) => {
                files.roster(team).is_some_and(|roster| roster.member_of_key(&own).is_some())
            }
        };
        let sending = engine.transaction(|transaction: &mut Transaction<'_, '_>| {
            HubGroups::of(transaction, &it.conversation)?.sending(transaction, |_| true)
        })?;
        if !is_named || sending.is_none() {
            left.push(it);
        }
    }
    report.left = left;
    Ok(())
}

/// Receives and sends once.
async fn exchange(
    sender: &Sender<'_, '_>,
    may_send: bool,
    report: &mut SyncReport,
) -> Result<(), SyncError> {
    let Sender { hub, engine, files, .. } = *sender;
    let mut mailbox = Mailbox::subscribe(hub, engine, files, report).await?;
    let turns = SendTurns::new();
    let (mut received, mut sent) = (SyncReport::default(), SyncReport::default());
    let receiving = async {
        mailbox.catch_up(turns.opened(), &mut received).await?;
        mailbox.finish().await?;
        engine.with(give_up_unfollowed)?;
        turns.end();
        Ok::<_, SyncError>(())
    };
    let sending = async {
        if !may_send {
            return Ok(Err(SyncError::Restored));
        }
        // A failure does not keep what waits from being received.
        let ended = turns.send(&mut sent, async |it| sender.send_all(it).await).await;
        Ok(match ended {
            Ok(()) => sender.send_again(&mut sent).await,
            failed => failed,
        })
    };
    let done = tokio::try_join!(receiving, sending);
    report.add(received);
    report.add(sent);
    done?.1
}

/// Gives up a group that is behind, because the hub does not deliver the commits that it has.
pub(super) fn give_up(sender: &Sender<'_, '_>, group: &HubGroupId) -> Result<(), EngineError> {
    let own = sender.engine.address().identity;
    sender.state.forget(group);
    sender.engine.transaction(|transaction: &mut Transaction<'_, '_>| match conversation_of_group(
        transaction,
        group,
    )? {
        Some(of) => give_up_group(transaction, &own, &of, group).map(drop),
        None => Ok(()),
    })
}

impl Sender<'_, '_> {
    /// Sends all that waits here and can be sent. Says newly to whom nothing was encrypted.
    pub(super) async fn send_all(&self, report: &mut SyncReport) -> Result<(), SyncError> {
        let Self { hub, engine, files, state, .. } = *self;
        let before = engine.with(device_change::last_number)?;
        put_commits(hub, engine, state).await?;
        // Texts whose groups have changed come back. They go before those that were written later.
        let mut full = put_texts(hub, engine, state, report).await?;
        let mut is_full = false;
        for _ in 0..ROUNDS {
            report.skipped.clear();
            report.mailbox_full = false;
            self.encrypt_unsent(report).await?;
            is_full |= report.mailbox_full;
            let before = report.returned;
            full.extend(put_texts(hub, engine, state, report).await?);
            if report.returned == before {
                break;
            }
        }
        if encrypt_notes(engine, files)? {
            put_others(hub, engine, state, full, report).await?;
        }
        report.mailbox_full |= is_full;
        report.device_changes.extend(engine.with(|engine| device_change::after(engine, before))?);
        Ok(())
    }

    /// Asks for the devices of persons who have not confirmed all texts to them, and sends again
    /// what went to devices that they do not have any more. To be called when all receipts have
    /// arrived.
    pub(super) async fn send_again(&self, report: &mut SyncReport) -> Result<(), SyncError> {
        let Self { hub, engine, .. } = *self;
        let before = engine.with(device_change::last_number)?;
        let own = engine.address().identity;
        let persons =
            engine.transaction(|transaction| undelivered::persons(transaction, &own, MAX_ASKED))?;
        directory::find_many(hub, engine, &persons).await?;
        let changes = engine.with(|engine| device_change::after(engine, before))?;
        if changes.is_empty() {
            return Ok(());
        }
        report.device_changes.extend(changes);
        self.send_all(report).await
    }
}

/// Compares the state of the hub with that of this device, and publishes what it lacks. Returns
/// false if this device must not send: its state went back in time.
pub(super) async fn greet(
    hub: &HubClient<'_>,
    engine: &SharedEngine<'_>,
    person: &PersonRecord,
    files: &NodeFiles<'_>,
    report: &mut SyncReport,
) -> Result<bool, SyncError> {
    let membership = engine.with(membership)?.ok_or(SyncError::NotJoined)?;
    directory::note_own(engine, person)?;
    // Another device may have signed a later one since the caller read the file.
    let known = engine.with(|it| directory::known(it, person.identity().ed25519()))?;
    let person = known.as_ref().filter(|it| it.epoch() > person.epoch()).unwrap_or(person);
    let before = engine.with(device_change::last_number)?;
    let address_time = engine.transaction(|transaction| known_note::note_time(transaction))?;
    let hello = Request::Hello(Hello { version: VERSION, address_time });
    let Answer::Welcome(welcome) = hub.ask(hello).await? else {
        return Err(HubFault::Unexpected.into());
    };
    note_address(hub, engine, &welcome.address_note, report)?;
    if engine.with(Engine::is_restored)? {
        return Ok(false);
    }
    if engine.with(|engine| is_older(engine, &welcome))? {
        engine.with(Engine::mark_restored)?;
        return Ok(false);
    }
    report.clock_behind = engine.transaction(|transaction: &mut Transaction<'_, '_>| {
        if clock::note(transaction, welcome.time)? {
            // Those at the hub have a lifetime by the clock that this device had.
            let known = Published::load(transaction)?;
            Published { time: 0, ..known }.put(transaction)?;
        }
        clock::behind(transaction)
    })?;
    let sequence = welcome.sequence.unwrap_or_default();
    if sequence < membership.sequence {
        report.hub_forgot = Some(membership.time);
        replace_prekeys::<SyncError>(hub, engine).await?;
        // Recorded before anything is sent, and only once.
        engine.transaction(|transaction| {
            problem::note(transaction, ProblemClass::FORGOT, &membership.hub, sequence)?;
            problem::forget_old(transaction)?;
            resend_missing(transaction, person.identity().ed25519())?;
            due::note_rules_of(transaction, person)?;
            match membership_in(transaction)? {
                Some(membership) => Membership { sequence, ..membership }.put(transaction),
                None => Ok(()),
            }
        })?;
    }
    let own = person.identity().ed25519();
    engine.transaction(|transaction: &mut Transaction<'_, '_>| {
        hub_groups::forget_old(transaction)?;
        let known = records::counter(transaction, DROPPED)?;
        if welcome.dropped > known {
            resend_all(transaction, own)?;
            give_up_unconfirmed(transaction, own)?;
            hub_groups::announce_all(transaction)?;
            due::note_rules_of(transaction, person)?;
        }
        due::note_rules_daily(transaction, person)?;
        if welcome.dropped != known {
            transaction.put_record(DROPPED, &[], &welcome.dropped.to_le_bytes())?;
        }
        Ok::<_, EngineError>(())
    })?;
    let is_other = welcome.epoch == person.epoch() && welcome.digest != *person.digest().as_bytes();
    if welcome.epoch > person.epoch() || is_other {
        report.record_conflict |= is_other;
        learn_own(hub, engine, person, files).await?;
    }
    if welcome.epoch < person.epoch() {
        let certificate = engine.with(|it| it.certificate().as_bytes()[..].into());
        let publish =
            Publish { certificate, person: person.as_bytes().into(), ..Publish::default() };
        let Answer::Welcome(_) = hub.ask(Request::Publish(publish)).await? else {
            return Err(HubFault::Unexpected.into());
        };
    }
    publish_prekeys::<SyncError>(hub, engine, welcome.prekeys).await?;
    report.device_changes.extend(engine.with(|engine| device_change::after(engine, before))?);
    Ok(true)
}

/// Takes over the record of this person that another of its devices has signed.
async fn learn_own(
    hub: &HubClient<'_>,
    engine: &SharedEngine<'_>,
    person: &PersonRecord,
    files: &NodeFiles<'_>,
) -> Result<(), SyncError> {
    let own = person.identity().ed25519();
    if let Found::Person(record, _) = directory::find(hub, engine, own).await? {
        // What cannot be written now is fetched again with the next visit.
        let _ = files.keep_person(&record);
    }
    Ok(())
}

/// Returns true if the hub knows a number of this device that is above the device's own. Each is
/// durable here before the hub can learn of it, so the state directory was restored from a copy, or
/// another copy of it is in use.
fn is_older(engine: &mut Engine, welcome: &Welcome) -> Result<bool, EngineError> {
    let sequence = engine.outbox().last_number()?;
    engine.transaction(|transaction| {
        let position = records::counter(transaction, ACKNOWLEDGED)?;
        let published = Published::load(transaction)?.count;
        Ok(welcome.sequence.is_some_and(|known| known > sequence)
            || welcome.acknowledged > position
            || welcome.published > published)
    })
}
