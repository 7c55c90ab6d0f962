//! Going back after a message that failed.
//!
//! The library takes a message's key from the ratchet before it knows whether the message is
//! authentic, so a damaged copy would make the true message unreadable. A copy of the state before
//! every message would cost more than the message. So there is one copy, the *undo point*, and the
//! messages opened since; going back opens them again and makes a new point. A message is opened
//! again at most once, hence failures at most double the work, and add one copy each.

use alloc::sync::Arc;

use super::header::GroupHeader;
use super::mls_state::MlsState;

/// Messages and bytes after which a new point is made: what a failure costs at most.
const MAX_MESSAGES: usize = 1_000;
const MAX_BYTES: usize = 1 << 20;

#[derive(Default)]
pub(super) struct Rollback {
    point: Option<Arc<MlsState>>,
    since: Vec<Vec<u8>>,
    bytes: usize,
}

impl Rollback {
    /// Makes sure that there is a point to go back to. It shares the state until that changes.
    pub(super) fn mark(&mut self, now: &Arc<MlsState>) {
        if self.since.len() >= MAX_MESSAGES || self.bytes >= MAX_BYTES {
            self.clear();
        }
        self.point.get_or_insert_with(|| Arc::clone(now));
    }

    /// Notes a message that was opened.
    pub(super) fn record(&mut self, body: &[u8]) {
        self.bytes += body.len();
        self.since.push(body.to_vec());
    }

    /// The state before the message that failed. `None` if there is no point, or the same messages
    /// do not open from the same state: then no state in memory is the right one.
    pub(super) fn rewind(&mut self) -> Option<Arc<MlsState>> {
        let mut now = self.point.take()?;
        self.bytes = 0;
        for body in core::mem::take(&mut self.since) {
            let header = GroupHeader::parse(&body)?;
            Arc::make_mut(&mut now).open(&header, &body).ok()?;
        }
        Some(now)
    }

    /// Forgets the point, and with it the keys that were used since.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}
