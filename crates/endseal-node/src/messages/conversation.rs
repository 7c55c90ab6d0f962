//! The remote side of a conversation.

use endseal_crypto::ed25519::PublicKey;
use endseal_keyring::roster::GroupId;
use endseal_session::ConversationId;

/// The remote side of a conversation: a person or a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "all are to be dealt with")]
pub enum Conversation {
    /// A person, identified by the public key of the identity.
    Person(PublicKey),
    /// A group, identified by its id.
    Group(GroupId),
}

impl Conversation {
    /// Returns the public key of the person (32 bytes) or the id of the group (16 bytes).
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Person(identity) => identity.as_bytes(),
            Self::Group(id) => id.as_bytes(),
        }
    }

    /// Decodes the bytes of [`Self::as_bytes`]. Returns `None` if they are neither a key nor a
    /// group id.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        if let Ok(id) = bytes.try_into() {
            return Some(Self::Group(GroupId::from_bytes(id)));
        }
        PublicKey::from_bytes(bytes.try_into().ok()?).ok().map(Self::Person)
    }

    /// Returns the first byte of record names, which is the tag of the conversation in
    /// docs/spec/session.md.
    pub(super) fn tag(&self) -> u8 {
        match self {
            Self::Person(_) => 1,
            Self::Group(_) => 2,
        }
    }

    /// Encodes the name of the conversation in records: tag (1) || [`Self::as_bytes`].
    pub(super) fn name(&self) -> Vec<u8> {
        [&[self.tag()], self.as_bytes()].concat()
    }

    /// Decodes the bytes of [`Self::name`].
    pub(super) fn in_name(name: &[u8]) -> Option<Self> {
        let (tag, bytes) = name.split_first()?;
        Self::read(bytes).filter(|it| it.tag() == *tag)
    }

    /// Returns the engine's id of texts that did not come in a group of the hub: those of an
    /// archive, and of accepted requests.
    pub(super) fn id(&self) -> ConversationId {
        match self {
            Self::Person(identity) => ConversationId::Person(*identity),
            Self::Group(id) => ConversationId::Group(id.as_bytes().to_vec()),
        }
    }
}
