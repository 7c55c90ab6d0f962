//! Row references by which the store knows addresses and conversations.

use std::collections::HashMap;

use endseal_crypto::ed25519;
use endseal_keyring::device::{Address, DeviceId};
use endseal_store::{AddressRef, ConversationRef, ReadTransaction, WriteTransaction};

use super::conversation::Conversation;
use crate::EngineError;

/// Limit of cached references: a batch has few conversations, and another lookup is cheap.
const MAX: usize = 4_096;

/// Cache of references. A caller that rolls a transaction back MUST drop it, because a reference
/// may have been assigned in that transaction.
#[derive(Default)]
pub(super) struct References {
    addresses: HashMap<Address, AddressRef>,
    conversations: HashMap<Conversation, ConversationRef>,
}

impl References {
    /// Returns the reference of a conversation; adds a row if there is none.
    pub(super) fn conversation(
        &mut self,
        transaction: &WriteTransaction<'_>,
        conversation: &Conversation,
    ) -> Result<ConversationRef, EngineError> {
        if let Some(reference) = self.conversations.get(conversation) {
            return Ok(*reference);
        }
        let reference = transaction.conversation_ref(conversation.name())?;
        self.remember_conversation(conversation, reference);
        Ok(reference)
    }

    /// Returns the reference of a conversation, if it has a row.
    pub(super) fn find_conversation(
        &mut self,
        transaction: &ReadTransaction<'_>,
        conversation: &Conversation,
    ) -> Result<Option<ConversationRef>, EngineError> {
        if let Some(reference) = self.conversations.get(conversation) {
            return Ok(Some(*reference));
        }
        let found = transaction.find_conversation(conversation.name())?;
        if let Some(reference) = found {
            self.remember_conversation(conversation, reference);
        }
        Ok(found)
    }

    /// Returns the reference of an address; adds a row if there is none.
    pub(super) fn address(
        &mut self,
        transaction: &WriteTransaction<'_>,
        address: Address,
    ) -> Result<AddressRef, EngineError> {
        if let Some(reference) = self.addresses.get(&address) {
            return Ok(*reference);
        }
        let reference =
            transaction.address_ref(address.identity.as_bytes(), address.device.number())?;
        self.remember_address(address, reference);
        Ok(reference)
    }

    /// Returns the reference of an address, if it has a row.
    pub(super) fn find_address(
        &mut self,
        transaction: &ReadTransaction<'_>,
        address: Address,
    ) -> Result<Option<AddressRef>, EngineError> {
        if let Some(reference) = self.addresses.get(&address) {
            return Ok(Some(*reference));
        }
        let found =
            transaction.find_address(address.identity.as_bytes(), address.device.number())?;
        if let Some(reference) = found {
            self.remember_address(address, reference);
        }
        Ok(found)
    }

    fn remember_conversation(&mut self, conversation: &Conversation, reference: ConversationRef) {
        if self.conversations.len() >= MAX {
            self.conversations.clear();
        }
        self.conversations.insert(conversation.clone(), reference);
    }

    fn remember_address(&mut self, address: Address, reference: AddressRef) {
        if self.addresses.len() >= MAX {
            self.addresses.clear();
        }
        self.addresses.insert(address, reference);
    }
}

/// Returns the address of a row.
///
/// # Errors
/// [`EngineError::Damaged`] if the store has no such row, or its address is invalid.
pub(super) fn address_of(
    transaction: &ReadTransaction<'_>,
    reference: AddressRef,
) -> Result<Address, EngineError> {
    let row = transaction.address(reference)?.ok_or(EngineError::Damaged("address"))?;
    let identity = ed25519::PublicKey::from_bytes(&row.identity)
        .map_err(|_| EngineError::Damaged("identity"))?;
    let device = DeviceId::new(row.device).ok_or(EngineError::Damaged("device"))?;
    Ok(Address { identity, device })
}
