//! Members of a group, epoch by epoch, signed by its owner or an admin (docs/spec/roster.md).
//!
//! ```text
//! Roster::create(…) ──> RosterDraft ── seal an EpochKey to the members under draft.context() ──┐
//!       ┌── roster.next_epoch(changes) <── Roster <── draft.sign(signer, sealed epoch key) <───┘
//! ```
//!
//! A [`Roster`] is signed by the owner it names, by an admin whom this owner appointed, or, in the
//! epoch in which the group was handed on, by the former owner. A caller that holds no roster of
//! the group MUST check that it knows the [`Roster::signing_owner`] as the owner of that group. A
//! caller MUST keep the newest roster and refuse older ones ([`Roster::follows`],
//! [`Roster::supersedes`]).

use alloc::boxed::Box;
use alloc::vec::Vec;

use endseal_crypto::ed25519;
use endseal_crypto::{hash, label};

use crate::name::Name;

mod appointment;
mod chain;
mod changes;
mod draft;
mod epoch_key;
mod error;
mod head;
mod ids;
mod members;
mod parse;
mod signed_text;
mod transfer;

pub use changes::RosterChanges;
pub use draft::RosterDraft;
pub use epoch_key::EpochKey;
pub use error::{
    ChangeRosterError, InvalidMembers, OwnerOnly, ParseRosterError, RosterChainError,
    SignRosterError,
};
pub use ids::{GroupId, InvalidHex, RosterDigest};
pub use members::Member;

use head::Head;
use members::Members;

/// Greatest number of members in a roster.
pub const MAX_MEMBERS: usize = 65_536;
/// Greatest length of a roster in bytes.
pub const MAX_LEN: usize = 64 << 20;
/// Greatest number of times that a group is handed on.
pub const MAX_TRANSFERS: usize = 16;
/// Greatest number of epochs from the roster held to one that an admin signed. Without this limit
/// an admin could sign the last epoch of all, which no other can follow.
pub const MAX_ADMIN_STEP: u64 = 65_536;

/// The members of a group in one epoch, signed by the group's owner or an admin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roster {
    head: Head,
    /// Digest of the head, for the context of the epoch key.
    head_digest: [u8; 32],
    sealed_epoch_key: Box<[u8]>,
    text: Box<str>,
}

impl Roster {
    /// The draft of a new group's first epoch.
    ///
    /// `owner` is the identity that will sign; it need not be a member.
    ///
    /// # Errors
    /// [`InvalidMembers`] if there are none, too many, or two of the same name or key.
    pub fn create(
        group: Name,
        id: GroupId,
        owner: ed25519::PublicKey,
        members: Vec<Member>,
    ) -> Result<RosterDraft, InvalidMembers> {
        Ok(RosterDraft::first(Head {
            group,
            id,
            epoch: 1,
            previous: None,
            owner,
            transfers: Box::default(),
            appointments: Vec::new(),
            signer: None,
            members: Members::new(members)?,
        }))
    }

    /// Reads a roster and verifies its signatures.
    ///
    /// # Errors
    /// [`ParseRosterError`], which says what is wrong with it.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseRosterError> {
        parse::parse(bytes)
    }

    /// The draft of the next epoch: the same group with those changes. Without any, only the epoch
    /// key changes.
    ///
    /// # Errors
    /// [`ChangeRosterError`] if a name in the changes is not a member or not an admin, or the
    /// result is not a valid list of members.
    pub fn next_epoch(&self, changes: &RosterChanges) -> Result<RosterDraft, ChangeRosterError> {
        Ok(RosterDraft::after(self, changes.apply(self)?))
    }

    /// Checks that this is the epoch right after `previous`, which the caller trusts.
    ///
    /// # Errors
    /// [`RosterChainError`], which says what does not fit.
    pub fn follows(&self, previous: &Self) -> Result<(), RosterChainError> {
        chain::follows(self, previous)
    }

    /// Checks that this is a later epoch of the same group as `known`, which the caller trusts,
    /// though epochs between them may be missing. Where none is missing, it checks the same as
    /// [`Self::follows`]. The owner is the same, or was made owner by those between. An admin who
    /// signed is one in `known`, or the owner appointed it between the two, and it did not exceed
    /// the rights of admins.
    ///
    /// # Errors
    /// [`RosterChainError`], which says what does not fit.
    pub fn supersedes(&self, known: &Self) -> Result<(), RosterChainError> {
        chain::supersedes(self, known)
    }

    /// Returns true if this is an earlier epoch of the same group than `later`, which the caller
    /// trusts: an old roster that need not be reported. Of two successive epochs the later one must
    /// name the digest of this one.
    #[must_use]
    pub fn precedes(&self, later: &Self) -> bool {
        chain::precedes(self, later)
    }

    /// The name that the owner or an admin gave the group.
    #[must_use]
    pub fn group(&self) -> &Name {
        &self.head.group
    }

    /// Returns the id of the group.
    #[must_use]
    pub fn id(&self) -> &GroupId {
        &self.head.id
    }

    /// The epoch of the roster; the first one is 1, and each change adds 1.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.head.epoch
    }

    /// The digest of the epoch before; none in the first.
    #[must_use]
    pub fn previous(&self) -> Option<&RosterDigest> {
        self.head.previous.as_ref()
    }

    /// Returns the key of the owner. It need not be the signer: see [`Self::signing_owner`].
    #[must_use]
    pub fn owner(&self) -> &ed25519::PublicKey {
        &self.head.owner
    }

    /// Returns the owner who signed this roster or appointed the admin who did: the former owner in
    /// the epoch in which the group was handed on, otherwise the owner. A caller that holds no
    /// roster of the group MUST check that this is the group's owner: everyone can sign a roster
    /// with a group's name and id.
    #[must_use]
    pub fn signing_owner(&self) -> &ed25519::PublicKey {
        self.head.signing_owner()
    }

    /// Returns the key that signed this roster and sealed its epoch key: of the
    /// [`Self::signing_owner`] or of an admin.
    #[must_use]
    pub fn signer(&self) -> &ed25519::PublicKey {
        self.head.signer()
    }

    /// The members who are admins, in the order of their names. They sign changes as the owner
    /// does, except for those that are [`OwnerOnly`].
    pub fn admins(&self) -> impl Iterator<Item = &Member> {
        self.head.appointments.iter().filter_map(|it| self.member(it.admin.as_str()))
    }

    /// Returns true if this is the key of an admin. The owner is none.
    #[must_use]
    pub fn is_admin(&self, key: &ed25519::PublicKey) -> bool {
        self.admins().any(|admin| admin.identity().ed25519() == key)
    }

    /// Returns true if this key can sign the next epoch: that of the owner or of an admin.
    #[must_use]
    pub fn may_change(&self, key: &ed25519::PublicKey) -> bool {
        key == self.owner() || self.is_admin(key)
    }

    /// Returns true if there are transfers or admins.
    pub(crate) fn has_rights(&self) -> bool {
        !self.head.transfers.is_empty() || !self.head.appointments.is_empty()
    }

    /// The members in the order of their names.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        self.head.members.as_slice()
    }

    /// Returns the member of a name, or `None` if there is none.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&Member> {
        self.head.members.find(name)
    }

    /// The member with that key. Takes time linear in the number of members.
    #[must_use]
    pub fn member_of_key(&self, key: &ed25519::PublicKey) -> Option<&Member> {
        self.members().iter().find(|member| member.identity().ed25519() == key)
    }

    /// The envelope with the [`EpochKey`]. It opens under [`Self::context`] only, and the caller
    /// MUST check that [`Self::signer`] is its sender.
    #[must_use]
    pub fn sealed_epoch_key(&self) -> &[u8] {
        &self.sealed_epoch_key
    }

    /// The context of the envelope with the epoch key.
    #[must_use]
    pub fn context(&self) -> Vec<u8> {
        self.head.context(&self.head_digest)
    }

    /// `BLAKE3-derive("endseal/roster@v1 digest", roster)`: what the next epoch names.
    #[must_use]
    pub fn digest(&self) -> RosterDigest {
        RosterDigest::from_bytes(hash::derive(label::ROSTER_DIGEST, &[self.as_bytes()]))
    }

    /// The roster as it is stored and sent.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

const MAGIC: &str = "endseal roster";
const VERSION: &str = "1";
const KEY: &str = "key";
const SIGNATURE: &str = "signature";
