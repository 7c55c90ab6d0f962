//! Access to the store between two transactions of a batch. The store is on the caller's thread or
//! on its own.

use endseal_keyring::device::Address;

use super::batch::Batch;
use super::changeset::Changeset;
use super::conversation_state::RemoteDevice;
use super::outgoing_message::OutgoingMessage;
use super::progress::Progress;
use crate::{EngineError, PairwiseAccount};

/// Store operations for sending between two transactions of a batch.
pub(super) trait StoreAccess<'e, A: PairwiseAccount> {
    /// Loads the state of a device.
    fn load(
        &mut self,
        batch: &mut Batch<'e, A>,
        address: Address,
        progress: &mut Progress,
    ) -> Result<RemoteDevice<A::Ratchet>, EngineError>;

    /// Writes and commits all changes so far and the ciphertext. Returns its number in the outbox.
    fn send(
        &mut self,
        batch: &mut Batch<'e, A>,
        outgoing: OutgoingMessage,
        states: Changeset,
        progress: &mut Progress,
    ) -> Result<u64, EngineError>;
}
