//! Numbers in the store for the kinds of messages in the inbox.

/// Text.
pub(super) const KIND_TEXT: u8 = 0;
/// Change of a group.
pub(super) const KIND_CHANGE: u8 = 1;
/// Proposal to change a group.
pub(super) const KIND_PROPOSAL: u8 = 2;
