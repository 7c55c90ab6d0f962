//! Persons whose texts go to the inbox; texts of others are requests.

use core::cell::OnceCell;

use endseal_crypto::ed25519::PublicKey;
use endseal_keyring::Contacts;
use endseal_session::EngineError;

use super::conversation::Conversation;
use super::records::Transaction;
use super::rule::Rule;
use super::text_id::TextId;
use crate::home::Home;

/// Decides whether a person is known: a contact, a person to whom this device has written, or one
/// whose request was accepted. Contacts are read at most once, when they are needed.
pub(super) struct KnownPersons<'h> {
    home: &'h Home,
    contacts: OnceCell<Option<Contacts>>,
}

impl<'h> KnownPersons<'h> {
    /// Uses the contacts of a state directory.
    pub(super) fn new(home: &'h Home) -> Self {
        Self { home, contacts: OnceCell::new() }
    }

    /// Returns true if the person is known. If the contacts cannot be read, all persons are known,
    /// because a contact's text must not be dropped for lack of room.
    pub(super) fn has(
        &self,
        transaction: &Transaction<'_, '_>,
        person: &PublicKey,
    ) -> Result<bool, EngineError> {
        if Rule::of(transaction, person)?.accepted.is_on()
            || TextId::has_written_in(transaction, &Conversation::Person(*person))?
        {
            return Ok(true);
        }
        let contacts = self.contacts.get_or_init(|| self.home.contacts().ok());
        Ok(contacts.as_ref().is_none_or(|contacts| contacts.name_of(person).is_some()))
    }
}
