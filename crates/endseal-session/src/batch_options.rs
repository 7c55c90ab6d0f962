//! Options of a batch: transaction sizes, threads and durability.

use alloc::vec::Vec;
use core::num::NonZeroUsize;
use core::time::Duration;

/// Options for [`Engine::decrypt_batch`](crate::Engine::decrypt_batch): transaction sizes, threads
/// and durability.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BatchOptions {
    /// Largest number of messages in one transaction.
    pub max_messages: NonZeroUsize,
    /// Time after which a transaction is committed, even if it holds few messages.
    pub max_latency: Duration,
    /// Time at which commits are written to disk with fsync.
    pub durability: Durability,
    /// Number of threads that decrypt; the conversations are spread over them. With more than one,
    /// another thread writes to the store, and the next chunk is decrypted while the last one is
    /// written with fsync.
    pub threads: NonZeroUsize,
    /// Name of the delivery queue whose position is written with each transaction (see
    /// [`Envelope::position`](crate::Envelope)). Empty for none.
    pub queue: Vec<u8>,
}

impl Default for BatchOptions {
    /// 256 messages or 50 ms per transaction, an fsync with each commit, one thread.
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
    /// Returns options that put the whole batch into one transaction, however long it takes.
    #[must_use]
    pub fn whole() -> Self {
        Self { max_messages: NonZeroUsize::MAX, max_latency: Duration::MAX, ..Self::default() }
    }

    /// Sets the largest number of messages in one transaction; 0 counts as 1.
    #[must_use]
    pub fn max_messages(mut self, messages: usize) -> Self {
        self.max_messages = NonZeroUsize::new(messages).unwrap_or(NonZeroUsize::MIN);
        self
    }

    /// Sets the time after which a transaction is committed.
    #[must_use]
    pub fn max_latency(mut self, latency: Duration) -> Self {
        self.max_latency = latency;
        self
    }

    /// Sets the number of threads; 0 counts as 1.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN);
        self
    }

    /// Sets the durability of the commits.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Sets the delivery queue whose position is written with each transaction.
    #[must_use]
    pub fn queue(mut self, queue: &[u8]) -> Self {
        self.queue = queue.to_vec();
        self
    }
}

/// Durability of the commits within a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Durability {
    /// Every commit is written with fsync. Messages may be acknowledged as soon as a report names
    /// them.
    #[default]
    EachCommit,
    /// Only the last commit is written with fsync, which covers all earlier ones. No message may be
    /// acknowledged until the call returns: a power failure can undo chunks that were already
    /// reported.
    AtEnd,
}
