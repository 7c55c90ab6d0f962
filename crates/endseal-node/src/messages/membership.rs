//! Registration of this device at a hub.

use endseal_codec::hub::{Answer, Publish, Register, Request, Welcome};
use endseal_crypto::peer_id::PeerId;
use endseal_delivery::node::HubFault;
use endseal_keyring::{Invitation, JoinToken, PersonRecord};
use endseal_session::group::Suite;
use endseal_session::{Engine, EngineError, GroupChangeError};
use serde::{Deserialize, Serialize};

use super::clock;
use super::directory;
use super::error::{HubError, JoinError};
use super::hub::HubClient;
use super::known_note;
use super::published::Published;
use super::records::{self, ACKNOWLEDGED, DROPPED, HUB, PUBLISHED, Transaction};
use super::shared_engine::SharedEngine;
use super::unfinished;
use crate::wire_text;

const VERSION: u8 = 1;
/// Number of key packages for one use that the hub should hold.
const PREKEYS: u32 = 20;
/// Age in milliseconds at which the key packages at the hub are replaced: 28 days. They are valid
/// for 84.
const RENEWED: u64 = 28 * 24 * 60 * 60 * 1_000;

/// Registration of this device at a hub.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Membership {
    /// Peer id of the hub.
    #[serde(with = "wire_text::peer")]
    pub hub: PeerId,
    /// Addresses of the hub as `host:port`, separated by spaces.
    pub addresses: String,
    /// Highest sequence that the hub has stored; 0 if none.
    pub sequence: u64,
    /// Time at which the hub acknowledged that sequence, in milliseconds since 1970.
    pub time: u64,
}

impl Membership {
    /// Decodes a record of the store. Returns `None` if it is damaged.
    #[must_use]
    pub fn read(value: &[u8]) -> Option<Self> {
        let (&version, rest) = value.split_first()?;
        let (hub, rest) = rest.split_first_chunk::<{ PeerId::LEN }>()?;
        let (sequence, rest) = rest.split_first_chunk::<8>()?;
        let (time, addresses) = rest.split_first_chunk::<8>()?;
        let addresses = str::from_utf8(addresses).ok()?;
        (version == VERSION && !addresses.is_empty()).then(|| Self {
            hub: PeerId::from_bytes(hub),
            addresses: addresses.to_owned(),
            sequence: u64::from_le_bytes(*sequence),
            time: u64::from_le_bytes(*time),
        })
    }

    /// Returns the hub and its addresses, without the numbers of this device there.
    pub(crate) fn without_numbers(&self) -> Self {
        Self { sequence: 0, time: 0, ..self.clone() }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(self.hub.as_bytes());
        bytes.extend_from_slice(&self.sequence.to_le_bytes());
        bytes.extend_from_slice(&self.time.to_le_bytes());
        bytes.extend_from_slice(self.addresses.as_bytes());
        bytes
    }

    pub(super) fn put(&self, transaction: &Transaction<'_, '_>) -> Result<(), EngineError> {
        transaction.put_record(HUB, &[], &self.to_bytes())
    }
}

/// Returns the registration of this device; `None` if it is not registered.
///
/// # Errors
/// Returns [`EngineError`] if the store fails.
pub fn membership(engine: &mut Engine) -> Result<Option<Membership>, EngineError> {
    engine.transaction(|transaction| membership_in(transaction))
}

/// Notes the hub of a backup in the store of a device that is not registered there yet. Until it
/// is, the hub refuses its visits.
///
/// # Errors
/// Returns [`EngineError`] if the store fails.
pub fn note_hub(engine: &mut Engine, hub: &Membership) -> Result<(), EngineError> {
    engine.transaction(|transaction| {
        unfinished::clear(transaction)?;
        hub.without_numbers().put(transaction)
    })
}

pub(super) fn membership_in(
    transaction: &Transaction<'_, '_>,
) -> Result<Option<Membership>, EngineError> {
    let Some(value) = transaction.record(HUB, &[])? else { return Ok(None) };
    Membership::read(&value).map(Some).ok_or(EngineError::Damaged("hub"))
}

/// Forgets what the hub knew of the device before it had new keys. Not earlier: under the former
/// keys these numbers show that the state went back in time.
///
/// May be called again.
pub(crate) fn forget_hub_numbers(transaction: &Transaction<'_, '_>) -> Result<(), EngineError> {
    for kind in [PUBLISHED, DROPPED, ACKNOWLEDGED] {
        transaction.remove_record(kind, &[])?;
    }
    if let Some(mut membership) = membership_in(transaction)? {
        (membership.sequence, membership.time) = (0, 0);
        membership.put(transaction)?;
    }
    Ok(())
}

/// Registers this device with an invitation, and publishes prekeys. May be repeated. `person` is
/// the newest record of its person.
///
/// # Errors
/// Returns [`JoinError`] if the device is registered at another hub, the hub refuses, or the store
/// fails.
pub async fn join(
    hub: &HubClient<'_>,
    engine: &mut Engine,
    invitation: &Invitation,
    person: &PersonRecord,
) -> Result<(), JoinError> {
    let addresses = invitation.addresses().collect::<Vec<_>>().join(" ");
    register(hub, engine, &addresses, Some(invitation.token()), person).await
}

/// [`join`] at the hub of a connection, which is at `addresses`, each `host:port`, with a space
/// between two. Without a token the hub must know the person.
///
/// # Errors
/// [`JoinError`].
pub async fn register(
    hub: &HubClient<'_>,
    engine: &mut Engine,
    addresses: &str,
    token: Option<&JoinToken>,
    person: &PersonRecord,
) -> Result<(), JoinError> {
    let at = hub.peer();
    if membership(engine)?.is_some_and(|known| known.hub != at) {
        return Err(JoinError::OtherHub);
    }
    let engine = &SharedEngine::new(engine);
    let welcome = register_device(hub, engine, token, person).await?;
    directory::note_own(engine, person)?;
    engine.transaction(|transaction| {
        unfinished::clear(transaction)?;
        clock::note(transaction, welcome.time)?;
        let known = membership_in(transaction)?;
        if known.as_ref().is_some_and(|known| known.addresses != addresses) {
            known_note::forget_awaited(transaction)?;
        }
        let (sequence, time) = known.map_or((0, 0), |known| (known.sequence, known.time));
        Membership { hub: at, addresses: addresses.to_owned(), sequence, time }.put(transaction)
    })?;
    publish_prekeys(hub, engine, welcome.prekeys).await
}

/// Registers the device of the store.
pub(super) async fn register_device(
    hub: &HubClient<'_>,
    engine: &SharedEngine<'_>,
    token: Option<&JoinToken>,
    person: &PersonRecord,
) -> Result<Welcome, HubError> {
    let answer = hub.ask(Request::Register(Register {
        token: token.map(|token| *token.expose_secret()),
        certificate: engine.with(|it| it.certificate().as_bytes()[..].into()),
        person: person.as_bytes().into(),
    }));
    match answer.await? {
        Answer::Welcome(welcome) => Ok(welcome),
        _ => Err(HubFault::Unexpected.into()),
    }
}

/// Gives the hub the next record of this person, also one that revokes devices.
///
/// # Errors
/// [`HubError`].
pub async fn publish_person(hub: &HubClient<'_>, person: &PersonRecord) -> Result<(), HubError> {
    let publish = Publish { person: person.as_bytes().into(), ..Publish::default() };
    match hub.ask(Request::Publish(publish)).await? {
        Answer::Welcome(_) => Ok(()),
        _ => Err(HubFault::Unexpected.into()),
    }
}

/// Publishes key packages so that the hub has 20, if it has fewer than half, or if those that are
/// there were made long ago.
pub(super) async fn publish_prekeys<E: From<EngineError> + From<HubError>>(
    hub: &HubClient<'_>,
    engine: &SharedEngine<'_>,
    there: u32,
) -> Result<(), E> {
    let is_old = engine.transaction(|transaction| {
        let age = records::now().saturating_sub(Published::load(transaction)?.time);
        Ok::<_, EngineError>(age > RENEWED)
    })?;
    if is_old || engine.with(|it| it.prekeys_lost())? {
        return publish(hub, engine, PREKEYS, true).await;
    }
    if there > PREKEYS / 2 {
        return Ok(());
    }
    publish(hub, engine, PREKEYS.saturating_sub(there), false).await
}

/// Replaces the key packages at the hub. This is needed when the hub was restored and may have
/// handed them out already.
pub(super) async fn replace_prekeys<E: From<EngineError> + From<HubError>>(
    hub: &HubClient<'_>,
    engine: &SharedEngine<'_>,
) -> Result<(), E> {
    publish(hub, engine, PREKEYS, true).await
}

async fn publish<E: From<EngineError> + From<HubError>>(
    hub: &HubClient<'_>,
    engine: &SharedEngine<'_>,
    count: u32,
    replace: bool,
) -> Result<(), E> {
    let now = records::now();
    // Counted before: a process that is killed in between wastes key packages, and gives none
    // twice.
    // That those of before are replaced is noted when the hub has said so.
    let publish = engine.transaction(|transaction: &mut Transaction<'_, '_>| {
        let (suite, time) = (Suite::MlKem768X25519, clock::time(transaction)?);
        let made = (0..count).map(|_| transaction.key_package(suite, time));
        let prekeys = made.collect::<Result<Vec<_>, _>>().map_err(of_engine)?;
        let last_resort = transaction.last_resort_key_package(suite, time).map_err(of_engine)?;
        let known = Published::load(transaction)?;
        let count = known.count + prekeys.len() as u64 + 1;
        Published { count, time: if replace { 0 } else { known.time } }.put(transaction)?;
        Ok::<_, EngineError>(Publish {
            prekeys: prekeys.into_iter().map(Vec::into_boxed_slice).collect(),
            last_resort: last_resort.into(),
            replace,
            ..Publish::default()
        })
    })?;
    match hub.ask(Request::Publish(publish)).await? {
        Answer::Welcome(_) => {}
        _ => return Err(HubError::Fault(HubFault::Unexpected).into()),
    }
    Ok(engine.transaction(|transaction: &mut Transaction<'_, '_>| {
        let known = Published::load(transaction)?;
        if known.time == 0 {
            Published { time: now, ..known }.put(transaction)?;
        }
        transaction.published(&[])
    })?)
}

fn of_engine(error: GroupChangeError) -> EngineError {
    match error {
        GroupChangeError::Engine(error) => error,
        _ => EngineError::Random,
    }
}
