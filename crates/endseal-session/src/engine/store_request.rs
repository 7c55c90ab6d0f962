//! Requests of a batch to the store, and the replies. They are the same if the store is on the
//! caller's thread or on its own.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use endseal_keyring::device::Address;
use endseal_store::{ParkedRow, Seen};

use super::conversation::Conversation;
use super::conversation_state::Loaded;
use super::task::Delivery;

/// Request for the states that a block needs before its messages are opened.
pub(super) struct Question<'e> {
    /// States that are not cached.
    pub(super) loads: Vec<Load>,
    /// Message ids to look up, by conversation.
    pub(super) ids: Vec<(Conversation, Vec<&'e [u8]>)>,
}

/// State that must be read from the store.
pub(super) enum Load {
    Device(Address),
    Group(Conversation),
    /// Parked messages of a conversation.
    Parked(Conversation),
}

/// Reply to a [`Question`], in the same order.
pub(super) struct Answer<R> {
    pub(super) loaded: Vec<(Conversation, Loaded<R>)>,
    pub(super) seen: Vec<Vec<Option<Seen>>>,
}

/// Row that is written or deleted for one message.
pub(super) enum Write<'e> {
    /// Add a text or a notice to the inbox.
    Deliver { conversation: Conversation, id: Cow<'e, [u8]>, delivery: Delivery },
    /// Add a ciphertext to the parked messages.
    Park { conversation: Conversation, row: ParkedRow },
    /// Delete a ciphertext from the parked messages.
    Unpark { conversation: Conversation, id: Cow<'e, [u8]> },
    /// End this device's pending commit: it was accepted, or another one came first.
    Decide { conversation: Conversation, accepted: bool },
}
