//! Names of persons and groups, for display.

use std::collections::{BTreeMap, HashMap};

use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::identity::PublicIdentity;
use endseal_keyring::roster::GroupId;
use endseal_keyring::{Contacts, IdentityText};
use endseal_node::Home;

use crate::failure::Failure;

/// Contacts, and the groups with known rosters.
pub(crate) struct Names {
    contacts: Contacts,
    groups: BTreeMap<GroupId, Group>,
}

struct Group {
    name: String,
    /// Names of the members in the newest roster.
    members: HashMap<PublicKey, String>,
}

impl Names {
    /// Reads the names. Groups whose roster cannot be read are left out.
    pub(crate) fn load(home: &Home) -> Result<Self, Failure> {
        let names = home.groups().list().unwrap_or_default();
        let group = |name| {
            let roster = home.groups().current(name).ok()?;
            let members = roster.members().iter();
            let member = |it: &endseal_keyring::roster::Member| {
                (*it.identity().ed25519(), it.name().to_string())
            };
            let members = members.map(member).collect();
            Some((*roster.id(), Group { name: name.to_string(), members }))
        };
        Ok(Self { contacts: home.contacts()?, groups: names.iter().filter_map(group).collect() })
    }

    /// Returns the local name of a group, or else its id.
    pub(crate) fn group(&self, id: &GroupId) -> String {
        self.groups.get(id).map_or_else(|| id.to_string(), |group| group.name.clone())
    }

    /// Returns the name of a contact; `None` if the key is not a contact.
    pub(crate) fn contact(&self, key: &PublicKey) -> Option<String> {
        self.contacts.name_of(key).map(ToString::to_string)
    }

    /// Returns the name of a member in the newest roster of a group. Without a group, searches all
    /// groups and returns the first match.
    pub(crate) fn member(&self, key: &PublicKey, group: Option<&GroupId>) -> Option<String> {
        let mut groups = self.groups.iter().filter(|(id, _)| group.is_none_or(|it| it == *id));
        groups.find_map(|(_, group)| group.members.get(key).cloned())
    }

    /// Returns the name of a contact. Otherwise returns the identity, with the name in a roster if
    /// there is one: what the user needs to accept or block the person.
    pub(crate) fn identified(&self, key: &PublicKey) -> String {
        let identity = || match self.member(key, None) {
            Some(name) => format!("{} ({name} in a group)", identity_text(*key)),
            None => identity_text(*key),
        };
        self.contact(key).unwrap_or_else(identity)
    }

    /// Returns the name of a contact. Otherwise returns the name in a roster ([`Self::member`])
    /// with a mark that no contact name can have, and otherwise the identity as text.
    pub(crate) fn person(&self, key: &PublicKey, group: Option<&GroupId>) -> String {
        let member = || self.member(key, group).map(|name| format!("{name} (no contact)"));
        self.contact(key).or_else(member).unwrap_or_else(|| identity_text(*key))
    }
}

/// Formats a public identity in its short form, without an ML-KEM key.
pub(crate) fn identity_text(key: PublicKey) -> String {
    IdentityText::from(PublicIdentity::short(key)).to_string()
}
