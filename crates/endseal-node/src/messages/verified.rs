//! Persons who compared their safety number with the one of this person (docs/spec/node.md,
//! "Store").
//!
//! The record is of an identity and not of a device or a name. If a contact gets another identity,
//! that identity has not been compared.

use endseal_crypto::ed25519::PublicKey;
use endseal_session::{Engine, EngineError};

use super::records::VERIFIED;

/// Records that the safety numbers of a person and of the own identity were compared and are the
/// same, or removes that record. Nothing has to be known of the devices of the person.
///
/// # Errors
/// Returns [`EngineError`] if the store fails.
pub fn set_verified(
    engine: &mut Engine,
    person: &PublicKey,
    is_verified: bool,
) -> Result<(), EngineError> {
    engine.transaction(|transaction| match is_verified {
        true => transaction.put_record(VERIFIED, person.as_bytes(), &[]),
        false => transaction.remove_record(VERIFIED, person.as_bytes()).map(drop),
    })
}

/// Returns true if the safety number of a person was compared, as [`set_verified`] recorded it.
///
/// # Errors
/// Returns [`EngineError`] if the store fails.
pub fn is_verified(engine: &mut Engine, person: &PublicKey) -> Result<bool, EngineError> {
    engine.transaction(|transaction| Ok(transaction.record(VERIFIED, person.as_bytes())?.is_some()))
}
