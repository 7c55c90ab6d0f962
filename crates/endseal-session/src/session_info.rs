//! What can be told of a session.

use endseal_store::SessionStatus;

use crate::SessionTag;

/// One session with a device.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionInfo {
    /// What its messages are found by.
    pub tag: SessionTag,
    /// What it may be used for.
    pub standing: SessionStatus,
    /// Of several sessions that may send, the one with the highest number does.
    pub used: u64,
    /// Whether the other side ever wrote on it.
    pub answered: bool,
}
