//! Settings of the relay.

use core::time::Duration;

use endseal_relay::address::Address;

/// Settings of the relay.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Settings {
    /// Bounds of memory and time.
    pub limits: Limits,
    /// Asks for authentication (NIP-42): events of kind 24133 are forwarded to connections alone
    /// that authenticated a key in one of their `p` tags.
    pub auth: bool,
    /// URL that the `relay` tag of an authentication must name; without it any is accepted.
    pub url: Option<Address>,
    /// Name in the information document.
    pub name: String,
}

/// Bounds of memory and time of the relay.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Longest message of a client.
    pub message: usize,
    /// Most connections; more are closed at once.
    pub connections: usize,
    /// Most subscriptions of a connection.
    pub subscriptions: usize,
    /// Most stored events in answer to a `REQ`.
    pub answers: usize,
    /// Most stored events; the oldest is dropped.
    pub stored_events: usize,
    /// Most bytes of these.
    pub stored_bytes: usize,
    /// Most events that wait for a client; one that reads too slowly is disconnected.
    pub queued_events: usize,
    /// Most bytes of these.
    pub queued_bytes: usize,
    /// Longest time for a handshake, and for a client to read what is written to it.
    pub timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message: 512 * 1024,
            connections: 256,
            subscriptions: 32,
            answers: 500,
            stored_events: 10_000,
            stored_bytes: 16 << 20,
            queued_events: 1_024,
            queued_bytes: 4 << 20,
            timeout: Duration::from_secs(10),
        }
    }
}
