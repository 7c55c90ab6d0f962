//! Limits of a client.

use core::time::Duration;

/// Limits of a client. Every field can be set alone: `Limits { connections: 64, ..Limits::default()
/// }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "settings with defaults")]
pub struct Limits {
    /// Maximum number of connections, including idle ones.
    pub connections: usize,
    /// Timeout for a request to get one of them.
    pub queue: Duration,
    /// Timeout for name resolution, TCP connection and TLS handshake together.
    pub connect: Duration,
    /// Timeout from the last byte of the request to the first byte of the response.
    pub first_byte: Duration,
    /// Timeout without any byte within a body, in either direction.
    pub idle: Duration,
    /// Maximum number of connections that are kept for later requests.
    pub kept: usize,
    /// Time for which they are kept. It should be shorter than the server's timeout.
    pub kept_for: Duration,
    /// Maximum size of a connection's buffers and of a response head in bytes, at least 8 KiB.
    /// Buffers only grow if so much arrives at once.
    pub buffer: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 256,
            queue: Duration::from_secs(10),
            connect: Duration::from_secs(5),
            first_byte: Duration::from_secs(60),
            idle: Duration::from_secs(30),
            kept: 64,
            kept_for: Duration::from_secs(20),
            buffer: 256 * 1024,
        }
    }
}
