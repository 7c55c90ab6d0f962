//! Names that the user chooses for identities and machines of others (docs/spec/identity.md,
//! "Contacts" and "Peers").

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::name::Name;

mod error;
mod parse;

pub use error::{ChangeBookError, EntryProblem, ParseBookError};

/// Greatest number of entries in an address book.
pub const MAX_ENTRIES: usize = 65_536;
/// Greatest length of an address book in bytes.
pub const MAX_LEN: usize = 64 << 20;

/// Bytes by which an entry is known.
pub(crate) type Key = [u8; 32];

/// Entry of an address book.
pub trait Listed: Clone + fmt::Debug + Send + Sync + 'static {
    /// Reason why a word is not an entry.
    type Error: Clone + core::error::Error + fmt::Debug + Eq + Send + Sync + 'static;
    /// The first line that is written.
    #[doc(hidden)]
    const HEADER: &'static str;
    /// Noun for an entry in error messages, such as "an identity".
    #[doc(hidden)]
    const NOUN: &'static str;

    /// Key of the entry: two entries with the same key are the same entry.
    #[doc(hidden)]
    fn key(&self) -> Key;
    /// Length in bytes of the entry's text, which [`Self::write`] appends.
    #[doc(hidden)]
    fn text_len(&self) -> usize;
    /// Appends the entry's text, as it stands in a line of the book.
    #[doc(hidden)]
    fn write(&self, out: &mut String);
    /// Decodes words, which together may cost less than one by one. The error has the index.
    #[doc(hidden)]
    fn decode_many(words: &[&str]) -> Result<Vec<Self>, (usize, Self::Error)>;
}

/// Names and entries, one to one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressBook<T> {
    by_name: BTreeMap<Name, T>,
    by_key: BTreeMap<Key, Name>,
    /// Length of all entries as text, so that none is added that could not be read again.
    entries_len: usize,
}

impl<T> Default for AddressBook<T> {
    fn default() -> Self {
        Self { by_name: BTreeMap::new(), by_key: BTreeMap::new(), entries_len: 0 }
    }
}

impl<T: Listed> AddressBook<T> {
    /// Makes an address book without entries.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads an address book. Comments, blank lines and any order are allowed.
    ///
    /// # Errors
    /// [`ParseBookError`], with the line.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseBookError<T>> {
        parse::parse(bytes)
    }

    /// The address book as text: sorted by name, without the comments it may have had.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::from(T::HEADER);
        for (name, entry) in self.iter() {
            text.push_str(name.as_str());
            text.push(' ');
            entry.write(&mut text);
            text.push('\n');
        }
        text
    }

    /// Returns the entry of a name, or `None` if there is none.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&T> {
        self.by_name.get(name)
    }

    /// The name under which a key is listed, and its entry. `None` if the key is not in the book.
    pub(crate) fn of_key(&self, key: &Key) -> Option<(&Name, &T)> {
        self.by_name.get_key_value(self.by_key.get(key)?.as_str())
    }

    /// All entries in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&Name, &T)> {
        self.by_name.iter()
    }

    /// Number of entries in the book.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Returns true if there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// Adds an entry under a name that is not in the book yet.
    ///
    /// # Errors
    /// If the name or the entry is there already, or the address book is full.
    pub fn add(&mut self, name: Name, entry: T) -> Result<(), ChangeBookError> {
        if self.by_name.contains_key(&name) {
            return Err(ChangeBookError::DuplicateName);
        }
        if let Some(name) = self.by_key.get(&entry.key()) {
            return Err(ChangeBookError::DuplicateEntry { name: name.clone() });
        }
        self.check_room(0, entry_len(&name, &entry))?;
        if self.len() == MAX_ENTRIES {
            return Err(ChangeBookError::Full);
        }
        self.insert(name, entry);
        Ok(())
    }

    /// Changes the name of an entry.
    ///
    /// # Errors
    /// If there is no such entry, the new name is another's, or the address book is full. Nothing
    /// was changed then.
    pub fn rename(&mut self, from: &Name, to: Name) -> Result<(), ChangeBookError> {
        let entry = self.by_name.get(from).ok_or(ChangeBookError::Unknown)?;
        if *from != to && self.by_name.contains_key(&to) {
            return Err(ChangeBookError::DuplicateName);
        }
        self.check_room(entry_len(from, entry), entry_len(&to, entry))?;
        let entry = self.remove(from)?;
        self.insert(to, entry);
        Ok(())
    }

    /// Replaces the entry of that name, for example by its long form.
    ///
    /// # Errors
    /// If there is no such entry, the entry is another's, or the address book is full. Nothing was
    /// changed then.
    pub fn replace(&mut self, name: &Name, entry: T) -> Result<T, ChangeBookError> {
        let old = self.by_name.get(name).ok_or(ChangeBookError::Unknown)?;
        let other = self.by_key.get(&entry.key()).filter(|own| *own != name);
        if let Some(other) = other {
            return Err(ChangeBookError::DuplicateEntry { name: other.clone() });
        }
        self.check_room(entry_len(name, old), entry_len(name, &entry))?;
        let old = self.remove(name)?;
        self.insert(name.clone(), entry);
        Ok(old)
    }

    /// Removes the entry of a name and returns it.
    ///
    /// # Errors
    /// If there is no such entry.
    pub fn remove(&mut self, name: &Name) -> Result<T, ChangeBookError> {
        let entry = self.by_name.remove(name).ok_or(ChangeBookError::Unknown)?;
        self.by_key.remove(&entry.key());
        self.entries_len -= entry_len(name, &entry);
        Ok(entry)
    }

    fn insert(&mut self, name: Name, entry: T) {
        self.entries_len += entry_len(&name, &entry);
        self.by_key.insert(entry.key(), name.clone());
        self.by_name.insert(name, entry);
    }

    fn check_room(&self, removed: usize, added: usize) -> Result<(), ChangeBookError> {
        let len = T::HEADER.len() + self.entries_len - removed + added;
        if len > MAX_LEN { Err(ChangeBookError::Full) } else { Ok(()) }
    }
}

/// Length of the line of an entry.
fn entry_len<T: Listed>(name: &Name, entry: &T) -> usize {
    name.as_str().len() + " \n".len() + entry.text_len()
}

#[cfg(test)]
mod tests {
    use endseal_crypto::ed25519;
    use endseal_crypto::identity::{Identity, PublicIdentity};
    use endseal_crypto::mlkem768;

    use super::*;
    use crate::contacts::Contacts;

    #[test]
    fn the_length_of_the_text_is_known_before_it_is_written() {
        let identity = |n| {
            let seed = ed25519::Seed::from_bytes(&[n; 32]);
            Identity::from_seeds(seed, mlkem768::Seed::from_bytes(&[n; 64])).public().clone()
        };
        let name = |text| Name::new(text).unwrap();
        let mut contacts = Contacts::new();
        let check = |contacts: &Contacts| {
            assert_eq!(
                PublicIdentity::HEADER.len() + contacts.entries_len,
                contacts.to_text().len()
            );
        };
        contacts.add(name("bob"), identity(1)).unwrap();
        contacts.add(name("alice"), PublicIdentity::short(*identity(2).ed25519())).unwrap();
        check(&contacts);
        contacts.rename(&name("bob"), name("robert")).unwrap();
        check(&contacts);
        contacts.replace(&name("alice"), identity(2)).unwrap();
        check(&contacts);
        contacts.remove(&name("robert")).unwrap();
        check(&contacts);
        let room = MAX_LEN - contacts.to_text().len();
        assert_eq!(contacts.check_room(0, room), Ok(()));
        assert_eq!(contacts.check_room(0, room + 1), Err(ChangeBookError::Full));
        assert_eq!(contacts.check_room(1, room + 1), Ok(()));
    }
}
