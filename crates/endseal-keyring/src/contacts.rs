//! The address book of public identities (docs/spec/identity.md, "Contacts").

use alloc::string::String;
use alloc::vec::Vec;

use endseal_crypto::ed25519;
use endseal_crypto::identity::PublicIdentity;

use crate::address_book::{AddressBook, Key, Listed};
use crate::identity_text::{self, ParseIdentityError, Unchecked, without_sign};
use crate::name::Name;

/// Names and public identities, one to one.
///
/// An identity is known by its Ed25519 key: the same key with and without an ML-KEM-768 key is the
/// same contact.
pub type Contacts = AddressBook<PublicIdentity>;

impl Contacts {
    /// The name of the contact with this key, if there is one.
    #[must_use]
    pub fn name_of(&self, key: &ed25519::PublicKey) -> Option<&Name> {
        let (name, identity) = self.of_key(&without_sign(key))?;
        (identity.ed25519() == key).then_some(name)
    }
}

impl Listed for PublicIdentity {
    type Error = ParseIdentityError;

    const HEADER: &'static str =
        "# endseal contacts: one \"name identity\" a line. Comments are not kept.\n";
    const NOUN: &'static str = "an identity";

    fn key(&self) -> Key {
        without_sign(self.ed25519())
    }

    fn text_len(&self) -> usize {
        identity_text::encoded_len(self)
    }

    fn write(&self, out: &mut String) {
        out.push_str(&identity_text::encode(self));
    }

    fn decode_many(words: &[&str]) -> Result<Vec<Self>, (usize, ParseIdentityError)> {
        let decoded = words.iter().map(|word| Unchecked::decode(word)).enumerate();
        let decoded: Result<_, _> = decoded.map(|(i, one)| one.map_err(|e| (i, e))).collect();
        Unchecked::check_many(decoded?)
    }
}
