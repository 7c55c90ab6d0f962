//! Changes of a rule that other devices of this person are to learn of (docs/spec/node.md, "Rules
//! about persons").

use endseal_crypto::ed25519::PublicKey;
use endseal_session::EngineError;

use super::due;
use super::known_record::known_in;
use super::node_files::NodeFiles;
use super::records::Transaction;
use super::rule::{Rule, StoredRule};

/// Changes the rule about a person, and notes that the other devices of this person are to learn of
/// it. `own` is this identity. Returns the rule before.
pub(super) fn change(
    transaction: &Transaction<'_, '_>,
    own: &PublicKey,
    person: &PublicKey,
    work: impl FnOnce(&mut Rule),
) -> Result<StoredRule, EngineError> {
    let before = StoredRule::of(transaction, person)?;
    let mut rule = before.rule;
    work(&mut rule);
    if rule != before.rule {
        StoredRule { rule, ..before }.put(transaction, person)?;
        if let Some(record) = known_in(transaction, own)? {
            due::note_rules_of(transaction, &record)?;
        }
    }
    Ok(before)
}

/// Accepts the contacts, so that they are known to the other devices of this person, too. `own` is
/// this identity.
pub(super) fn accept_contacts(
    transaction: &Transaction<'_, '_>,
    own: &PublicKey,
    files: &NodeFiles<'_>,
) -> Result<(), EngineError> {
    let record = known_in(transaction, own)?;
    if record.is_none_or(|record| record.devices().count() == 1) {
        return Ok(());
    }
    for (_, contact) in files.contacts().iter() {
        let person = contact.ed25519();
        if person != own {
            change(transaction, own, person, |rule| rule.accepted.infer())?;
        }
    }
    Ok(())
}
