//! Looks up the long identity of a person in the person record that the hub has.

use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::identity::PublicIdentity;
use endseal_session::Engine;

use super::directory::{self, Found};
use super::error::SyncError;
use super::hub::HubClient;
use super::shared_engine::SharedEngine;

/// Asks the hub for the person record of `identity`, and returns the identity with its ML-KEM-768
/// key. The person's own signatures on record and key were verified, so that the hub can withhold
/// the key and cannot give another one. The record is stored as in a sync.
///
/// Returns `None` if the hub does not know the person, or its answer is not signed by that person
/// or is older than what is known here.
///
/// # Errors
/// [`SyncError`] if the hub does not answer or the store fails.
pub async fn long_identity(
    hub: &HubClient<'_>,
    engine: &mut Engine,
    identity: &PublicKey,
) -> Result<Option<PublicIdentity>, SyncError> {
    let engine = SharedEngine::new(engine);
    Ok(match directory::find(hub, &engine, identity).await? {
        Found::Person(record, _) => Some(record.identity().clone()),
        Found::Unknown | Found::Refused => None,
    })
}
