//! Bounds of a client.

use core::time::Duration;

/// Limits of a client. Every field can be set alone: `Limits { connections: 64, ..Limits::default()
/// }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "settings with defaults")]
pub struct Limits {
    /// Connections at once, idle ones included.
    pub connections: usize,
    /// Time for which a request waits for one of them.
    pub queue: Duration,
    /// Name resolution, TCP and TLS together.
    pub connect: Duration,
    /// From the last byte of the request to the first of the response.
    pub first_byte: Duration,
    /// Without a byte in the middle of a body, in either direction.
    pub idle: Duration,
    /// Connections that are kept for the next request.
    pub kept: usize,
    /// Time for which they are kept. Should be below the server's.
    pub kept_for: Duration,
    /// Bytes of a connection's buffers at most, and of a response's head: 8 KiB and more. Buffers
    /// grow to it only where so much comes at once.
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
