//! An epoch before it is signed.

use alloc::string::String;
use alloc::vec::Vec;

use base64ct::{Base64, Encoding as _};
use endseal_crypto::identity::Identity;

use super::head::Head;
use super::{
    ChangeRosterError, KEY, MAX_LEN, Member, Members, Roster, SIGNATURE, SignRosterError,
    signed_message,
};
use crate::name::Name;

/// Changes from one epoch to the next. Removals come first, so that a member can be replaced.
#[derive(Clone, Debug, Default)]
pub struct RosterChanges {
    remove: Vec<Name>,
    add: Vec<Member>,
}

impl RosterChanges {
    /// Makes an empty set of changes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Removes the member of this name. Removals come before additions.
    pub fn remove(&mut self, name: Name) -> &mut Self {
        self.remove.push(name);
        self
    }

    /// Adds a member with its name and identity.
    pub fn add(&mut self, member: Member) -> &mut Self {
        self.add.push(member);
        self
    }

    pub(super) fn apply(&self, members: &Members) -> Result<Members, ChangeRosterError> {
        let mut remove: Vec<_> = self.remove.iter().collect();
        remove.sort();
        if let Some(name) = remove.iter().find(|name| members.find(name.as_str()).is_none()) {
            return Err(ChangeRosterError::NotAMember((*name).clone()));
        }
        let stays = |member: &&Member| remove.binary_search(&member.name()).is_err();
        let stayed = members.as_slice().iter().filter(stays);
        Ok(Members::new(stayed.chain(&self.add).cloned().collect())?)
    }
}

/// An epoch that lacks its sealed key and its signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RosterDraft {
    head: Head,
    text: String,
}

impl RosterDraft {
    pub(super) fn new(head: Head) -> Self {
        let text = head.encode();
        Self { head, text }
    }

    /// The epoch of the draft; the first one is 1, and each change adds 1.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.head.epoch
    }

    /// The members in the order of their names. The epoch key MUST be sealed to exactly these.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        self.head.members.as_slice()
    }

    /// The context under which a fresh [`EpochKey`](super::EpochKey) MUST be sealed to the members,
    /// so that the envelope is of no use in another group, epoch or list of members.
    #[must_use]
    pub fn context(&self) -> Vec<u8> {
        self.head.context(&self.text)
    }

    /// Signs the draft. `sealed_epoch_key` is an envelope from `owner` to [`Self::members`] under
    /// [`Self::context`]. It is not opened here.
    ///
    /// # Errors
    /// [`SignRosterError`] if `owner` is not the owner of the group, or the roster becomes too
    /// long.
    pub fn sign(
        self,
        owner: &Identity,
        sealed_epoch_key: &[u8],
    ) -> Result<Roster, SignRosterError> {
        if *owner.public().ed25519() != self.head.owner {
            return Err(SignRosterError::NotOwner);
        }
        if sealed_epoch_key.is_empty() {
            return Err(SignRosterError::NoEpochKey);
        }
        if self.text.len().saturating_add(sealed_epoch_key.len()) > MAX_LEN {
            return Err(SignRosterError::TooLong);
        }
        let head_len = self.text.len();
        let mut text = self.text;
        push_field(&mut text, KEY, sealed_epoch_key);
        let signature = owner.signing().sign(&signed_message(&text));
        push_field(&mut text, SIGNATURE, signature.as_bytes());
        if text.len() > MAX_LEN {
            return Err(SignRosterError::TooLong);
        }
        Ok(Roster {
            head: self.head,
            head_len,
            sealed_epoch_key: sealed_epoch_key.into(),
            text: text.into(),
        })
    }
}

fn push_field(text: &mut String, field: &str, value: &[u8]) {
    text.push_str(field);
    text.push(' ');
    text.push_str(&Base64::encode_string(value));
    text.push('\n');
}
