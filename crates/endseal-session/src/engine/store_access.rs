//! Access to the store between two transactions of a backlog. The store is at hand or on a thread
//! of its own.

use endseal_keyring::device::Address;

use super::batch::Batch;
use super::changeset::Changeset;
use super::conversation_state::RemoteDevice;
use super::outgoing_message::OutgoingMessage;
use super::progress::Progress;
use crate::{EngineError, PairwiseAccount};

/// Sends between two chunks, through wherever the store is.
pub(super) trait StoreAccess<'e, A: PairwiseAccount> {
    /// Loads the state of a device.
    fn load(
        &mut self,
        batch: &mut Batch<'e, A>,
        address: Address,
        progress: &mut Progress,
    ) -> Result<RemoteDevice<A::Ratchet>, EngineError>;

    /// Writes and commits everything so far, and this: the number in the outbox.
    fn send(
        &mut self,
        batch: &mut Batch<'e, A>,
        outgoing: OutgoingMessage,
        states: Changeset,
        progress: &mut Progress,
    ) -> Result<u64, EngineError>;
}
