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
    /// If the name or the identity is there already, or there are [`MAX_ENTRIES`].
    pub fn add(&mut self, name: Name, identity: PublicIdentity) -> Result<(), ChangeContactsError> {
        if self.by_name.contains_key(&name) {
            return Err(ChangeContactsError::DuplicateName);
        }
        let key = without_sign(identity.ed25519());
        if let Some(name) = self.by_key.get(&key) {
            return Err(ChangeContactsError::DuplicateIdentity { name: name.clone() });
        }
        if self.len() == MAX_ENTRIES {
            return Err(ChangeContactsError::Full);
        }
        self.by_key.insert(key, name.clone());
        self.by_name.insert(name, identity);
        Ok(())
    }

    /// Gives an entry another name.
    ///
    /// # Errors
    /// If there is no such entry, or the new name is another's. Nothing was changed then.
    pub fn rename(&mut self, from: &Name, to: Name) -> Result<(), ChangeContactsError> {
        if !self.by_name.contains_key(from) {
            return Err(ChangeContactsError::Unknown);
        }
        if *from != to && self.by_name.contains_key(&to) {
            return Err(ChangeContactsError::DuplicateName);
        }
        let identity = self.remove(from)?;
        self.add(to, identity)
    }

    /// Replaces the identity of an entry, for example by its long form.
    ///
    /// # Errors
    /// If there is no such entry, or the identity is another's. Nothing was changed then.
    pub fn replace(
        &mut self,
        name: &Name,
        identity: PublicIdentity,
    ) -> Result<PublicIdentity, ChangeContactsError> {
        let other = self.by_key.get(&without_sign(identity.ed25519())).filter(|own| *own != name);
        if let Some(other) = other {
            return Err(ChangeContactsError::DuplicateIdentity { name: other.clone() });
        }
        let old = self.remove(name)?;
        self.add(name.clone(), identity)?;
        Ok(old)
    }

    /// Removes an entry.
    ///
    /// # Errors
    /// If there is no such entry.
    pub fn remove(&mut self, name: &Name) -> Result<PublicIdentity, ChangeContactsError> {
        let identity = self.by_name.remove(name).ok_or(ChangeContactsError::Unknown)?;
        self.by_key.remove(&without_sign(identity.ed25519()));
        Ok(identity)
    }
}

const HEADER: &str = "# endseal contacts: one \"name identity\" a line. Comments are not kept.\n";
