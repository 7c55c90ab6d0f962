//! Numbers in the store for the kinds of inbox messages.

/// Text of a sender.
pub(super) const KIND_TEXT: u8 = 0;
/// Notice of a group change.
pub(super) const KIND_CHANGE: u8 = 1;
/// Notice of a proposed group change.
pub(super) const KIND_PROPOSAL: u8 = 2;
/// Note of a member to this device.
pub(super) const KIND_NOTE: u8 = 3;
