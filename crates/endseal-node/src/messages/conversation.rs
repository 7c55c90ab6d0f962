//! The other side of a conversation.

use endseal_crypto::ed25519::PublicKey;
use endseal_keyring::roster::GroupId;
use endseal_session::ConversationId;

/// The other side of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "all are to be dealt with")]
pub enum Conversation {
    /// A person, by the identity.
    Person(PublicKey),
    /// A group, by its id.
    Group(GroupId),
}

impl Conversation {
    /// Identity (32 bytes) or id (16 bytes).
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Person(identity) => identity.as_bytes(),
            Self::Group(id) => id.as_bytes(),
        }
    }

    /// Reads [`Self::as_bytes`]; `None` if it is none.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        if let Ok(id) = bytes.try_into() {
            return Some(Self::Group(GroupId::from_bytes(id)));
        }
        PublicKey::from_bytes(bytes.try_into().ok()?).ok().map(Self::Person)
    }

    /// First byte of names of records: that of the conversation in docs/spec/session.md.
    pub(super) fn tag(&self) -> u8 {
        match self {
            Self::Person(_) => 1,
            Self::Group(_) => 2,
        }
    }

    /// The name of the conversation in the engine.
    pub(super) fn id(&self) -> ConversationId {
        match self {
            Self::Person(identity) => ConversationId::Person(*identity),
            Self::Group(id) => ConversationId::Group(id.as_bytes().to_vec()),
        }
    }
}
