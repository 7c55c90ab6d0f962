//! Messages that come, that were opened, and that are to be sent.

use endseal_session::{OutgoingKind, Pending, Received, ReceivedKind};

use crate::address::{ConversationId, DeviceAddress};

/// A message that the delivery service brought. Nothing of it is trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "libraries of other languages mirror it")]
pub struct IncomingMessage {
    /// Message id of the delivery service, 1 to 64 bytes, the same at each delivery.
    pub id: Vec<u8>,
    /// Claimed origin.
    pub origin: MessageOrigin,
    /// Ciphertext.
    pub body: Vec<u8>,
}

/// Claimed origin of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "libraries of other languages mirror it")]
pub enum MessageOrigin {
    /// A device.
    Device {
        /// Address of the device.
        address: DeviceAddress,
    },
    /// A group.
    Group {
        /// Id of the group.
        id: Vec<u8>,
    },
}

/// A decrypted message in the inbox.
#[derive(Clone, PartialEq, Eq)]
#[allow(missing_debug_implementations, reason = "it holds a plaintext")]
#[allow(clippy::exhaustive_structs, reason = "libraries of other languages mirror it")]
pub struct InboxMessage {
    /// Number in the inbox: later messages have higher numbers.
    pub number: u64,
    /// Conversation to which it belongs.
    pub conversation: ConversationId,
    /// Authenticated address of the sender.
    pub sender: DeviceAddress,
    /// Kind of the plaintext.
    pub kind: InboxKind,
    /// Message id of the delivery service.
    pub id: Vec<u8>,
    /// Text, or the encoded notice of docs/spec/session.md.
    pub plaintext: Vec<u8>,
}

impl InboxMessage {
    pub(crate) fn of(received: Received) -> Self {
        Self {
            number: received.number,
            conversation: ConversationId::of(received.conversation),
            sender: DeviceAddress::of(received.sender),
            kind: match received.kind {
                ReceivedKind::Change => InboxKind::Change,
                ReceivedKind::Proposal => InboxKind::Proposal,
                ReceivedKind::Note => InboxKind::Note,
                _ => InboxKind::Text,
            },
            id: received.id,
            plaintext: received.plaintext.to_vec(),
        }
    }
}

/// Kind of a message in the inbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "libraries of other languages mirror it")]
pub enum InboxKind {
    /// Text of the sender.
    Text,
    /// A member has changed the group.
    Change,
    /// A member proposes to change the group.
    Proposal,
    /// Note of a member to this device.
    Note,
}

/// A ciphertext in the outbox, which may be sent now and stays until it is reported as sent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "libraries of other languages mirror it")]
pub struct OutboxMessage {
    /// Number in the outbox: later ciphertexts have higher numbers.
    pub number: u64,
    /// Conversation to which it belongs.
    pub conversation: ConversationId,
    /// Kind of the ciphertext, which decides how it is delivered.
    pub kind: OutboxKind,
    /// Device to which it is sent; none for all members of a group.
    pub recipient: Option<DeviceAddress>,
    /// Ciphertext.
    pub body: Vec<u8>,
}

impl OutboxMessage {
    pub(crate) fn of(pending: Pending) -> Self {
        Self {
            number: pending.number,
            conversation: ConversationId::of(pending.conversation),
            kind: match pending.kind {
                OutgoingKind::Commit => OutboxKind::Commit,
                OutgoingKind::Welcome => OutboxKind::Welcome,
                _ => OutboxKind::Message,
            },
            recipient: pending.recipient.map(DeviceAddress::of),
            body: pending.body,
        }
    }
}

/// Kind of a ciphertext in the outbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "libraries of other languages mirror it")]
pub enum OutboxKind {
    /// A message.
    Message,
    /// A change of a group, for all members. The service orders those of a group.
    Commit,
    /// Invitation of its recipient to a group, for `join_group`.
    Welcome,
}
