//! MLS groups.

use endseal_session::{self as session};

use crate::address::DeviceAddress;
use crate::outcome::ReleasedMessage;

/// State of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "libraries of other languages mirror it")]
pub struct GroupInfo {
    /// Current epoch.
    pub epoch: u64,
    /// Members. If this device was removed, those of its last epoch.
    pub members: Vec<DeviceAddress>,
    /// Members whose certificate was superseded by one that this device has seen.
    pub superseded: Vec<DeviceAddress>,
    /// True if this device is a member.
    pub is_member: bool,
    /// True if a commit of this device is neither accepted nor discarded.
    pub has_pending: bool,
    /// True if proposals wait for a commit; no text can be sent before it.
    pub needs_commit: bool,
}

impl GroupInfo {
    pub(crate) fn of(group: session::GroupSummary) -> Self {
        Self {
            epoch: group.epoch,
            members: DeviceAddress::all(&group.members),
            superseded: DeviceAddress::all(&group.superseded),
            is_member: group.is_member,
            has_pending: group.has_pending,
            needs_commit: group.needs_commit,
        }
    }
}

/// A group that this device has joined. Show inviter and members to the user: the id is the maker's
/// choice, and identifies nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "libraries of other languages mirror it")]
pub struct JoinedGroup {
    /// Id of the group.
    pub id: Vec<u8>,
    /// Epoch in which this device joined.
    pub epoch: u64,
    /// Member who signed the welcome.
    pub inviter: DeviceAddress,
    /// Members, this device among them.
    pub members: Vec<DeviceAddress>,
    /// Members whose certificate was superseded by one that this device has seen.
    pub superseded: Vec<DeviceAddress>,
    /// Messages of the group that had come before, with their result.
    pub released: Vec<ReleasedMessage>,
}

impl JoinedGroup {
    pub(crate) fn of(joined: session::JoinedGroup) -> Self {
        Self {
            id: joined.id,
            epoch: joined.epoch,
            inviter: DeviceAddress::of(joined.inviter),
            members: DeviceAddress::all(&joined.members),
            superseded: DeviceAddress::all(&joined.superseded),
            released: ReleasedMessage::all(joined.released),
        }
    }
}
