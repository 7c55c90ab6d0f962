//! Directory of the hub: the devices of persons, which the persons' roots sign.

use endseal_codec::hub::{By, Person};
use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::peer_id::PeerId;
use endseal_keyring::PersonRecord;
use endseal_keyring::device::{Address, Certificate};
use endseal_session::{Engine, EngineError};

use super::address_bytes::{address, address_bytes};
use super::device_change;
use super::due;
use super::error::SyncError;
use super::hub::HubClient;
use super::known_record::known_in;
use super::records::{PEER, PERSON, Transaction};
use super::resend::resend_to;
use super::shared_engine::SharedEngine;

/// Persons in one request, so that the answers take a few MiB at most.
const AT_ONCE: usize = 128;

/// Result of a search for a person.
pub(super) enum Found {
    /// The newest person record, and those of its devices that are registered at the hub.
    Person(Box<PersonRecord>, Vec<Certificate>),
    /// The hub does not know this person.
    Unknown,
    /// The hub's answer was not signed by the person, or is older than the stored record.
    Refused,
}

/// Asks the hub for a person. Stores the person record if it supersedes the known one.
pub(super) async fn find(
    hub: &HubClient<'_>,
    engine: &SharedEngine<'_>,
    identity: &PublicKey,
) -> Result<Found, SyncError> {
    let found = find_many(hub, engine, core::slice::from_ref(identity)).await?.pop();
    Ok(found.unwrap_or(Found::Unknown))
}

/// [`find`] for several persons. The results are in the order of `identities`.
pub(super) async fn find_many(
    hub: &HubClient<'_>,
    engine: &SharedEngine<'_>,
    identities: &[PublicKey],
) -> Result<Vec<Found>, SyncError> {
    let mut found = Vec::with_capacity(identities.len());
    for identities in identities.chunks(AT_ONCE) {
        let by = identities.iter().map(|it| By::Identity(*it.as_bytes()));
        for (identity, person) in identities.iter().zip(hub.find(by).await?) {
            found.push(match person {
                Some(person) => take_in(engine, identity, &person)?,
                None => Found::Unknown,
            });
        }
    }
    Ok(found)
}

/// Asks the hub for the persons of devices, and stores their records as [`find`] does.
pub(super) async fn find_devices(
    hub: &HubClient<'_>,
    engine: &SharedEngine<'_>,
    peers: &[PeerId],
) -> Result<(), SyncError> {
    if peers.is_empty() {
        return Ok(());
    }
    let found = hub.find(peers.iter().map(|peer| By::Peer(*peer.as_bytes()))).await?;
    for person in found.into_iter().flatten() {
        let record = PersonRecord::parse(&person.person).ok();
        if let Some(identity) = record.map(|record| *record.identity().ed25519()) {
            take_in(engine, &identity, &person)?;
        }
    }
    Ok(())
}

/// Stores the record of this person, so that an older one from the hub is refused.
pub(super) fn note_own(
    engine: &SharedEngine<'_>,
    person: &PersonRecord,
) -> Result<(), EngineError> {
    let identity = person.identity().ed25519();
    let known = engine.with(|engine| known(engine, identity))?;
    if known.as_ref().is_none_or(|known| person.supersedes(known).is_ok()) {
        engine.transaction(|transaction| {
            if let Some(known) = &known {
                device_change::note(transaction, known, person)?;
                due::note_new_devices(transaction, known, person)?;
            }
            transaction.put_record(PERSON, identity.as_bytes(), person.as_bytes())
        })?;
    }
    Ok(())
}

/// Returns the stored record of a person.
pub(super) fn known(
    engine: &mut Engine,
    identity: &PublicKey,
) -> Result<Option<PersonRecord>, EngineError> {
    engine.transaction(|transaction| known_in(transaction, identity))
}

fn take_in(
    engine: &SharedEngine<'_>,
    identity: &PublicKey,
    person: &Person,
) -> Result<Found, SyncError> {
    let Ok(record) = PersonRecord::parse(&person.person) else { return Ok(Found::Refused) };
    if record.identity().ed25519() != identity {
        return Ok(Found::Refused);
    }
    let name = identity.as_bytes();
    let known = engine.transaction(|transaction| transaction.record(PERSON, name))?;
    if known.as_deref().map(Vec::as_slice) != Some(record.as_bytes()) {
        let known = known.and_then(|known| PersonRecord::parse(&known).ok());
        let own = engine.address().identity;
        // Of two records of one epoch that this person signed, the one at the hub counts.
        let is_own_fork =
            |known: &PersonRecord| *identity == own && known.epoch() == record.epoch();
        if known.as_ref().is_some_and(|it| record.supersedes(it).is_err() && !is_own_fork(it)) {
            return Ok(Found::Refused);
        }
        engine.transaction(|transaction| put_record(transaction, &own, known.as_ref(), &record))?;
    }
    let mut devices = Vec::new();
    for bytes in &person.certificates {
        let Ok(certificate) = Certificate::from_bytes(bytes) else { return Ok(Found::Refused) };
        let Address { identity: of, device } = certificate.address();
        if of != *identity {
            return Ok(Found::Refused);
        }
        let peer = certificate.keys().peer_id;
        let is_same = |it: &Certificate| it.address().device == device || it.keys().peer_id == peer;
        if devices.iter().any(is_same) {
            return Ok(Found::Refused);
        }
        // Nothing is encrypted to a device that was revoked.
        if record.device(device.into()).is_some() {
            devices.push(certificate);
        }
    }
    engine.transaction(|transaction| note_peers(transaction, &devices))?;
    Ok(Found::Person(Box::new(record), devices))
}

fn put_record(
    transaction: &mut Transaction<'_, '_>,
    own: &PublicKey,
    known: Option<&PersonRecord>,
    record: &PersonRecord,
) -> Result<(), EngineError> {
    let identity = record.identity().ed25519();
    if let Some(known) = known {
        device_change::note(transaction, known, record)?;
        match identity == own {
            true => due::note_new_devices(transaction, known, record)?,
            false => resend_to(transaction, own, identity)?,
        }
    }
    transaction.put_record(PERSON, identity.as_bytes(), record.as_bytes())
}

/// Stores a record that came in a conversation, if it supersedes the known one. `own` is this
/// identity, whose record comes from the hub alone.
pub(super) fn note_record(
    transaction: &mut Transaction<'_, '_>,
    own: &PublicKey,
    record: &PersonRecord,
) -> Result<(), EngineError> {
    let identity = record.identity().ed25519();
    let known = transaction.record(PERSON, identity.as_bytes())?;
    let known = known.and_then(|known| PersonRecord::parse(&known).ok());
    let is_later = known.as_ref().is_none_or(|known| record.supersedes(known).is_ok());
    if identity == own || !is_later {
        return Ok(());
    }
    put_record(transaction, own, known.as_ref(), record)
}

/// Stores the addresses of devices, for [`device_of`].
fn note_peers(
    transaction: &Transaction<'_, '_>,
    devices: &[Certificate],
) -> Result<(), EngineError> {
    for device in devices {
        let peer = device.keys().peer_id;
        let address = address_bytes(&device.address());
        if transaction.record(PEER, peer.as_bytes())?.as_deref().map(Vec::as_slice)
            != Some(&address)
        {
            transaction.put_record(PEER, peer.as_bytes(), &address)?;
        }
    }
    Ok(())
}

/// Returns the address of the device with a peer id, as the hub's directory last stated it. `None`
/// if the hub was never asked for the device.
pub(super) fn device_of(
    transaction: &Transaction<'_, '_>,
    peer: &PeerId,
) -> Result<Option<Address>, EngineError> {
    let Some(value) = transaction.record(PEER, peer.as_bytes())? else { return Ok(None) };
    let address = value.as_slice().try_into().ok().and_then(address);
    address.map(Some).ok_or(EngineError::Damaged("peer"))
}
