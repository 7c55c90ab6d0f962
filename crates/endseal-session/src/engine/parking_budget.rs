//! Parked messages of all conversations, counted. Group ids and identities cost their inventor
//! nothing, so messages of known conversations have room of their own.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicUsize, Ordering};

/// Most parked messages of known conversations, and most bytes.
const MAX_KNOWN: (usize, usize) = (16_384, 128 << 20);
/// Most parked messages of groups and identities that this device does not know, and most bytes.
const MAX_UNKNOWN: (usize, usize) = (4_096, 32 << 20);

/// Which count a parked message is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Pool {
    Known,
    Unknown,
}

/// See the module.
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
    /// The budget after what lies in the store: pool, messages and bytes of each part.
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

    /// Counts one message of `len` bytes; returns false if there is no room. `has_share` is true if
    /// the conversation is within its own share, for which there always is.
    ///
    /// Conversations on other threads may exceed the limit by a message each.
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
