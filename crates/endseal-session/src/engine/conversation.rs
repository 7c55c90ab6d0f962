//! The name of a conversation in the store (docs/spec/session.md, "Conversations").

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::Origin;
use crate::group::MAX_GROUP_ID_LEN;

/// `1 || identity` between two people, `2 || id` in a group. A copy is one more reference, because
/// each message of a backlog carries one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Conversation(Arc<[u8]>);

pub(super) const PERSON: u8 = 1;
pub(super) const GROUP: u8 = 2;

impl Conversation {
    /// The one with a person, whichever the device.
    pub(super) fn person(identity: &[u8; 32]) -> Self {
        Self::tagged(PERSON, identity)
    }

    /// The one in a group, whose id is 1 to 63 bytes long.
    pub(super) fn group(id: &[u8]) -> Option<Self> {
        (1..=MAX_GROUP_ID_LEN).contains(&id.len()).then(|| Self::tagged(GROUP, id))
    }

    /// Where a message belongs if what it says of itself is true.
    pub(super) fn of(origin: Origin<'_>) -> Option<Self> {
        match origin {
            Origin::Device(address) => Some(Self::person(address.identity.as_bytes())),
            Origin::Group(id) => Self::group(id),
        }
    }

    /// The name in the store.
    pub(super) fn name(&self) -> &[u8] {
        &self.0
    }

    /// Returns true if this is a copy of `other`. Two that were made apart may be equal and are no
    /// copies.
    pub(super) fn is_copy_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The group's id, if it is one.
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
