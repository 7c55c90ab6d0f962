//! Content of a roster: all of it but the sealed epoch key and the signature.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

use endseal_crypto::ed25519;
use endseal_crypto::identity::PublicIdentity;
use endseal_crypto::{hash, label};

use super::{GroupId, MAGIC, Members, RosterDigest, VERSION};
use crate::identity_text;
use crate::name::Name;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) group: Name,
    pub(super) id: GroupId,
    pub(super) epoch: u64,
    pub(super) previous: Option<RosterDigest>,
    pub(super) owner: ed25519::PublicKey,
    pub(super) members: Members,
}

impl Head {
    /// The lines of the head.
    pub(super) fn encode(&self) -> String {
        let Self { group, id, epoch, .. } = self;
        let members = self.members.as_slice();
        let owner = identity_text::encode(&PublicIdentity::short(self.owner));
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = write!(text, "{MAGIC} v{VERSION}\n{GROUP} {group}\n{ID} {id}\n{EPOCH} {epoch}\n");
        let _ = match &self.previous {
            Some(digest) => writeln!(text, "{PREVIOUS} {digest}"),
            None => writeln!(text, "{PREVIOUS} {NONE}"),
        };
        let _ = write!(text, "{OWNER} {owner}\n{MEMBERS} {}\n", members.len());
        for member in members {
            let identity = identity_text::encode(member.identity());
            let _ = writeln!(text, "{MEMBER} {} {identity}", member.name());
        }
        text
    }

    /// `"endseal/roster@v1 epoch key" || 0x00 || id || le64(epoch) || BLAKE3-derive(head)`.
    pub(super) fn context(&self, text: &str) -> Vec<u8> {
        let digest = hash::derive(label::ROSTER_HEAD, &[text.as_bytes()]);
        let label = label::ROSTER_EPOCH_KEY.as_str().as_bytes();
        [label, &[0], self.id.as_bytes(), &self.epoch.to_le_bytes(), &digest].concat()
    }
}

pub(super) const GROUP: &str = "group";
pub(super) const ID: &str = "id";
pub(super) const EPOCH: &str = "epoch";
pub(super) const PREVIOUS: &str = "previous";
pub(super) const NONE: &str = "none";
pub(super) const OWNER: &str = "owner";
pub(super) const MEMBERS: &str = "members";
pub(super) const MEMBER: &str = "member";
