//! Content of a roster: all of it but the sealed epoch key and the signature.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

use endseal_crypto::ed25519;
use endseal_crypto::identity::PublicIdentity;
use endseal_crypto::{hash, label};

use super::appointment::Appointment;
use super::transfer::Transfer;
use super::{GroupId, MAGIC, Members, RosterDigest, VERSION, transfer};
use crate::identity_text;
use crate::name::Name;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) group: Name,
    pub(super) id: GroupId,
    pub(super) epoch: u64,
    pub(super) previous: Option<RosterDigest>,
    pub(super) owner: ed25519::PublicKey,
    /// Transfers of the group from its first owner on, oldest first.
    pub(super) transfers: Box<[Transfer]>,
    /// Appointments of the admins, sorted by name.
    pub(super) appointments: Vec<Appointment>,
    /// Name of the admin who signs instead of the owner.
    pub(super) signer: Option<Name>,
    pub(super) members: Members,
}

impl Head {
    /// The lines up to the owner.
    pub(super) fn encode_opening(&self) -> String {
        let Self { group, id, epoch, .. } = self;
        let owner = identity_text::encode(&PublicIdentity::short(self.owner));
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = write!(text, "{MAGIC} v{VERSION}\n{GROUP} {group}\n{ID} {id}\n{EPOCH} {epoch}\n");
        let _ = match &self.previous {
            Some(digest) => writeln!(text, "{PREVIOUS} {digest}"),
            None => writeln!(text, "{PREVIOUS} {NONE}"),
        };
        let _ = writeln!(text, "{OWNER} {owner}");
        text
    }

    /// The lines of transfers, admins and the signer, which are not part of the head's digest.
    pub(super) fn encode_rights(&self) -> String {
        let mut text = String::new();
        self.transfers.iter().for_each(|transfer| transfer.push(&mut text));
        self.appointments.iter().for_each(|appointment| appointment.push(&mut text));
        if let Some(signer) = &self.signer {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{SIGNER} {signer}");
        }
        text
    }

    /// The lines of the members and of their number.
    pub(super) fn encode_members(&self) -> String {
        let members = self.members.as_slice();
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{MEMBERS} {}", members.len());
        for member in members {
            let identity = identity_text::encode(member.identity());
            let _ = writeln!(text, "{MEMBER} {} {identity}", member.name());
        }
        text
    }

    /// Returns the appointment of the admin of that name.
    pub(super) fn appointment(&self, admin: &str) -> Option<&Appointment> {
        let found = self.appointments.binary_search_by(|it| it.admin.as_str().cmp(admin));
        found.ok().map(|at| &self.appointments[at])
    }

    /// Returns the key that signs the roster: of the admin that it names, otherwise of the signing
    /// owner.
    pub(super) fn signer(&self) -> &ed25519::PublicKey {
        let admin = self.signer.as_ref().and_then(|name| self.members.find(name.as_str()));
        admin.map_or_else(|| self.signing_owner(), |admin| admin.identity().ed25519())
    }

    /// Returns the former owner in the epoch of a transfer, otherwise the owner.
    pub(super) fn signing_owner(&self) -> &ed25519::PublicKey {
        transfer::signing_owner(&self.transfers, self.epoch, &self.owner)
    }

    /// `"endseal/roster@v1 epoch key" || 0x00 || id || le64(epoch) || digest of the head`.
    pub(super) fn context(&self, digest: &[u8; 32]) -> Vec<u8> {
        let label = label::ROSTER_EPOCH_KEY.as_str().as_bytes();
        [label, &[0], self.id.as_bytes(), &self.epoch.to_le_bytes(), digest].concat()
    }
}

/// `BLAKE3-derive("endseal/roster@v1 head", head)`: the lines up to the owner, and those of the
/// members.
pub(super) fn digest(opening: &str, members: &str) -> [u8; 32] {
    hash::derive(label::ROSTER_HEAD, &[opening.as_bytes(), members.as_bytes()])
}

pub(super) const GROUP: &str = "group";
pub(super) const ID: &str = "id";
pub(super) const EPOCH: &str = "epoch";
pub(super) const PREVIOUS: &str = "previous";
pub(super) const NONE: &str = "none";
pub(super) const OWNER: &str = "owner";
pub(super) const SIGNER: &str = "signer";
pub(super) const MEMBERS: &str = "members";
pub(super) const MEMBER: &str = "member";
