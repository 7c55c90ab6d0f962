//! The newest records of persons that are known here.

use endseal_crypto::ed25519::PublicKey;
use endseal_keyring::PersonRecord;
use endseal_session::EngineError;

use super::records::{PERSON, Transaction};

/// Returns the newest record of a person that is known here.
pub(super) fn known_in(
    transaction: &Transaction<'_, '_>,
    identity: &PublicKey,
) -> Result<Option<PersonRecord>, EngineError> {
    let record = transaction.record(PERSON, identity.as_bytes())?;
    Ok(record.and_then(|record| PersonRecord::parse(&record).ok()))
}
