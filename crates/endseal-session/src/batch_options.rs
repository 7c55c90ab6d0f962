//! Options of a batch: sizes of its transactions, threads and durability.

use alloc::vec::Vec;
use core::num::NonZeroUsize;
use core::time::Duration;

/// Options of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BatchOptions {
    /// Messages a transaction at most.
    pub max_messages: NonZeroUsize,
    /// Time after which a transaction is committed, however few messages are in it.
    pub max_latency: Duration,
    /// Durability of its commits.
    pub durability: Durability,
    /// Threads that may decrypt: conversations are spread over them. With more than one, another
    /// thread writes to the store, and the next chunk is decrypted while the last one is
    /// synchronised.
    pub threads: NonZeroUsize,
    /// The queue whose position is written with each transaction
    /// (see [`Envelope::position`](crate::Envelope)).
    pub queue: Vec<u8>,
}

impl Default for BatchOptions {
    /// 256 messages or 50 ms a transaction, each synchronised, on one thread.
    fn default() -> Self {
        Self {
            max_messages: const { NonZeroUsize::new(256).unwrap() },
            max_latency: Duration::from_millis(50),
            durability: Durability::EachCommit,
            threads: NonZeroUsize::MIN,
            queue: Vec::new(),
        }
    }
}

impl BatchOptions {
    /// All of the batch in one transaction, however long it takes.
    #[must_use]
    pub fn whole() -> Self {
        Self { max_messages: NonZeroUsize::MAX, max_latency: Duration::MAX, ..Self::default() }
    }

    /// With `messages` a transaction at most; 0 counts as 1.
    #[must_use]
    pub fn max_messages(mut self, messages: usize) -> Self {
        self.max_messages = NonZeroUsize::new(messages).unwrap_or(NonZeroUsize::MIN);
        self
    }

    /// With `latency` a transaction at most.
    #[must_use]
    pub fn max_latency(mut self, latency: Duration) -> Self {
        self.max_latency = latency;
        self
    }

    /// On `threads` threads; 0 counts as 1.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN);
        self
    }

    /// With this promise.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// With the position of this queue written beside.
    #[must_use]
    pub fn queue(mut self, queue: &[u8]) -> Self {
        self.queue = queue.to_vec();
        self
    }
}

/// Durability of a commit within a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Durability {
    /// Every transaction is synchronised before it counts: what a report tells may be acknowledged.
    #[default]
    EachCommit,
    /// Only the last one is, and with it all before. Until the call returns, nothing may be
    /// acknowledged: a loss of power can undo chunks that a report told of.
    AtEnd,
}
