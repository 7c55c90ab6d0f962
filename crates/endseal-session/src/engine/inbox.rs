//! Inbox: decrypted messages until the application consumes them.

use alloc::vec::Vec;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use endseal_crypto::ed25519;
use endseal_crypto::secret::Zeroizing;
use endseal_keyring::device::Address;
use endseal_store::{InboxRow, ReadTransaction};

use super::conversation::{self, Conversation};
use super::delivery_kind::{KIND_CHANGE, KIND_NOTE, KIND_PROPOSAL, KIND_TEXT};
use super::references::address_of;
use crate::{Engine, EngineError, PairwiseAccount};

/// Decrypted message in the inbox.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
#[non_exhaustive]
pub struct Received {
    /// Number in the inbox: later messages have higher numbers.
    pub number: u64,
    /// Conversation to which it belongs.
    pub conversation: ConversationId,
    /// Authenticated address of the sender.
    pub sender: Address,
    /// Kind of the plaintext: text or notice.
    pub kind: ReceivedKind,
    /// Message id under which the delivery service delivered it.
    pub id: Vec<u8>,
    /// Text, or an encoded [`Notice`](crate::Notice), depending on `kind`.
    pub plaintext: Zeroizing<Vec<u8>>,
}

/// Identifies a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConversationId {
    /// Between this identity and another one, on all devices.
    Person(ed25519::PublicKey),
    /// A group, by its id of 1 to 63 bytes.
    Group(Vec<u8>),
}

impl ConversationId {
    /// Returns the conversation; `None` if the group id is not 1 to 63 bytes long.
    pub(super) fn conversation(&self) -> Option<Conversation> {
        match self {
            Self::Person(identity) => Some(Conversation::person(identity.as_bytes())),
            Self::Group(id) => Conversation::group(id),
        }
    }
}

/// Kind of a plaintext in the inbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReceivedKind {
    /// Text of the sender.
    Text,
    /// Encoded [`Notice`](crate::Notice) of a group change that a member has committed.
    Change,
    /// Encoded [`Notice`](crate::Notice) of a group change that a member proposes.
    Proposal,
    /// Note of a member of a conversation to this device.
    Note,
}

/// Inbox of an engine, from [`Engine::inbox`].
#[allow(missing_debug_implementations, reason = "nothing of it is for people")]
pub struct Inbox<'a, A: PairwiseAccount>(&'a mut Engine<A>);

impl<'a, A: PairwiseAccount> Inbox<'a, A> {
    pub(super) fn new(engine: &'a mut Engine<A>) -> Self {
        Self(engine)
    }

    /// Returns the oldest message that was not consumed; the same one until it is consumed.
    ///
    /// # Errors
    /// [`EngineError`] if the store cannot be read or the row is damaged.
    #[allow(clippy::should_implement_trait, reason = "it can fail, and gives the same again")]
    pub fn next(&mut self) -> Result<Option<Received>, EngineError> {
        Ok(self.page(0, 1)?.pop())
    }

    /// Returns up to `limit` messages with numbers above `after`, in ascending order.
    ///
    /// # Errors
    /// [`EngineError`] if the store cannot be read or a row is damaged.
    pub fn page(&mut self, after: u64, limit: usize) -> Result<Vec<Received>, EngineError> {
        page(&self.0.reading()?, after, limit)
    }

    /// Deletes a processed message; its tombstone stays, so it is not delivered again. Returns true
    /// if the message was there.
    ///
    /// # Errors
    /// [`EngineError`] if the store fails; the message is still there then.
    pub fn consume(&mut self, number: u64) -> Result<bool, EngineError> {
        self.consume_many(&[number]).map(|consumed| consumed > 0)
    }

    /// Deletes several messages in one transaction, as [`Self::consume`] does. Returns the number
    /// of those that were there.
    ///
    /// # Errors
    /// [`EngineError`] if the store fails; all messages are still there then.
    pub fn consume_many(&mut self, numbers: &[u64]) -> Result<usize, EngineError> {
        self.0.transaction(|transaction| {
            let mut consumed = 0;
            for number in numbers {
                consumed += usize::from(transaction.consume(*number)?);
            }
            Ok(consumed)
        })
    }

    /// Returns the number of messages that were not consumed.
    ///
    /// # Errors
    /// [`EngineError`] if the store cannot be read.
    pub fn len(&mut self) -> Result<u64, EngineError> {
        Ok(self.0.reading()?.inbox_len()?)
    }

    /// Returns true if all messages were consumed.
    ///
    /// # Errors
    /// [`EngineError`] if the store cannot be read.
    pub fn is_empty(&mut self) -> Result<bool, EngineError> {
        self.len().map(|len| len == 0)
    }
}

/// Returns up to `limit` messages with numbers above `after`, in ascending order.
pub(super) fn page(
    transaction: &ReadTransaction<'_>,
    after: u64,
    limit: usize,
) -> Result<Vec<Received>, EngineError> {
    // There are few senders, and decoding a key costs more than the rest of a message.
    let (mut conversations, mut addresses) = (HashMap::new(), HashMap::new());
    let received = |row: InboxRow| {
        let conversation = match conversations.entry(row.conversation) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let name = transaction.conversation_name(row.conversation)?;
                new.insert(conversation_id(&name)?)
            }
        };
        let sender = match addresses.entry(row.sender) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => *new.insert(address_of(transaction, row.sender)?),
        };
        Ok(Received {
            number: row.seq,
            conversation: conversation.clone(),
            sender,
            kind: match row.kind {
                KIND_TEXT => ReceivedKind::Text,
                KIND_CHANGE => ReceivedKind::Change,
                KIND_PROPOSAL => ReceivedKind::Proposal,
                KIND_NOTE => ReceivedKind::Note,
                _ => return Err(EngineError::Damaged("kind of a message")),
            },
            id: row.message,
            plaintext: row.plaintext,
        })
    };
    transaction.inbox(after, limit)?.into_iter().map(received).collect()
}

/// Returns the conversation of a name in the store.
pub(super) fn conversation_id(name: &[u8]) -> Result<ConversationId, EngineError> {
    match name {
        [conversation::PERSON, identity @ ..] => {
            let identity: &[u8; 32] =
                identity.try_into().map_err(|_| EngineError::Damaged("conversation"))?;
            ed25519::PublicKey::from_bytes(identity)
                .map(ConversationId::Person)
                .map_err(|_| EngineError::Damaged("conversation"))
        }
        [conversation::GROUP, id @ ..] => Ok(ConversationId::Group(id.to_vec())),
        _ => Err(EngineError::Damaged("conversation")),
    }
}
