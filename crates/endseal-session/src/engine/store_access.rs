//! What the work on messages asks of the store, and what it is told. The store is at hand or on a
//! thread of its own: the questions are the same.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use endseal_store::{ParkedRow, Seen, SessionStatus};

use super::batch::Batch;
use super::changeset::Changeset;
use super::conversation::Conversation;
use super::conversation_state::{Parked, RemoteDevice};
use super::outbox::OutgoingKind;
use super::progress::Progress;
use crate::group::Group;
use crate::{Address, DeviceId, EngineError, PairwiseAccount};

/// What must be known before the messages of a block are opened.
pub(super) struct Question<'e> {
    /// What is not in memory.
    pub(super) loads: Vec<Load>,
    /// Message ids, by conversation.
    pub(super) ids: Vec<(Conversation, Vec<&'e [u8]>)>,
}

/// See [`Question::loads`].
pub(super) enum Load {
    Device(Address),
    Group(Conversation),
    /// Parked messages.
    Parked(Conversation),
}

/// The answer to a [`Question`], in its order.
pub(super) struct Answer<R> {
    pub(super) loaded: Vec<(Conversation, Loaded<R>)>,
    pub(super) seen: Vec<Vec<Option<Seen>>>,
}

/// What the store has of a device or group.
pub(super) enum Loaded<R> {
    RemoteDevice(Box<RemoteDevice<R>>),
    /// A device with a row that cannot be read.
    DamagedPartner(DeviceId),
    Group(Option<(Group, SessionStatus)>),
    /// A group with a row that cannot be read.
    DamagedGroup,
    Parked(Vec<Parked>),
}

/// What is written for one message.
pub(super) enum Write<'e> {
    /// A text or a change, into the inbox.
    Deliver { conversation: Conversation, id: Cow<'e, [u8]>, delivery: super::task::Delivery },
    /// A ciphertext that is parked.
    Park { conversation: Conversation, row: ParkedRow },
    /// A ciphertext that is parked no longer.
    Unpark { conversation: Conversation, id: Cow<'e, [u8]> },
    /// The pending commit of this device was accepted, or another one came first.
    Decide { conversation: Conversation, accepted: bool },
}

/// A ciphertext for the outbox.
pub(super) struct OutgoingMessage {
    pub(super) conversation: Conversation,
    pub(super) recipient: Option<Address>,
    pub(super) kind: OutgoingKind,
    pub(super) body: Vec<u8>,
}

/// Sends between two chunks, through wherever the store is.
pub(super) trait StoreAccess<'e, A: PairwiseAccount> {
    /// What the store has of a device.
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
