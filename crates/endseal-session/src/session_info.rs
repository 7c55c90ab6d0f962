//! Information about a session for the application.

use endseal_store::SessionStatus;

use crate::SessionTag;

/// One session with a device.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionInfo {
    /// Tag that identifies the session in messages.
    pub tag: SessionTag,
    /// Status, which decides if the session may send.
    pub status: SessionStatus,
    /// Rank by last use. Of several sessions that may send, the one with the highest number is
    /// used.
    pub used: u64,
    /// True if a message of the other side was opened on this session.
    pub answered: bool,
}
