//! Blocked and muted persons (docs/spec/node.md, "Blocked persons").

use std::collections::HashSet;

use endseal_crypto::ed25519::PublicKey;
use endseal_session::{Engine, EngineError};

use super::blocked_person::BlockedPerson;
use super::records::{self, ACCEPTED, BLOCKED, MUTED};
use super::request;

/// Blocks a person: later texts are dropped when they arrive, and a waiting request is deleted.
/// Texts that arrived before stay. Nothing is sent to the person. Returns the number of texts of
/// the deleted request.
///
/// # Errors
/// Returns [`EngineError`] if the store fails.
pub fn block(engine: &mut Engine, person: &PublicKey) -> Result<u64, EngineError> {
    engine.transaction(|transaction| {
        if BlockedPerson::of(transaction, person)?.is_none() {
            BlockedPerson { time: records::now(), dropped: 0 }.put(transaction, person)?;
        }
        transaction.remove_record(ACCEPTED, person.as_bytes())?;
        request::forget(transaction, person)
    })
}

/// Unblocks a person. Texts that were dropped do not come back by this. Returns the number of
/// dropped texts, or `None` if the person was not blocked.
///
/// # Errors
/// Returns [`EngineError`] if the store fails.
pub fn unblock(engine: &mut Engine, person: &PublicKey) -> Result<Option<u64>, EngineError> {
    engine.transaction(|transaction| {
        let blocked = BlockedPerson::of(transaction, person)?;
        transaction.remove_record(BLOCKED, person.as_bytes())?;
        Ok(blocked.map(|it| it.dropped))
    })
}

/// Mutes or unmutes a person. Texts of a muted person are in the inbox, and programs that print
/// texts as they arrive do not print them.
///
/// # Errors
/// Returns [`EngineError`] if the store fails.
pub fn set_muted(
    engine: &mut Engine,
    person: &PublicKey,
    is_muted: bool,
) -> Result<(), EngineError> {
    engine.transaction(|transaction| match is_muted {
        true => transaction.put_record(MUTED, person.as_bytes(), &[]),
        false => transaction.remove_record(MUTED, person.as_bytes()).map(drop),
    })
}

/// Returns all muted persons.
pub(crate) fn muted(engine: &mut Engine) -> Result<HashSet<PublicKey>, EngineError> {
    let muted = engine.transaction(|transaction| records::persons(transaction, MUTED))?;
    Ok(muted.into_iter().map(|(person, _)| person).collect())
}
