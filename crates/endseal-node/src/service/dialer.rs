//! Connections to the hub, which the calling program makes.

use core::fmt;

use endseal_transport::{Connection, Endpoint};

/// A connection to the hub, made with [`hub_limits`](crate::messages::hub_limits), and its
/// endpoint. The service closes the endpoint when the connection ends.
#[allow(missing_debug_implementations, reason = "its endpoint holds a key")]
#[allow(clippy::exhaustive_structs, reason = "callers make them")]
pub struct Dialed {
    /// Endpoint that made the connection.
    pub endpoint: Endpoint,
    /// Authenticated connection to the hub.
    pub connection: Connection,
    /// Addresses under which the hub was reached, each `host:port`, with a space between two.
    pub addresses: String,
}

/// Reason why no connection was made.
#[derive(Clone, Debug)]
#[allow(clippy::exhaustive_structs, reason = "callers make them")]
pub struct DialError {
    /// Reason in one line, for people.
    pub cause: String,
    /// True if another attempt may succeed.
    pub is_transient: bool,
}

impl fmt::Display for DialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.cause)
    }
}

impl core::error::Error for DialError {}
