//! Members of a group, epoch by epoch, signed by its owner (docs/spec/roster.md).
//!
//! ```text
//! Roster::create(…) ──> RosterDraft ── seal an EpochKey to the members under draft.context() ──┐
//!       ┌── roster.next_epoch(changes) <── Roster <── draft.sign(owner, sealed epoch key) <────┘
//! ```
//!
//! A [`Roster`] is signed by the owner it names. A caller that reads one MUST also check that it is
//! the owner of that group ([`Roster::owner`]), and MUST keep the newest roster and refuse older
//! ones ([`Roster::follows`], [`Roster::supersedes`]).

use alloc::boxed::Box;
use alloc::vec::Vec;

use endseal_crypto::ed25519;
use endseal_crypto::{hash, label};

use crate::name::Name;

mod chain;
mod draft;
mod epoch_key;
mod error;
mod head;
mod ids;
mod members;
mod parse;

pub use draft::{RosterChanges, RosterDraft};
pub use epoch_key::EpochKey;
pub use error::{
    ChangeRosterError, InvalidMembers, ParseRosterError, RosterChainError, SignRosterError,
};
pub use ids::{GroupId, InvalidHex, RosterDigest};
pub use members::Member;

use head::Head;
use members::Members;

/// Greatest number of members in a roster.
pub const MAX_MEMBERS: usize = 65_536;
/// Greatest length of a roster in bytes.
pub const MAX_LEN: usize = 64 << 20;

/// The members of a group in one epoch, signed by the group's owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roster {
    head: Head,
    /// Length of the lines before the key.
    head_len: usize,
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
        let members = Members::new(members)?;
        Ok(RosterDraft::new(Head { group, id, epoch: 1, previous: None, owner, members }))
    }

    /// Reads a roster and verifies its signature.
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
    /// [`ChangeRosterError`] if a removed name is not a member, or the result is not a valid list
    /// of members.
    pub fn next_epoch(&self, changes: &RosterChanges) -> Result<RosterDraft, ChangeRosterError> {
        let epoch = self.epoch().checked_add(1).ok_or(ChangeRosterError::LastEpoch)?;
        Ok(RosterDraft::new(Head {
            group: self.head.group.clone(),
            id: self.head.id,
            epoch,
            previous: Some(self.digest()),
            owner: self.head.owner,
            members: changes.apply(&self.head.members)?,
        }))
    }

    /// Checks that this is the epoch right after `previous`, which the caller trusts.
    ///
    /// # Errors
    /// [`RosterChainError`], which says what does not fit.
    pub fn follows(&self, previous: &Self) -> Result<(), RosterChainError> {
        chain::follows(self, previous)
    }

    /// Checks that this is a later epoch of the same group and owner as `known`, which the caller
    /// trusts, though epochs between them may be missing. Where none is missing, it checks the same
    /// as [`Self::follows`].
    ///
    /// # Errors
    /// [`RosterChainError`], which says what does not fit.
    pub fn supersedes(&self, known: &Self) -> Result<(), RosterChainError> {
        chain::supersedes(self, known)
    }

    /// The name that the owner gave the group.
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

    /// Returns the key of the signer. The caller MUST check that it is the owner of the group:
    /// everyone can sign a roster with a group's name and id.
    #[must_use]
    pub fn owner(&self) -> &ed25519::PublicKey {
        &self.head.owner
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
    /// MUST check that the owner is its sender.
    #[must_use]
    pub fn sealed_epoch_key(&self) -> &[u8] {
        &self.sealed_epoch_key
    }

    /// The context of the envelope with the epoch key.
    #[must_use]
    pub fn context(&self) -> Vec<u8> {
        self.head.context(&self.text[..self.head_len])
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

/// Returns the message that the owner signs: `"endseal/roster@v1 signature" || 0x00 ||
/// BLAKE3(body)`.
fn signed_message(body: &str) -> Vec<u8> {
    let digest = hash::digest(body.as_bytes());
    [label::ROSTER_SIGNATURE.as_str().as_bytes(), &[0], &digest].concat()
}

const MAGIC: &str = "endseal roster";
const VERSION: &str = "1";
const KEY: &str = "key";
const SIGNATURE: &str = "signature";
