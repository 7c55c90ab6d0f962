//! Progress of a batch.

/// Number of messages and transactions of a batch that are in the store.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    /// Messages with a committed result.
    pub(super) committed: usize,
    /// Committed transactions.
    pub(super) commits: u32,
    /// Messages that were reported to the watcher.
    pub(super) told: usize,
    /// True if the watcher ended the batch.
    pub(super) stopped: bool,
}

impl Progress {
    /// Counts a commit that covers the messages before `up_to`.
    pub(super) fn commit(&mut self, up_to: usize) {
        self.committed = up_to;
        self.commits += 1;
    }
}
