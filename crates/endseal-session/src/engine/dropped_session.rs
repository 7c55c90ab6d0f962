//! Sessions that were dropped.

use crate::SessionTag;

/// A session that was dropped.
#[derive(Clone, Copy)]
pub(super) struct DroppedSession {
    pub(super) tag: SessionTag,
    /// Number that the inbox would have given out next when this was written; `None` before.
    pub(super) number: Option<u64>,
}
