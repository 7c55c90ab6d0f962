//! Facts about a session for the application.

use endseal_store::SessionStatus;

use crate::SessionTag;

/// One session with a device.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionInfo {
    /// Tag by which its messages are found.
    pub tag: SessionTag,
    /// Status, which tells if it may send.
    pub standing: SessionStatus,
    /// Of several sessions that may send, the one with the highest number does.
    pub used: u64,
    /// True if the other side ever wrote on it.
    pub answered: bool,
}
