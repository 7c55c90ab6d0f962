//! Progress of a batch into the store.

/// Part of a batch that is in the store.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    /// Messages whose results are.
    pub(super) committed: usize,
    /// Transactions.
    pub(super) commits: u32,
    /// Messages that a watcher was told of.
    pub(super) told: usize,
    /// True if a watcher ended the batch.
    pub(super) stopped: bool,
}

impl Progress {
    /// A transaction with everything up to here was committed.
    pub(super) fn commit(&mut self, up_to: usize) {
        self.committed = up_to;
        self.commits += 1;
    }
}
