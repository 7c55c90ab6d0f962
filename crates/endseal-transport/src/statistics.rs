//! Counters of an endpoint.

use core::fmt::Write as _;
use core::sync::atomic::{AtomicU64, Ordering};

macro_rules! statistics {
    ($($(#[doc = $doc:literal])+ $name:ident: $kind:literal;)*) => {
        /// Running totals, shared by all connections of an endpoint.
        #[derive(Debug, Default)]
        pub(crate) struct Counters {
            $(pub(crate) $name: AtomicU64,)*
        }

        /// Totals of an endpoint at one moment.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Statistics {
            $($(#[doc = $doc])+ pub $name: u64,)*
        }

        impl Counters {
            pub(crate) fn snapshot(&self) -> Statistics {
                Statistics { $($name: self.$name.load(Ordering::Relaxed),)* }
            }
        }

        impl Statistics {
            /// Returns the totals in the Prometheus text format, version 0.0.4, with the name
            /// prefix `endseal_transport_`. The text does not identify peers.
            #[must_use]
            pub fn to_prometheus(&self) -> String {
                let mut text = String::new();
                $(
                    let help = concat!($($doc),+).trim();
                    let suffix = if $kind == "counter" { "_total" } else { "" };
                    let name = format!("endseal_transport_{}{suffix}", stringify!($name));
                    // Writing to a string cannot fail.
                    let _infallible = write!(
                        text,
                        "# HELP {name} {help}\n# TYPE {name} {}\n{name} {}\n",
                        $kind, self.$name
                    );
                )*
                text
            }
        }
    };
}

statistics! {
    /// Open connections.
    connections: "gauge";
    /// Slots of incoming handshakes in use: in progress, or failed within the time limit.
    half_open: "gauge";
    /// Outgoing connections that were established.
    connected: "counter";
    /// Incoming connections that were established.
    accepted: "counter";
    /// Failed handshakes, incoming and outgoing.
    handshakes_failed: "counter";
    /// Outgoing handshakes answered with a wrong key, and incoming ones that were refused after the
    /// TLS handshake.
    peers_refused: "counter";
    /// Incoming handshakes that had to prove their address first.
    retries: "counter";
    /// Incoming handshakes that were not answered because their source network had too many.
    handshakes_ignored: "counter";
    /// Incoming handshakes that were aborted to free a slot for another one.
    handshakes_evicted: "counter";
    /// Incoming connections that were closed because of the backlog or another limit.
    busy: "counter";
    /// Connections that were closed because the peer violated the protocol.
    protocol_errors: "counter";
    /// Frames passed to QUIC.
    frames_sent: "counter";
    /// Frames passed to the application.
    frames_received: "counter";
    /// Payload bytes of sent frames.
    payload_sent: "counter";
    /// Payload bytes of received frames.
    payload_received: "counter";
    /// Outgoing connections whose early data was accepted.
    early_accepted: "counter";
    /// Outgoing connections whose early data was rejected and sent again.
    early_rejected: "counter";
}

impl Counters {
    pub(crate) fn add(counter: &AtomicU64, count: u64) {
        counter.fetch_add(count, Ordering::Relaxed);
    }
}
