//! Totals of parked messages of all conversations. An attacker can invent group ids and identities
//! without cost, so messages of known conversations have a separate limit.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicUsize, Ordering};

/// Limits of parked messages of known conversations: number and bytes.
const MAX_KNOWN: (usize, usize) = (16_384, 128 << 20);
/// Limits of parked messages of groups and identities that this device does not know: number and
/// bytes.
const MAX_UNKNOWN: (usize, usize) = (4_096, 32 << 20);

/// Selects the total in which a parked message is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Pool {
    Known,
    Unknown,
}

/// Totals of all parked messages, with their limits.
#[derive(Default)]
pub(in crate::engine) struct ParkingBudget {
    known: Count,
    unknown: Count,
}

#[derive(Default)]
struct Count {
    messages: AtomicUsize,
    bytes: AtomicUsize,
}

impl Count {
    fn add(&self, messages: usize, bytes: usize) {
        self.messages.fetch_add(messages, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl ParkingBudget {
    /// Makes the budget from the totals in the store: pool, messages and bytes of each.
    pub(in crate::engine) fn new(
        parts: impl IntoIterator<Item = (Pool, usize, usize)>,
    ) -> Arc<Self> {
        let budget = Self::default();
        for (pool, messages, bytes) in parts {
            budget.count(pool).add(messages, bytes);
        }
        Arc::new(budget)
    }

    /// Returns true if no conversation has a parked message.
    pub(in crate::engine) fn is_unused(&self) -> bool {
        let unused = |count: &Count| count.messages.load(Ordering::Relaxed) == 0;
        unused(&self.known) && unused(&self.unknown)
    }

    /// Counts one message of `len` bytes. Returns false if the pool is full. `has_share` is true if
    /// the conversation is within its own share, which is always available.
    ///
    /// Each concurrent thread may exceed the limit by one message.
    pub(super) fn take(&self, pool: Pool, len: usize, has_share: bool) -> bool {
        let (count, (messages, bytes)) = match pool {
            Pool::Known => (&self.known, MAX_KNOWN),
            Pool::Unknown => (&self.unknown, MAX_UNKNOWN),
        };
        let fits = has_share
            || count.messages.load(Ordering::Relaxed) < messages
                && count.bytes.load(Ordering::Relaxed).saturating_add(len) <= bytes;
        if fits {
            count.add(1, len);
        }
        fits
    }

    pub(super) fn give_back(&self, pool: Pool, len: usize) {
        let count = self.count(pool);
        count.messages.fetch_sub(1, Ordering::Relaxed);
        count.bytes.fetch_sub(len, Ordering::Relaxed);
    }

    fn count(&self, pool: Pool) -> &Count {
        match pool {
            Pool::Known => &self.known,
            Pool::Unknown => &self.unknown,
        }
    }
}
