//! Name of a conversation in the store (docs/spec/session.md, "Conversations").

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::Origin;
use crate::group::MAX_GROUP_ID_LEN;

/// `1 || identity` between two people, `2 || id` in a group. Cloning copies a reference only,
/// because each message of a batch carries one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Conversation(Arc<[u8]>);

pub(super) const PERSON: u8 = 1;
pub(super) const GROUP: u8 = 2;

impl Conversation {
    /// Returns the conversation with a person, on all of its devices.
    pub(super) fn person(identity: &[u8; 32]) -> Self {
        Self::tagged(PERSON, identity)
    }

    /// Returns the conversation of a group. `None` unless the id is 1 to 63 bytes long.
    pub(super) fn group(id: &[u8]) -> Option<Self> {
        (1..=MAX_GROUP_ID_LEN).contains(&id.len()).then(|| Self::tagged(GROUP, id))
    }

    /// Returns the conversation that a message claims to belong to; the origin is not
    /// authenticated.
    pub(super) fn of(origin: Origin<'_>) -> Option<Self> {
        match origin {
            Origin::Device(address) => Some(Self::person(address.identity.as_bytes())),
            Origin::Group(id) => Self::group(id),
        }
    }

    /// Returns the name in the store.
    pub(super) fn name(&self) -> &[u8] {
        &self.0
    }

    /// Returns true if this is a clone of `other`. Equal names that were made separately are not
    /// clones.
    pub(super) fn is_copy_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns the id of the group; `None` for a person.
    pub(super) fn group_id(&self) -> Option<&[u8]> {
        self.0.strip_prefix(&[GROUP])
    }

    fn tagged(tag: u8, rest: &[u8]) -> Self {
        let mut name = Vec::with_capacity(1 + rest.len());
        name.push(tag);
        name.extend_from_slice(rest);
        Self(name.into())
    }
}
