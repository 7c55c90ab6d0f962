//! Parked messages.

use alloc::vec::Vec;

use endseal_keyring::device::{Address, DeviceId};

use super::{EngineTransaction, load};
use crate::engine::batch::Batch;
use crate::engine::conversation::Conversation;
use crate::engine::conversation_state::Occasion;
use crate::engine::inbox::ConversationId;
use crate::engine::store_request::Write;
use crate::{EngineError, Outcome, PairwiseAccount, Released};

/// A parked message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParkedMessage {
    /// The id under which it was delivered.
    pub id: Vec<u8>,
    /// The sending device, unauthenticated; `None` in a group.
    pub device: Option<DeviceId>,
    /// [`Outcome::Buffered`] or [`Outcome::Parked`].
    pub outcome: Outcome,
    /// Length of the ciphertext in bytes.
    pub len: usize,
}

impl<A: PairwiseAccount> EngineTransaction<'_, '_, A> {
    /// Parked messages of a conversation, in the order of arrival.
    ///
    /// # Errors
    /// [`EngineError`].
    pub fn parked(&mut self, of: &ConversationId) -> Result<Vec<ParkedMessage>, EngineError> {
        let Some(conversation) = of.conversation() else { return Ok(Vec::new()) };
        load(&mut self.store_session, self.state_cache, &conversation, None)?;
        let (_, dedup) = self.state_cache.conversation_state(&conversation);
        let rows = dedup.parking.rows();
        Ok(rows
            .map(|row| ParkedMessage {
                id: row.id.clone(),
                device: DeviceId::new(row.device),
                outcome: row.outcome(),
                len: row.body.len(),
            })
            .collect())
    }

    /// Tries the parked messages of a conversation now, and returns those that are parked no
    /// longer. They are tried without this when a message of the conversation opens, a group is
    /// joined, or a stranger becomes known.
    ///
    /// # Errors
    /// [`EngineError`]. The transaction cannot be committed then.
    pub fn retry_parked(&mut self, of: &ConversationId) -> Result<Vec<Released>, EngineError> {
        let Some(conversation) = of.conversation() else { return Ok(Vec::new()) };
        load(&mut self.store_session, self.state_cache, &conversation, None)?;
        if let ConversationId::Person(identity) = of {
            let rows = self.state_cache.conversation_state(&conversation).1.parking.rows();
            let devices: Vec<_> = rows.filter_map(|row| DeviceId::new(row.device)).collect();
            for device in devices {
                let address = Address { identity: *identity, device };
                load(&mut self.store_session, self.state_cache, &conversation, Some(address))?;
            }
        }
        self.retry(&conversation, Occasion::Asked)
    }

    /// Deletes the parked messages of a conversation; returns their number.
    ///
    /// # Errors
    /// [`EngineError`]. The transaction cannot be committed then.
    pub fn drop_parked(&mut self, of: &ConversationId) -> Result<usize, EngineError> {
        let Some(conversation) = of.conversation() else { return Ok(0) };
        load(&mut self.store_session, self.state_cache, &conversation, None)?;
        let dropped = self.store_session.unpark_all(&conversation);
        self.failed |= dropped.is_err();
        let budget = alloc::sync::Arc::clone(&self.state_cache.budget);
        self.state_cache.conversation_state(&conversation).1.parking.clear(&budget);
        dropped
    }

    /// Removes parked messages that may never open from memory, up to the one with an id; returns
    /// the ids of those that the caller deletes.
    pub(in crate::engine) fn take_expired(
        &mut self,
        conversation: &Conversation,
        last: &[u8],
    ) -> Result<Vec<Vec<u8>>, EngineError> {
        load(&mut self.store_session, self.state_cache, conversation, None)?;
        let budget = alloc::sync::Arc::clone(&self.state_cache.budget);
        Ok(self.state_cache.conversation_state(conversation).1.parking.expire(last, &budget))
    }

    /// Tries what a device sent before it was known.
    pub(super) fn retry_person(&mut self, address: Address) -> Result<(), EngineError> {
        self.retry(&Conversation::person(address.identity.as_bytes()), Occasion::Changed).map(drop)
    }

    /// Tries parked messages of what is loaded of a conversation.
    pub(super) fn retry(
        &mut self,
        conversation: &Conversation,
        occasion: Occasion,
    ) -> Result<Vec<Released>, EngineError> {
        let accept_context = self.state_cache.accept_context();
        let (conversation_state, dedup) = self.state_cache.conversation_state(conversation);
        let mut entries = Vec::new();
        conversation_state.retry(0, occasion, dedup, &accept_context, &mut entries);
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        let mut batch = Batch::new(&[], self.state_cache);
        let writes: Vec<Write<'_>> = batch.release(conversation, entries);
        let written = self.store_session.write(writes);
        self.failed |= written.is_err();
        batch.number(written?);
        Ok(batch.into_released())
    }
}
