//! Ciphertexts that are added to the outbox.

use alloc::vec::Vec;

use endseal_keyring::device::Address;
use endseal_store::OutboxState;

use super::conversation::Conversation;

/// Kind of a ciphertext in the outbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutgoingKind {
    /// Message, to be delivered as an [`Envelope`](crate::Envelope).
    Message,
    /// Message that changes a group, to be delivered as an [`Envelope`](crate::Envelope) to its
    /// members.
    Commit,
    /// Welcome, which its recipient passes to [`join_group`](crate::EngineTransaction::join_group).
    Welcome,
}

impl OutgoingKind {
    /// Returns the number in the store, and the relation to a pending commit.
    pub(super) fn to_row(self) -> (u8, OutboxState) {
        match self {
            Self::Message => (0, OutboxState::Free),
            Self::Commit => (1, OutboxState::Proposes),
            Self::Welcome => (2, OutboxState::Held),
        }
    }

    /// Returns the kind for a number in the store.
    pub(super) fn from_number(number: u8) -> Option<Self> {
        [Self::Message, Self::Commit, Self::Welcome].into_iter().find(|it| it.to_row().0 == number)
    }
}

/// Ciphertext that is added to the outbox.
pub(super) struct OutgoingMessage {
    pub(super) conversation: Conversation,
    pub(super) recipient: Option<Address>,
    pub(super) kind: OutgoingKind,
    pub(super) body: Vec<u8>,
}
