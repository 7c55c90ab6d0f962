//! Settings of a connection to a relay.

use core::time::Duration;

use endseal_service::Trust;

use crate::address::{Address, Reach};
use crate::connect::Proxy;

/// Settings of a connection to a relay.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// URL of the relay.
    pub address: Address,
    /// Addresses that may be connected to.
    pub reach: Reach,
    /// SOCKS5 proxy through which everything goes.
    pub proxy: Option<Proxy>,
    /// Certificate authorities that may vouch for the relay.
    pub trust: Trust,
    /// Bounds of the memory that the connection uses.
    pub limits: Limits,
    /// Timeouts and intervals of the connection.
    pub timing: Timing,
    /// Fetch the information document (NIP-11), over a connection of its own.
    pub information: bool,
}

impl Settings {
    /// Defaults: direct, any address, Mozilla's authorities, with the information document.
    #[must_use]
    pub fn new(address: Address) -> Self {
        Self {
            address,
            reach: Reach::Any,
            proxy: None,
            trust: Trust::public(),
            limits: Limits::default(),
            timing: Timing::default(),
            information: true,
        }
    }
}

/// Bounds of memory of a connection.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Longest message that is received; a longer one ends the connection.
    pub message: usize,
    /// Most events that wait to be sent.
    pub queued_events: usize,
    /// Most bytes of the events that wait to be sent.
    pub queued_bytes: usize,
}

impl Default for Limits {
    /// 1 MiB; 1,024 events of 8 MiB together.
    fn default() -> Self {
        Self { message: 1 << 20, queued_events: 1_024, queued_bytes: 8 << 20 }
    }
}

/// Timeouts and intervals of a connection.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Timing {
    /// Longest time from the first packet to the end of the WebSocket handshake.
    pub connect: Duration,
    /// Time between two pings to the relay.
    pub ping: Duration,
    /// Time without a frame, or without progress in sending, after which the connection ends.
    pub silence: Duration,
    /// First wait before the next connection, doubled each time.
    pub first_wait: Duration,
    /// Longest wait between two attempts to connect.
    pub longest_wait: Duration,
    /// A connection that lasted as long starts again with the first wait.
    pub lasted: Duration,
    /// Age at which an unsent event is dropped.
    pub keep_unsent: Duration,
    /// Time before the last frame from which events are asked for again.
    pub overlap: Duration,
    /// Time for a relay to confirm an authentication; some never do.
    pub confirm: Duration,
    /// A connection that ends in this time after a [large](super::LARGE) event makes it suspect.
    pub suspect: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(15),
            ping: Duration::from_secs(30),
            silence: Duration::from_secs(75),
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(60),
            lasted: Duration::from_secs(60),
            keep_unsent: Duration::from_secs(60),
            overlap: Duration::from_secs(120),
            confirm: Duration::from_secs(2),
            suspect: Duration::from_secs(5),
        }
    }
}
