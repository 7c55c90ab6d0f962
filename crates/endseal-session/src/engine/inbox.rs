//! Messages in plaintext, until they are consumed.

use alloc::vec::Vec;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use endseal_crypto::ed25519;
use endseal_crypto::secret::Zeroizing;
use endseal_keyring::device::Address;
use endseal_store::{InboxRow, ReadTransaction};

use super::conversation::{self, Conversation};
use super::delivery_kind::{KIND_CHANGE, KIND_PROPOSAL, KIND_TEXT};
use super::references::address_of;
use crate::{Engine, EngineError, PairwiseAccount};

/// A message that arrived.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
#[non_exhaustive]
pub struct Received {
    /// Its number: later messages have higher ones.
    pub number: u64,
    /// Where it belongs.
    pub conversation: ConversationId,
    /// Sender, authenticated.
    pub sender: Address,
    /// Kind of the plaintext.
    pub kind: ReceivedKind,
    /// The id under which it was delivered.
    pub id: Vec<u8>,
    /// Content: a text or an encoded [`Notice`](crate::Notice).
    pub plaintext: Zeroizing<Vec<u8>>,
}

/// Where a message belongs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConversationId {
    /// Between this identity and another one.
    Person(ed25519::PublicKey),
    /// A group, by its id.
    Group(Vec<u8>),
}

impl ConversationId {
    /// The conversation; `None` if the id of a group has not 1 to 63 bytes.
    pub(super) fn conversation(&self) -> Option<Conversation> {
        match self {
            Self::Person(identity) => Some(Conversation::person(identity.as_bytes())),
            Self::Group(id) => Conversation::group(id),
        }
    }
}

/// Kind of a plaintext.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReceivedKind {
    /// Text of the sender.
    Text,
    /// Change of the group by a member: a [`Notice`](crate::Notice).
    Change,
    /// Change that a member proposes: a [`Notice`](crate::Notice).
    Proposal,
}

/// The inbox of an engine.
#[allow(missing_debug_implementations, reason = "nothing of it is for people")]
pub struct Inbox<'a, A: PairwiseAccount>(&'a mut Engine<A>);

impl<'a, A: PairwiseAccount> Inbox<'a, A> {
    pub(super) fn new(engine: &'a mut Engine<A>) -> Self {
        Self(engine)
    }

    /// The oldest message that was not consumed.
    ///
    /// # Errors
    /// [`EngineError`].
    #[allow(clippy::should_implement_trait, reason = "it can fail, and gives the same again")]
    pub fn next(&mut self) -> Result<Option<Received>, EngineError> {
        Ok(self.page(0, 1)?.pop())
    }

    /// Messages with a number above `after`, at most `limit`, in order.
    ///
    /// # Errors
    /// [`EngineError`].
    pub fn page(&mut self, after: u64, limit: usize) -> Result<Vec<Received>, EngineError> {
        page(&self.0.reading()?, after, limit)
    }

    /// Deletes a message that was dealt with; its tombstone stays. Whether it was there.
    ///
    /// # Errors
    /// [`EngineError`]; the message is still there then.
    pub fn consume(&mut self, number: u64) -> Result<bool, EngineError> {
        self.consume_many(&[number]).map(|consumed| consumed > 0)
    }

    /// [`Self::consume`] for several at once: how many were there.
    ///
    /// # Errors
    /// [`EngineError`]; all are still there then.
    pub fn consume_many(&mut self, numbers: &[u64]) -> Result<usize, EngineError> {
        self.0.transaction(|transaction| {
            let mut consumed = 0;
            for number in numbers {
                consumed += usize::from(transaction.consume(*number)?);
            }
            Ok(consumed)
        })
    }

    /// Returns the number of messages that wait.
    ///
    /// # Errors
    /// [`EngineError`].
    pub fn len(&mut self) -> Result<u64, EngineError> {
        Ok(self.0.reading()?.inbox_len()?)
    }

    /// Returns true if no message waits.
    ///
    /// # Errors
    /// [`EngineError`].
    pub fn is_empty(&mut self) -> Result<bool, EngineError> {
        self.len().map(|len| len == 0)
    }
}

/// Messages with a number above `after`, at most `limit`, in order.
pub(super) fn page(
    transaction: &ReadTransaction<'_>,
    after: u64,
    limit: usize,
) -> Result<Vec<Received>, EngineError> {
    // Few wrote many, and decoding a key costs more than the rest of a message.
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
