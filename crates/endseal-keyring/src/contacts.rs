//! The address book: public identities under names of one's own choice (docs/spec/identity.md,
//! "Contacts").

use alloc::collections::BTreeMap;
use alloc::string::String;
use core::fmt::Write as _;

use endseal_crypto::ed25519;
use endseal_crypto::identity::PublicIdentity;

use crate::identity_text::{self, without_sign};
use crate::name::Name;

mod error;
mod parse;

pub use error::{ChangeContactsError, ContactProblem, ParseContactsError};

/// Entries at most.
pub const MAX_ENTRIES: usize = 65_536;
/// Longest address book in bytes.
pub const MAX_LEN: usize = 64 << 20;

/// Names and identities, one to one.
///
/// An identity is known by its Ed25519 key: the same key with and without an ML-KEM-768 key is the
/// same contact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contacts {
    by_name: BTreeMap<Name, PublicIdentity>,
    by_key: BTreeMap<[u8; ed25519::PublicKey::LEN], Name>,
    /// Length of all entries as text, so that none is added that could not be read again.
    entries_len: usize,
}

impl Contacts {
    /// An empty address book.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads an address book. Comments, blank lines and any order are allowed.
    ///
    /// # Errors
    /// [`ParseContactsError`], with the line.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseContactsError> {
        parse::parse(bytes)
    }

    /// The address book as text: sorted by name, without the comments it may have had.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::from(HEADER);
        for (name, identity) in self.iter() {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name} {}", identity_text::encode(identity));
        }
        text
    }

    /// The identity of a name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&PublicIdentity> {
        self.by_name.get(name)
    }

    /// The name of whoever has that key.
    #[must_use]
    pub fn name_of(&self, key: &ed25519::PublicKey) -> Option<&Name> {
        let name = self.by_key.get(&without_sign(key))?;
        self.by_name.get(name).filter(|identity| identity.ed25519() == key).map(|_| name)
    }

    /// All entries in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&Name, &PublicIdentity)> {
        self.by_name.iter()
    }

    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// If the name or the identity is there already, or the address book is full.
    pub fn add(&mut self, name: Name, identity: PublicIdentity) -> Result<(), ChangeContactsError> {
        if self.by_name.contains_key(&name) {
            return Err(ChangeContactsError::DuplicateName);
        }
        if let Some(name) = self.by_key.get(&without_sign(identity.ed25519())) {
            return Err(ChangeContactsError::DuplicateIdentity { name: name.clone() });
        }
        self.check_room(0, entry_len(&name, &identity))?;
        if self.len() == MAX_ENTRIES {
            return Err(ChangeContactsError::Full);
        }
        self.insert(name, identity);
        Ok(())
    }

    /// Gives an entry another name.
    ///
    /// # Errors
    /// If there is no such entry, the new name is another's, or the address book is full. Nothing was
    /// changed then.
    pub fn rename(&mut self, from: &Name, to: Name) -> Result<(), ChangeContactsError> {
        let identity = self.by_name.get(from).ok_or(ChangeContactsError::Unknown)?;
        if *from != to && self.by_name.contains_key(&to) {
            return Err(ChangeContactsError::DuplicateName);
        }
        self.check_room(entry_len(from, identity), entry_len(&to, identity))?;
        let identity = self.remove(from)?;
        self.insert(to, identity);
        Ok(())
    }

    /// Replaces the identity of an entry, for example by its long form.
    ///
    /// # Errors
    /// If there is no such entry, the identity is another's, or the address book is full. Nothing was
    /// changed then.
    pub fn replace(
        &mut self,
        name: &Name,
        identity: PublicIdentity,
    ) -> Result<PublicIdentity, ChangeContactsError> {
        let old = self.by_name.get(name).ok_or(ChangeContactsError::Unknown)?;
        let other = self.by_key.get(&without_sign(identity.ed25519())).filter(|own| *own != name);
        if let Some(other) = other {
            return Err(ChangeContactsError::DuplicateIdentity { name: other.clone() });
        }
        self.check_room(entry_len(name, old), entry_len(name, &identity))?;
        let old = self.remove(name)?;
        self.insert(name.clone(), identity);
        Ok(old)
    }

    /// Removes an entry.
    ///
    /// # Errors
    /// If there is no such entry.
    pub fn remove(&mut self, name: &Name) -> Result<PublicIdentity, ChangeContactsError> {
        let identity = self.by_name.remove(name).ok_or(ChangeContactsError::Unknown)?;
        self.by_key.remove(&without_sign(identity.ed25519()));
        self.entries_len -= entry_len(name, &identity);
        Ok(identity)
    }

    fn insert(&mut self, name: Name, identity: PublicIdentity) {
        self.entries_len += entry_len(&name, &identity);
        self.by_key.insert(without_sign(identity.ed25519()), name.clone());
        self.by_name.insert(name, identity);
    }

    fn check_room(&self, removed: usize, added: usize) -> Result<(), ChangeContactsError> {
        let len = HEADER.len() + self.entries_len - removed + added;
        if len > MAX_LEN { Err(ChangeContactsError::Full) } else { Ok(()) }
    }
}

/// Length of the line of an entry.
fn entry_len(name: &Name, identity: &PublicIdentity) -> usize {
    name.as_str().len() + " \n".len() + identity_text::encoded_len(identity)
}

const HEADER: &str = "# endseal contacts: one \"name identity\" a line. Comments are not kept.\n";

#[cfg(test)]
mod tests {
    use endseal_crypto::identity::Identity;
    use endseal_crypto::mlkem768;

    use super::*;

    #[test]
    fn the_length_of_the_text_is_known_before_it_is_written() {
        let identity = |n| {
            let seed = ed25519::Seed::from_bytes(&[n; 32]);
            Identity::from_seeds(seed, mlkem768::Seed::from_bytes(&[n; 64])).public().clone()
        };
        let name = |text| Name::new(text).unwrap();
        let mut contacts = Contacts::new();
        let check = |contacts: &Contacts| {
            assert_eq!(HEADER.len() + contacts.entries_len, contacts.to_text().len());
        };
        contacts.add(name("bob"), identity(1)).unwrap();
        contacts.add(name("alice"), PublicIdentity::new(*identity(2).ed25519(), None)).unwrap();
        check(&contacts);
        contacts.rename(&name("bob"), name("robert")).unwrap();
        check(&contacts);
        contacts.replace(&name("alice"), identity(2)).unwrap();
        check(&contacts);
        contacts.remove(&name("robert")).unwrap();
        check(&contacts);
        let room = MAX_LEN - contacts.to_text().len();
        assert_eq!(contacts.check_room(0, room), Ok(()));
        assert_eq!(contacts.check_room(0, room + 1), Err(ChangeContactsError::Full));
        assert_eq!(contacts.check_room(1, room + 1), Ok(()));
    }
}
