//! Connections to the hub that the program makes.

use core::fmt;

use endseal_transport::{Connection, Endpoint};

/// A connection to the hub, made with [`hub_limits`](crate::messages::hub_limits), and its
/// endpoint, which is closed with it.
#[allow(missing_debug_implementations, reason = "its endpoint holds a key")]
#[allow(clippy::exhaustive_structs, reason = "callers make them")]
pub struct Dialed {
    /// Endpoint.
    pub endpoint: Endpoint,
    /// Connection.
    pub connection: Connection,
}

/// Cause why there is no connection.
#[derive(Clone, Debug)]
#[allow(clippy::exhaustive_structs, reason = "callers make them")]
pub struct DialError {
    /// The cause in a line.
    pub cause: String,
    /// Another attempt may succeed.
    pub is_transient: bool,
}

impl fmt::Display for DialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.cause)
    }
}

impl core::error::Error for DialError {}
