//! Counters of an endpoint.

use core::fmt::Write as _;
use core::sync::atomic::{AtomicU64, Ordering};

macro_rules! statistics {
    ($($(#[doc = $doc:literal])+ $name:ident: $kind:literal;)*) => {
        /// Running totals, shared by all that count.
        #[derive(Debug, Default)]
        pub(crate) struct Counters {
            $(pub(crate) $name: AtomicU64,)*
        }

        /// Totals at one moment.
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
            /// The text format of Prometheus, version 0.0.4: `endseal_transport_…`. Nothing in it
            /// tells who the peers are.
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
    /// Connections at this moment.
    connections: "gauge";
    /// Slots of incoming handshakes in use: in progress, or failed within the time for one.
    half_open: "gauge";
    /// Connections that this side asked for and got.
    connected: "counter";
    /// Connections that others asked for and got.
    accepted: "counter";
    /// Handshakes of either direction that failed.
    handshakes_failed: "counter";
    /// Peers that proved a key which is not accepted.
    peers_refused: "counter";
    /// Incoming handshakes that were asked to prove their address first.
    retries: "counter";
    /// Incoming handshakes that were not answered, because their source had too many.
    handshakes_ignored: "counter";
    /// Incoming handshakes that were given up to make room for another.
    handshakes_evicted: "counter";
    /// Connections that were closed because they exceeded the backlog or another limit.
    busy: "counter";
    /// Connections closed because the peer did not keep to the protocol.
    protocol_errors: "counter";
    /// Frames given to QUIC.
    frames_sent: "counter";
    /// Frames given to the application.
    frames_received: "counter";
    /// Bytes of the payloads of sent frames.
    payload_sent: "counter";
    /// Bytes of the payloads of received frames.
    payload_received: "counter";
    /// Connections whose early data was accepted.
    early_accepted: "counter";
    /// Connections whose early data was not accepted, and was sent again.
    early_rejected: "counter";
}

impl Counters {
    pub(crate) fn add(counter: &AtomicU64, count: u64) {
        counter.fetch_add(count, Ordering::Relaxed);
    }
}
