//! Latest epochs of rosters that are known to have been in force in a group of their team.

use endseal_crypto::ed25519::PublicKey;
use endseal_keyring::Roster;
use endseal_keyring::roster::GroupId;
use endseal_session::EngineError;

use super::conversation::Conversation;
use super::node_files::{NodeFiles, RosterResult};
use super::records::{self, IN_FORCE, Transaction};
use super::rule::Rule;
use super::text_id::TextId;

/// Returns the latest epoch of the roster of a team that was in force; 0 if none was.
pub(super) fn of(transaction: &Transaction<'_, '_>, team: &GroupId) -> Result<u64, EngineError> {
    match transaction.record(IN_FORCE, team.as_bytes())? {
        Some(value) => records::number(&value).ok_or(EngineError::Damaged("roster in force")),
        None => Ok(0),
    }
}

/// Notes that a roster of a team is in force.
pub(super) fn note(
    transaction: &Transaction<'_, '_>,
    team: &GroupId,
    epoch: u64,
) -> Result<(), EngineError> {
    if epoch > of(transaction, team)? {
        transaction.put_record(IN_FORCE, team.as_bytes(), &epoch.to_le_bytes())?;
    }
    Ok(())
}

/// Keeps a roster that came in a conversation, and is in force there. `own` is this identity.
pub(super) fn keep(
    transaction: &Transaction<'_, '_>,
    files: &NodeFiles<'_>,
    roster: &Roster,
    own: &PublicKey,
) -> Result<RosterResult, EngineError> {
    let owner = roster.signing_owner();
    let rule = Rule::of(transaction, owner)?;
    let is_known = !rule.blocked.is_on()
        && (rule.accepted.is_on()
            || TextId::has_written_in(transaction, &Conversation::Person(*owner))?);
    let in_force = of(transaction, roster.id())?;
    let result = files.keep_roster(roster, own, in_force, is_known);
    if result == RosterResult::Kept {
        note(transaction, roster.id(), roster.epoch())?;
    }
    Ok(result)
}
