//! Counters of a client.

use core::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counters of a client. They never decrease.
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
    /// Number of requests that were started.
    requests,
    /// Number of requests that ended in an error before a response arrived.
    failed,
    /// Number of connections that were opened.
    opened,
    /// Number of connections that could not be opened.
    unreachable,
    /// Number of requests that used a kept connection.
    reused,
    /// Number of requests that were sent again because a kept connection was closed.
    retried,
    /// Number of requests that got no connection in time.
    crowded_out,
    /// Number of requests and bodies that ended with a timeout, including connection timeouts.
    timeouts,
    /// Number of responses that broke off in the body.
    broken_bodies,
    /// Number of requests and responses that the caller dropped before their end.
    abandoned,
    /// Number of bytes written to servers, including headers, before TLS encryption.
    bytes_sent,
    /// Number of bytes read from servers, including headers, after TLS decryption.
    bytes_received,
}

pub(super) fn count(counter: &AtomicU64) {
    add(counter, 1);
}

pub(super) fn add(counter: &AtomicU64, n: u64) {
    counter.fetch_add(n, Ordering::Relaxed);
}
