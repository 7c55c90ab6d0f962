//! Decisions of the user about persons (docs/spec/node.md, "Rules about persons").

use std::collections::HashSet;

use endseal_crypto::ed25519::PublicKey;
use endseal_session::{Engine, EngineError};

use super::request;
use super::rule::StoredRule;
use super::rule_change::change;

/// Blocks a person: later texts are dropped when they arrive, and a waiting request is deleted.
/// Texts that arrived before stay. Nothing is sent to the person. Returns the number of texts of
/// the deleted request.
///
/// # Errors
/// Returns [`EngineError`] if the store fails.
pub fn block(engine: &mut Engine, person: &PublicKey) -> Result<u64, EngineError> {
    let own = engine.address().identity;
    engine.transaction(|transaction| {
        change(transaction, &own, person, |rule| {
            rule.blocked.turn(true);
            rule.accepted.turn_off_everywhere();
        })?;
        request::forget(transaction, person)
    })
}

/// Unblocks a person. Texts that were dropped do not come back by this. Returns the number of texts
/// that this device dropped, or `None` if the person was not blocked.
///
/// # Errors
/// Returns [`EngineError`] if the store fails.
pub fn unblock(engine: &mut Engine, person: &PublicKey) -> Result<Option<u64>, EngineError> {
    let own = engine.address().identity;
    engine.transaction(|transaction| {
        let before = change(transaction, &own, person, |rule| rule.blocked.turn(false))?;
        Ok(before.rule.blocked.is_on().then_some(before.dropped))
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
    let own = engine.address().identity;
    engine.transaction(|transaction| {
        change(transaction, &own, person, |rule| rule.muted.turn(is_muted)).map(drop)
    })
}

/// Records that the safety numbers of a person and of the own identity were compared and are the
/// same, or removes that record. Nothing has to be known of the devices of the person. If a contact
/// gets another identity, that identity has not been compared.
///
/// # Errors
/// Returns [`EngineError`] if the store fails.
pub fn set_verified(
    engine: &mut Engine,
    person: &PublicKey,
    is_verified: bool,
) -> Result<(), EngineError> {
    let own = engine.address().identity;
    engine.transaction(|transaction| {
        change(transaction, &own, person, |rule| rule.verified.turn(is_verified)).map(drop)
    })
}

/// Returns all muted persons.
pub(crate) fn muted(engine: &mut Engine) -> Result<HashSet<PublicKey>, EngineError> {
    let all = engine.transaction(|transaction| StoredRule::all(transaction))?;
    let muted = all.into_iter().filter(|(_, it)| it.rule.muted.is_on());
    Ok(muted.map(|(person, _)| person).collect())
}
