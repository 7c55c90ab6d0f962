//! Record of a dropped session.

use crate::SessionTag;

/// Tag of a dropped session, whose first message is not accepted again.
#[derive(Clone, Copy)]
pub(super) struct DroppedSession {
    pub(super) tag: SessionTag,
    /// Next number of the inbox at the time of the write; `None` until it is written.
    pub(super) number: Option<u64>,
}
