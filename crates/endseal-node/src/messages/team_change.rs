//! Changes of teams that others made, for display.

use endseal_crypto::ed25519::PublicKey;
use endseal_keyring::Roster;
use serde::{Deserialize, Serialize};

use super::conversation::Conversation;
use super::conversation_text;
use crate::wire_text;

/// A change of a team that came into force, and that this device did not make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TeamChange {
    /// The team.
    #[serde(with = "conversation_text")]
    pub team: Conversation,
    /// Identity of the member who signed the change. `None` if several changes came at once, whose
    /// signers are not known.
    #[serde(with = "wire_text::optional_identity")]
    pub by: Option<PublicKey>,
    /// Difference between the rosters.
    #[serde(flatten)]
    pub kind: TeamChangeKind,
}

/// Kind of a change of a team.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TeamChangeKind {
    /// The team is new on this device, and this person is a member.
    Joined {
        /// Identity of the owner.
        #[serde(with = "wire_text::identity")]
        person: PublicKey,
    },
    /// The team got another name.
    Renamed {
        /// Name in the roster before.
        from: String,
        /// Name in the roster now.
        to: String,
    },
    /// A person became a member.
    Added {
        /// Identity of the member.
        #[serde(with = "wire_text::identity")]
        person: PublicKey,
        /// Name of the member in the roster.
        name: String,
    },
    /// A person is no member any more.
    Removed {
        /// Identity of the former member.
        #[serde(with = "wire_text::identity")]
        person: PublicKey,
        /// Name of the former member in the roster.
        name: String,
    },
    /// A member became the owner.
    Owner {
        /// Identity of the owner.
        #[serde(with = "wire_text::identity")]
        person: PublicKey,
        /// Name of the owner in the roster; empty if the owner is no member.
        name: String,
    },
    /// A member became an admin.
    Appointed {
        /// Identity of the member.
        #[serde(with = "wire_text::identity")]
        person: PublicKey,
        /// Name of the member in the roster.
        name: String,
    },
    /// A member is no admin any more.
    Dismissed {
        /// Identity of the member.
        #[serde(with = "wire_text::identity")]
        person: PublicKey,
        /// Name of the member in the roster.
        name: String,
    },
}

/// Returns the differences between the roster of a team that was here before, if there was one, and
/// the one that replaces it. `own` is this identity.
pub(super) fn between(before: Option<&Roster>, after: &Roster, own: &PublicKey) -> Vec<TeamChange> {
    let follows = before.is_some_and(|it| it.epoch() + 1 == after.epoch());
    let (team, by) = (Conversation::Group(*after.id()), follows.then(|| *after.signer()));
    let change = |kind| TeamChange { team, by, kind };
    let is_member = |roster: &Roster| roster.member_of_key(own).is_some();
    let Some(before) = before else {
        // A team of this person comes from another device.
        let is_new = is_member(after) && after.owner() != own;
        let joined = || change(TeamChangeKind::Joined { person: *after.owner() });
        return is_new.then(joined).into_iter().collect();
    };
    let named = |roster: &Roster, person: &PublicKey| {
        roster.member_of_key(person).map_or_else(String::new, |it| it.name().to_string())
    };
    if is_member(before) && !is_member(after) {
        let name = named(before, own);
        return vec![change(TeamChangeKind::Removed { person: *own, name })];
    }
    let mut kinds = Vec::new();
    if before.group() != after.group() {
        let (from, to) = (before.group().to_string(), after.group().to_string());
        kinds.push(TeamChangeKind::Renamed { from, to });
    }
    if before.owner() != after.owner() {
        let person = *after.owner();
        kinds.push(TeamChangeKind::Owner { person, name: named(after, &person) });
    }
    // The admins of a former owner end with the hand-over.
    for member in after.members() {
        let (person, name) = (*member.identity().ed25519(), member.name().to_string());
        let was_admin = before.is_admin(&person);
        if before.member_of_key(&person).is_none() {
            kinds.push(TeamChangeKind::Added { person, name: name.clone() });
        }
        match after.is_admin(&person) {
            true if !was_admin => kinds.push(TeamChangeKind::Appointed { person, name }),
            false if was_admin && *after.owner() != person => {
                kinds.push(TeamChangeKind::Dismissed { person, name });
            }
            _ => {}
        }
    }
    for member in before.members() {
        let person = *member.identity().ed25519();
        if after.member_of_key(&person).is_none() {
            kinds.push(TeamChangeKind::Removed { person, name: member.name().to_string() });
        }
    }
    kinds.into_iter().map(change).collect()
}
