//! One sync with the hub: receives what waits there, and sends what waits here.

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
/// Limit on the times that texts are encrypted because their devices are gone. An honest hub needs
/// one time less.
const ROUNDS: usize = 2;

/// Receives everything that waits at the hub, and sends everything that waits here. `person` is the
/// newest record of this identity, and `keys` belong to the same state directory. After a failure,
/// `report` holds what was done before.
///
/// # Errors
/// Returns [`SyncError`] if the device is not registered, the hub or the connection fails, or the
/// store fails. The call may be repeated.
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
        // A failure to send does not prevent receiving.
        Ok(turns.send(&mut sent, async |report| send_all(hub, engine, keys, report).await).await)
    };
    let done = tokio::try_join!(receiving, sending);
    report.add(received);
    report.add(sent);
    done?.1
}

/// Returns the registration of this device, if the device may send.
///
/// # Errors
/// Returns [`SyncError::NotJoined`] if it is not registered, [`SyncError::Restored`] if the store
/// was restored from a copy, and [`SyncError::Engine`] if the store fails.
pub fn may_sync(engine: &mut Engine) -> Result<Membership, SyncError> {
    let membership = membership(engine)?.ok_or(SyncError::NotJoined)?;
    if engine.store().restorations() > 0 {
        return Err(SyncError::Restored);
    }
    Ok(membership)
}

/// Sends everything that waits here and can be sent. Replaces [`SyncReport::skipped`] with the
/// receivers to which nothing was encrypted.
pub(super) async fn send_all(
    hub: &HubClient<'_>,
    engine: &SharedEngine<'_>,
    keys: &LetterKeys<'_>,
    report: &mut SyncReport,
) -> Result<(), SyncError> {
    // Texts whose devices are gone return to the unsent texts, and are encrypted before later ones.
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

/// Compares the state of the hub with that of this device, and publishes missing data.
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
        // Recorded before anything is sent, and only once.
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
