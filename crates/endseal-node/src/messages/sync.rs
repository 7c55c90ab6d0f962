//! One visit at the hub: what waits there is received, what waits here is sent.

use endseal_codec::hub::{Answer, Hello, Publish, Request};
use endseal_delivery::node::HubFault;
use endseal_keyring::PersonRecord;
use endseal_session::Engine;

use super::directory;
use super::drain::Mailbox;
use super::error::SyncError;
use super::hub::HubClient;
use super::letter_keys::LetterKeys;
use super::membership::{Membership, membership, publish_prekeys, replace_prekeys};
use super::problem::{self, ProblemClass};
use super::puts::{put_receipts, put_texts};
use super::report::SyncReport;
use super::send_turns::SendTurns;
use super::shared_engine::SharedEngine;
use super::unconfirmed::encrypt_receipts;
use super::unsent::encrypt_unsent;

const VERSION: u32 = 1;
/// Times that texts are encrypted, if their devices are gone when they are sent: once more than a
/// hub needs that tells the truth.
const ROUNDS: usize = 2;

/// Receives all that waits at the hub, and sends all that waits here. `person` is the newest record
/// of this identity, `keys` are those of the same state directory. The report also holds what was
/// done before a failure.
///
/// # Errors
/// [`SyncError`]; it may be called again.
pub async fn sync(
    hub: &HubClient<'_>,
    engine: &mut Engine,
    person: &PersonRecord,
    keys: &LetterKeys<'_>,
    report: &mut SyncReport,
) -> Result<(), SyncError> {
    let engine = &SharedEngine::new(engine);
    greet(hub, engine, person, report).await?;
    let mut mailbox = Mailbox::subscribe(hub, engine, keys, report).await?;
    let turns = SendTurns::new();
    let (mut received, mut sent) = (SyncReport::default(), SyncReport::default());
    let receiving = async {
        mailbox.catch_up(turns.opened(), &mut received).await?;
        mailbox.finish().await?;
        turns.end();
        Ok::<_, SyncError>(())
    };
    let sending = async {
        // A failure does not keep what waits from being received.
        Ok(turns.send(&mut sent, async |report| send_all(hub, engine, keys, report).await).await)
    };
    let done = tokio::try_join!(receiving, sending);
    report.add(received);
    report.add(sent);
    done?.1
}

/// Returns the hub of this device, if it may send.
///
/// # Errors
/// [`SyncError::NotJoined`], [`SyncError::Restored`], [`SyncError::Engine`].
pub fn may_sync(engine: &mut Engine) -> Result<Membership, SyncError> {
    let membership = membership(engine)?.ok_or(SyncError::NotJoined)?;
    if engine.store().restorations() > 0 {
        return Err(SyncError::Restored);
    }
    Ok(membership)
}

/// Sends all that waits here and can be sent. Says newly to whom nothing was encrypted.
pub(super) async fn send_all(
    hub: &HubClient<'_>,
    engine: &SharedEngine<'_>,
    keys: &LetterKeys<'_>,
    report: &mut SyncReport,
) -> Result<(), SyncError> {
    // Texts whose devices are gone come back. They go before those that were written later.
    let mut full = put_texts(hub, engine, report).await?;
    for _ in 0..ROUNDS {
        report.skipped.clear();
        encrypt_unsent(hub, engine, keys, report).await?;
        let before = report.returned;
        full.extend(put_texts(hub, engine, report).await?);
        if report.returned == before {
            break;
        }
    }
    if encrypt_receipts(hub, engine, keys).await? {
        put_receipts(hub, engine, full, report).await?;
    }
    Ok(())
}

/// Compares the state of the hub with that of this device, and publishes what it lacks.
pub(super) async fn greet(
    hub: &HubClient<'_>,
    engine: &SharedEngine<'_>,
    person: &PersonRecord,
    report: &mut SyncReport,
) -> Result<(), SyncError> {
    let membership = engine.with(may_sync)?;
    directory::note_own(engine, person)?;
    let hello = Request::Hello(Hello { version: VERSION });
    let Answer::Welcome(welcome) = hub.ask(hello).await? else {
        return Err(HubFault::Unexpected.into());
    };
    let sequence = welcome.sequence.unwrap_or_default();
    if sequence < membership.sequence {
        report.hub_forgot = Some(membership.time);
        replace_prekeys::<SyncError>(hub, engine).await?;
        // Noted before anything is put, and once.
        engine.transaction(|transaction| {
            problem::note(transaction, ProblemClass::FORGOT, &membership.hub, sequence)?;
            problem::forget_old(transaction)?;
            Membership { sequence, ..membership.clone() }.put(transaction)
        })?;
    }
    if welcome.epoch < person.epoch() {
        let certificate = engine.with(|it| it.certificate().as_bytes()[..].into());
        let publish =
            Publish { certificate, person: person.as_bytes().into(), ..Publish::default() };
        let Answer::Welcome(_) = hub.ask(Request::Publish(publish)).await? else {
            return Err(HubFault::Unexpected.into());
        };
    }
    publish_prekeys::<SyncError>(hub, engine, welcome.prekeys).await
}
