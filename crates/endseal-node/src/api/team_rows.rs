//! Rows of the replies to `teams` and `members`.

use endseal_crypto::ed25519::PublicKey;
use serde::{Deserialize, Serialize};

use crate::messages::{Conversation, conversation_text};
use crate::wire_text;

/// A team of which a roster is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TeamRow {
    /// The team.
    #[serde(with = "conversation_text")]
    pub team: Conversation,
    /// Local name of the team.
    pub name: String,
    /// Epoch of the newest roster that is known.
    pub epoch: u64,
    /// Identity of the owner.
    #[serde(with = "wire_text::identity")]
    pub owner: PublicKey,
    /// Number of the members in the roster.
    pub members: u64,
    /// True if the roster has this identity, and it has not left the team.
    pub is_member: bool,
}

/// A member of a team.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MemberRow {
    /// Position in the roster, counted from 1.
    pub number: u64,
    /// Identity of the member.
    #[serde(with = "wire_text::identity")]
    pub person: PublicKey,
    /// Name of the member in the team.
    pub name: String,
    /// True if the member may change the team as the owner does.
    pub is_admin: bool,
}
