//! Undo of a message that failed to open.
//!
//! The library takes a message's key from the ratchet before it authenticates the message, so a
//! damaged copy would make the genuine message unreadable. Copying the state before every message
//! would cost more than opening it. Therefore there is one copy, the *undo point*, and a list of
//! the messages opened since. An undo opens these again and makes a new point. A message is opened
//! again at most once, so failures at most double the work, and add one copy each.

use alloc::sync::Arc;

use super::header::GroupHeader;
use super::mls_state::MlsState;

/// Limits of the messages since an undo point, which bound the cost of a failure.
const MAX_MESSAGES: usize = 1_000;
const MAX_BYTES: usize = 1 << 20;

#[derive(Default)]
pub(super) struct Rollback {
    point: Option<Arc<MlsState>>,
    since: Vec<Vec<u8>>,
    bytes: usize,
}

impl Rollback {
    /// Ensures that there is an undo point. It shares the state until the state changes.
    pub(super) fn mark(&mut self, now: &Arc<MlsState>) {
        if self.since.len() >= MAX_MESSAGES || self.bytes >= MAX_BYTES {
            self.clear();
        }
        self.point.get_or_insert_with(|| Arc::clone(now));
    }

    /// Records a message that was opened.
    pub(super) fn record(&mut self, body: &[u8]) {
        self.bytes += body.len();
        self.since.push(body.to_vec());
    }

    /// Returns the state before the failed message. `None` if there is no undo point, or the same
    /// messages cannot be opened from it again: no state in memory is valid then.
    pub(super) fn rewind(&mut self) -> Option<Arc<MlsState>> {
        let mut now = self.point.take()?;
        self.bytes = 0;
        for body in core::mem::take(&mut self.since) {
            let header = GroupHeader::parse(&body)?;
            Arc::make_mut(&mut now).open(&header, &body).ok()?;
        }
        Some(now)
    }

    /// Drops the undo point, and with it the keys that were used since.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}
