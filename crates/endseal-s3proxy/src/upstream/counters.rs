//! Counters of a client.

use core::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counters of a client, which only grow.
        #[derive(Debug, Default)]
        pub struct Counters {
            $($(#[$doc])* pub(super) $name: AtomicU64,)*
        }

        impl Counters {
            $($(#[$doc])*
            #[must_use]
            pub fn $name(&self) -> u64 {
                self.$name.load(Ordering::Relaxed)
            })*
        }
    };
}

counters! {
    /// Requests that were taken.
    requests,
    /// Requests that ended in an error before a response came.
    failed,
    /// Connections opened.
    opened,
    /// Connections that could not be opened.
    unreachable,
    /// Requests that went over a kept connection.
    reused,
    /// Requests that were sent again because a kept connection turned out closed.
    retried,
    /// Requests that waited for a connection in vain.
    crowded_out,
    /// Requests and bodies that a timeout ended, while connecting as well.
    timeouts,
    /// Responses that broke in the middle of the body.
    broken_bodies,
    /// Requests and responses that the caller dropped before their end.
    abandoned,
    /// Bytes written to servers, heads included, before TLS.
    bytes_sent,
    /// Bytes read from servers, heads included, after TLS.
    bytes_received,
}

pub(super) fn count(counter: &AtomicU64) {
    add(counter, 1);
}

pub(super) fn add(counter: &AtomicU64, n: u64) {
    counter.fetch_add(n, Ordering::Relaxed);
}
