//! Limits of one transaction: messages and time.

use core::ops::Range;
use std::time::Instant;

use crate::BatchOptions;

/// Messages and time used by the current transaction.
pub(super) struct CommitBudget<'o> {
    options: &'o BatchOptions,
    /// Largest number of messages that are looked up, opened and written together.
    block: usize,
    began: Instant,
    messages: usize,
}

impl<'o> CommitBudget<'o> {
    pub(super) fn open(options: &'o BatchOptions, block: usize) -> Self {
        Self { options, block, began: Instant::now(), messages: 0 }
    }

    /// Returns the range of the next block, starting at `at`.
    pub(super) fn block(&self, at: usize, total: usize) -> Range<usize> {
        let room = self.options.max_messages.get().saturating_sub(self.messages).max(1);
        at..total.min(at.saturating_add(room.min(self.block)))
    }

    /// Counts a block of messages. Returns true if the transaction is full.
    pub(super) fn add(&mut self, messages: usize) -> bool {
        self.messages += messages;
        self.messages >= self.options.max_messages.get()
            || (self.options.max_latency != core::time::Duration::MAX
                && self.began.elapsed() >= self.options.max_latency)
    }
}
