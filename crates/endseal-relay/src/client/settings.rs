//! The settings of a connection to a relay.

use core::time::Duration;

use endseal_service::Trust;

use crate::address::{Address, Reach};
use crate::connect::Proxy;

/// The settings of a connection to a relay.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// The URL of the relay.
    pub address: Address,
    /// The addresses that may be connected to.
    pub reach: Reach,
    /// The SOCKS5 proxy for all connections.
    pub proxy: Option<Proxy>,
    /// The certificate authorities that may vouch for the relay.
    pub trust: Trust,
    /// Limits on the memory that the connection uses.
    pub limits: Limits,
    /// The timeouts and intervals of the connection.
    pub timing: Timing,
    /// True to fetch the information document (NIP-11), over a connection of its own.
    pub information: bool,
}

impl Settings {
    /// Returns the default settings: a direct connection to any address, Mozilla's authorities, and
    /// fetching of the information document.
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

/// Limits on the memory of a connection.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Maximum length of a received message. A longer message is skipped.
    pub message: usize,
    /// Maximum number of events that wait to be sent.
    pub queued_events: usize,
    /// Maximum total length in bytes of the events that wait to be sent.
    pub queued_bytes: usize,
}

impl Default for Limits {
    /// Returns the default limits: messages of 1 MiB, and 1,024 events with 8 MiB in total.
    fn default() -> Self {
        Self { message: 1 << 20, queued_events: 1_024, queued_bytes: 8 << 20 }
    }
}

/// The timeouts and intervals of a connection.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Timing {
    /// Maximum time from the first packet to the end of the WebSocket handshake.
    pub connect: Duration,
    /// Interval between two pings to the relay.
    pub ping: Duration,
    /// Time after which the connection ends if no frame arrives, or if sending makes no progress.
    pub silence: Duration,
    /// The first wait before a new attempt to connect. It doubles with each failure.
    pub first_wait: Duration,
    /// Maximum wait between two attempts to connect.
    pub longest_wait: Duration,
    /// After a connection that lasted at least this long, the first wait is used again.
    pub lasted: Duration,
    /// Age at which an event is dropped that was not sent, or that has no report.
    pub keep_unsent: Duration,
    /// Time before the last frame from which on a new subscription asks for events.
    pub overlap: Duration,
    /// Time within which a relay confirms an authentication. Some relays never do.
    pub confirm: Duration,
    /// If a connection ends within this time after a [large](super::LARGE) event was sent, the
    /// event is suspected to be the cause.
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
