//! Operations on parked messages in a transaction.

use alloc::vec::Vec;

use endseal_keyring::device::{Address, DeviceId};

use super::{EngineTransaction, load};
use crate::engine::batch::Batch;
use crate::engine::conversation::Conversation;
use crate::engine::conversation_state::Occasion;
use crate::engine::inbox::ConversationId;
use crate::engine::store_request::Write;
use crate::{EngineError, Outcome, PairwiseAccount, Released};

/// Parked message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParkedMessage {
    /// Message id under which it was delivered.
    pub id: Vec<u8>,
    /// Number of the sending device, unauthenticated; `None` in a group.
    pub device: Option<DeviceId>,
    /// Reason for parking: [`Outcome::Buffered`] or [`Outcome::Parked`].
    pub outcome: Outcome,
    /// Length of the ciphertext, in bytes.
    pub len: usize,
}

impl<A: PairwiseAccount> EngineTransaction<'_, '_, A> {
    /// Returns the parked messages of a conversation, in the order of arrival.
    ///
    /// # Errors
    /// [`EngineError`] if the store fails.
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

    /// Tries the parked messages of a conversation now, and returns those that have a final result.
    /// The engine tries them without this call when a message of the conversation opens, a group is
    /// joined, or an unknown sender becomes known.
    ///
    /// # Errors
    /// [`EngineError`] if the store fails; the transaction cannot be committed then.
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

    /// Deletes the parked messages of a conversation, and returns their number.
    ///
    /// # Errors
    /// [`EngineError`] if the store fails; the transaction cannot be committed then.
    pub fn drop_parked(&mut self, of: &ConversationId) -> Result<usize, EngineError> {
        let Some(conversation) = of.conversation() else { return Ok(0) };
        load(&mut self.store_session, self.state_cache, &conversation, None)?;
        let dropped = self.store_session.unpark_all(&conversation);
        self.failed |= dropped.is_err();
        let budget = alloc::sync::Arc::clone(&self.state_cache.budget);
        self.state_cache.conversation_state(&conversation).1.parking.clear(&budget);
        dropped
    }

    /// Removes parked messages up to id `last` that may never open from memory. Returns their ids,
    /// which the caller must delete from the store.
    pub(in crate::engine) fn take_expired(
        &mut self,
        conversation: &Conversation,
        last: &[u8],
    ) -> Result<Vec<Vec<u8>>, EngineError> {
        load(&mut self.store_session, self.state_cache, conversation, None)?;
        let budget = alloc::sync::Arc::clone(&self.state_cache.budget);
        Ok(self.state_cache.conversation_state(conversation).1.parking.expire(last, &budget))
    }

    /// Tries messages that an identity sent before it was known.
    pub(super) fn retry_person(&mut self, address: Address) -> Result<(), EngineError> {
        self.retry(&Conversation::person(address.identity.as_bytes()), Occasion::Changed).map(drop)
    }

    /// Tries the parked messages of a conversation whose states are loaded.
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
