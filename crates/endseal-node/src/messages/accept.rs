//! Acceptance of persons.

use endseal_crypto::ed25519::PublicKey;
use endseal_session::{Engine, EngineError};

use super::arrivals;
use super::error::AcceptError;
use super::node_files::NodeFiles;
use super::records::Transaction;
use super::rule::Rule;
use super::rule_change::{accept_contacts, change};
use crate::home::Home;

/// Processes messages that arrived and were not processed yet, and moves requests of persons who
/// are known now to the inbox. Requests to a node do this before they read the inbox.
///
/// # Errors
/// Returns [`EngineError`] if the store fails.
pub fn settle_inbox(engine: &mut Engine, home: &Home) -> Result<(), EngineError> {
    let own = engine.address().identity;
    let files = NodeFiles::new(home);
    engine.transaction(|transaction: &mut Transaction<'_, '_>| {
        arrivals::settle(transaction, &own, &files).map(drop)
    })
}

/// Does what [`settle_inbox`] does, after the contacts changed: new ones are accepted.
///
/// # Errors
/// Returns [`EngineError`] if the store fails.
pub fn settle_contacts(engine: &mut Engine, home: &Home) -> Result<(), EngineError> {
    let own = engine.address().identity;
    let files = NodeFiles::new(home);
    engine.transaction(|transaction: &mut Transaction<'_, '_>| {
        accept_contacts(transaction, &own, &files)?;
        arrivals::settle(transaction, &own, &files).map(drop)
    })
}

/// Accepts a person: the texts of the person's request go to the inbox, and so do later ones.
///
/// # Errors
/// Returns [`AcceptError`] if the person is blocked or the store fails.
pub fn accept(engine: &mut Engine, home: &Home, person: &PublicKey) -> Result<(), AcceptError> {
    let own = engine.address().identity;
    engine.transaction(|transaction: &mut Transaction<'_, '_>| {
        if *person == own {
            return Ok(());
        }
        if Rule::of(transaction, person)?.blocked.is_on() {
            return Err(AcceptError::Blocked);
        }
        Ok(change(transaction, &own, person, |rule| rule.accepted.turn(true)).map(drop)?)
    })?;
    Ok(settle_inbox(engine, home)?)
}
