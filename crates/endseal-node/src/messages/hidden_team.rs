//! Teams whose owners are not known (docs/spec/node.md, "Teams"): their texts are not shown until
//! the owner is a contact or accepted, or the roster was imported.

use endseal_crypto::ed25519::PublicKey;
use endseal_keyring::Roster;
use endseal_keyring::roster::GroupId;
use endseal_session::EngineError;
use serde::{Deserialize, Serialize};

use super::in_force;
use super::node_files::{NodeFiles, RosterResult};
use super::records::{HIDDEN_TEAM, Transaction};
use crate::wire_text;

/// Limit on the teams that are hidden.
const MAX_TEAMS: usize = 64;
/// Limit on the texts of a hidden team that wait.
pub(super) const MAX_TEXTS: u64 = 100;

/// A team whose texts wait, because its owner is not known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TeamRequest {
    /// Owner of the team, or its former owner if the roster hands it on: the identity that must be
    /// a contact or accepted.
    #[serde(with = "wire_text::identity")]
    pub owner: PublicKey,
    /// Name that the owner gave the team.
    pub name: String,
}

/// A team that is hidden.
pub(super) struct HiddenTeam {
    /// Number of texts that wait.
    pub(super) texts: u64,
    pub(super) roster: Roster,
}

impl HiddenTeam {
    pub(super) fn of(
        transaction: &Transaction<'_, '_>,
        team: &GroupId,
    ) -> Result<Option<Self>, EngineError> {
        let value = transaction.record(HIDDEN_TEAM, team.as_bytes())?;
        value.map(|value| Self::read(&value)).transpose()
    }

    fn read(value: &[u8]) -> Result<Self, EngineError> {
        let team = value.split_first_chunk().and_then(|(texts, roster)| {
            let roster = Roster::parse(roster).ok()?;
            Some(Self { texts: u64::from_le_bytes(*texts), roster })
        });
        team.ok_or(EngineError::Damaged("hidden team"))
    }

    /// Writes the record: number of texts (8) || roster.
    pub(super) fn put(&self, transaction: &Transaction<'_, '_>) -> Result<(), EngineError> {
        let value = [&self.texts.to_le_bytes()[..], self.roster.as_bytes()].concat();
        transaction.put_record(HIDDEN_TEAM, self.roster.id().as_bytes(), &value)
    }

    /// Returns what the user learns of the team.
    pub(super) fn request(&self) -> TeamRequest {
        let (owner, name) = (*self.roster.signing_owner(), self.roster.group().as_str().to_owned());
        TeamRequest { owner, name }
    }

    /// Returns true if another team may be hidden.
    pub(super) fn has_room(transaction: &Transaction<'_, '_>) -> Result<bool, EngineError> {
        Ok(transaction.records_after(HIDDEN_TEAM, &[], MAX_TEAMS)?.len() < MAX_TEAMS)
    }

    /// Returns all hidden teams.
    pub(super) fn all(transaction: &Transaction<'_, '_>) -> Result<Vec<Self>, EngineError> {
        let page = transaction.records_after(HIDDEN_TEAM, &[], MAX_TEAMS)?;
        page.iter().map(|(_, value)| Self::read(value)).collect()
    }
}

/// Shows the teams whose owners are known now, and returns them.
pub(super) fn show_known(
    transaction: &Transaction<'_, '_>,
    files: &NodeFiles<'_>,
    own: &PublicKey,
) -> Result<Vec<GroupId>, EngineError> {
    let mut shown = Vec::new();
    for team in HiddenTeam::all(transaction)? {
        if in_force::keep(transaction, files, &team.roster, own)? == RosterResult::Kept {
            transaction.remove_record(HIDDEN_TEAM, team.roster.id().as_bytes())?;
            shown.push(*team.roster.id());
        }
    }
    Ok(shown)
}

/// Counts the texts of hidden teams that wait.
pub(super) fn count_texts(transaction: &Transaction<'_, '_>) -> Result<u64, EngineError> {
    Ok(HiddenTeam::all(transaction)?.iter().map(|team| team.texts).sum())
}
