//! The list of members: sorted by name, no name and no key twice.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use endseal_crypto::identity::PublicIdentity;

use super::{InvalidMembers, MAX_MEMBERS};
use crate::identity_text::without_sign;
use crate::name::Name;

/// One member of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    name: Name,
    identity: PublicIdentity,
}

impl Member {
    /// A member under a name that the owner of the group chooses.
    #[must_use]
    pub fn new(name: Name, identity: PublicIdentity) -> Self {
        Self { name, identity }
    }

    /// The name of the member in this group.
    #[must_use]
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// The identity. It has an ML-KEM-768 key if the owner knew one.
    #[must_use]
    pub fn identity(&self) -> &PublicIdentity {
        &self.identity
    }
}

/// The members of a group, sorted by name, without duplicates, and within the limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Members(Box<[Member]>);

impl Members {
    /// Sorts the members by name and checks the list.
    pub(super) fn new(mut members: Vec<Member>) -> Result<Self, InvalidMembers> {
        members.sort_by(|a, b| a.name.cmp(&b.name));
        if let Some(pair) = members.windows(2).find(|pair| pair[0].name == pair[1].name) {
            return Err(InvalidMembers::DuplicateName(pair[0].name.clone()));
        }
        Self::from_sorted(members)
    }

    /// Checks a list whose names are sorted and different.
    pub(super) fn from_sorted(members: Vec<Member>) -> Result<Self, InvalidMembers> {
        if members.is_empty() {
            return Err(InvalidMembers::Empty);
        }
        if members.len() > MAX_MEMBERS {
            return Err(InvalidMembers::TooMany);
        }
        let mut by_key = BTreeMap::new();
        for member in &members {
            let key = without_sign(member.identity.ed25519());
            if let Some(first) = by_key.insert(key, &member.name) {
                let (first, second) = (first.clone(), member.name.clone());
                return Err(InvalidMembers::DuplicateKey { first, second });
            }
        }
        Ok(Self(members.into_boxed_slice()))
    }

    pub(super) fn as_slice(&self) -> &[Member] {
        &self.0
    }

    pub(super) fn find(&self, name: &str) -> Option<&Member> {
        let found = self.0.binary_search_by(|member| member.name.as_str().cmp(name));
        found.ok().map(|i| &self.0[i])
    }
}
