//! Requests of the work on messages to the store, and its answers. The store is at hand or on a
//! thread of its own: the requests are the same.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use endseal_keyring::device::Address;
use endseal_store::{ParkedRow, Seen};

use super::conversation::Conversation;
use super::conversation_state::Loaded;
use super::task::Delivery;

/// Request for the states that a block needs before its messages are opened.
pub(super) struct Question<'e> {
    /// States that are not in memory.
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

/// Row that is written for one message.
pub(super) enum Write<'e> {
    /// A text or a change, into the inbox.
    Deliver { conversation: Conversation, id: Cow<'e, [u8]>, delivery: Delivery },
    /// A ciphertext that is parked.
    Park { conversation: Conversation, row: ParkedRow },
    /// A ciphertext that is parked no longer.
    Unpark { conversation: Conversation, id: Cow<'e, [u8]> },
    /// The pending commit of this device was accepted, or another one came first.
    Decide { conversation: Conversation, accepted: bool },
}
