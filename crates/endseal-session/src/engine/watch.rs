//! Callback between the transactions of a batch.

use core::ops::{ControlFlow, Range};

use endseal_keyring::device::Address;

use super::batch::Batch;
use super::conversation::Conversation;
use super::conversation_state::ConversationState;
use super::device::Device;
use super::order::Order;
use super::outgoing_message::{OutgoingKind, OutgoingMessage};
use super::progress::Progress;
use super::seal::seal;
use super::store_access::StoreAccess;
use crate::{BatchOptions, Durability, EngineError, Outcome, Outgoing, PairwiseAccount, SendError};

/// Report on one committed transaction of a batch.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ChunkReport<'a> {
    /// Indices of the messages in the batch that the report covers.
    pub range: Range<usize>,
    /// Results of these messages.
    pub outcomes: &'a [Outcome],
    /// True if the messages may be acknowledged now. With [`Durability::AtEnd`] it is false, and
    /// they may be acknowledged when the batch has returned.
    pub is_durable: bool,
}

/// Callback after each transaction of a batch.
pub(super) type Watcher<'w, A> =
    dyn FnMut(&ChunkReport<'_>, &mut BetweenCommits<'_, '_, A>) -> ControlFlow<()> + 'w;

/// The callback of a batch, if there is one, with the state that it needs.
pub(super) struct Watch<'w, 'f, A: PairwiseAccount> {
    pub(super) watcher: Option<&'w mut Watcher<'f, A>>,
    pub(super) device: &'w Device,
    pub(super) options: &'w BatchOptions,
    /// Order in which messages are opened, if it differs from the order of delivery.
    pub(super) order: Option<&'w Order>,
}

impl<A: PairwiseAccount> Watch<'_, '_, A> {
    /// Reports the messages that were committed since the last call.
    pub(super) fn call<'e>(
        &mut self,
        batch: &mut Batch<'e, A>,
        store_access: &mut dyn StoreAccess<'e, A>,
        progress: &mut Progress,
    ) -> Result<(), EngineError> {
        let steps = progress.told..progress.committed;
        let range = match self.order {
            Some(order) => order.done(steps.start)..order.done(steps.end),
            None => steps,
        };
        let Some(watcher) = self.watcher.as_mut().filter(|_| !range.is_empty()) else {
            return Ok(());
        };
        progress.told = progress.committed;
        let outcomes = match self.order {
            Some(order) => range
                .clone()
                .flat_map(|place| {
                    let step = order.step(place);
                    batch.outcomes(step..step + 1)
                })
                .collect(),
            None => batch.outcomes(range.clone()),
        };
        let is_durable = self.options.durability == Durability::EachCommit;
        let report = ChunkReport { range, outcomes: &outcomes, is_durable };
        let mut failed = None;
        let device = self.device;
        let mut between_commits = BetweenCommits {
            batch,
            store_access,
            progress,
            device,
            options: self.options,
            failed: &mut failed,
        };
        if watcher(&report, &mut between_commits).is_break() {
            progress.stopped = true;
        }
        // The memory may be ahead of the store now, so the batch must end.
        failed.map_or(Ok(()), Err)
    }
}

/// Access to the engine between two transactions of a batch, for sending messages.
#[allow(missing_debug_implementations, reason = "nothing of it is for people")]
pub struct BetweenCommits<'a, 'e, A: PairwiseAccount> {
    batch: &'a mut Batch<'e, A>,
    store_access: &'a mut dyn StoreAccess<'e, A>,
    progress: &'a mut Progress,
    device: &'a Device,
    options: &'a BatchOptions,
    failed: &'a mut Option<EngineError>,
}

impl<A: PairwiseAccount> BetweenCommits<'_, '_, A> {
    /// Encrypts a message to a device, as [`Engine::encrypt`](crate::Engine::encrypt) does. All
    /// messages decrypted so far are committed with it.
    ///
    /// # Errors
    /// [`SendError`] if the device cannot be sent to. If the store fails, the batch ends too.
    pub fn encrypt(&mut self, to: Address, plaintext: &[u8]) -> Result<Outgoing, SendError> {
        if self.failed.is_some() {
            return Err(SendError::Ended);
        }
        let conversation = Conversation::person(to.identity.as_bytes());
        let known = match &self.batch.state_cache.conversation_state(&conversation).0 {
            ConversationState::Person(person) => person.has(to.device),
            ConversationState::Group(_) => false,
        };
        let loaded = if known {
            Ok(None)
        } else {
            self.store_access.load(self.batch, to, self.progress).map(Some)
        };
        let loaded = match loaded {
            Ok(loaded) => loaded,
            // Damaged rows make this message fail, but not the batch.
            Err(error @ EngineError::Damaged(_)) => return Err(error.into()),
            Err(error) => return Err(self.fail(error)),
        };
        let ConversationState::Person(person) =
            &mut self.batch.state_cache.conversation_state(&conversation).0
        else {
            return Err(SendError::NoSession);
        };
        if let Some(remote_device) = loaded {
            person.add(remote_device);
        }
        let damaged = EngineError::Damaged("session");
        let remote_device = person.remote_device(to.device).ok_or(damaged)?;
        let body = seal(remote_device, &self.device.certificate, plaintext)?;
        let outgoing = OutgoingMessage {
            conversation,
            recipient: Some(to),
            kind: OutgoingKind::Message,
            body: body.clone(),
        };
        let states = match self.batch.states(self.batch.written(), self.options) {
            Ok(states) => states,
            Err(error) => return Err(self.fail(error)),
        };
        match self.store_access.send(self.batch, outgoing, states, self.progress) {
            Ok(number) => Ok(Outgoing { number, body }),
            Err(error) => Err(self.fail(error)),
        }
    }

    fn fail(&mut self, error: EngineError) -> SendError {
        *self.failed = Some(error);
        SendError::Ended
    }
}
