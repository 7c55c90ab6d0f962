//! Errors, one enum for each operation. Each variant has a stable code.

use std::io;

use endseal_codec::frame::FrameError;
use quinn::ConnectionError;

use crate::close::{ALERT_ACCESS_DENIED, CloseCode, Closed};

/// Error of opening an endpoint.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// The address is in use, not one of this machine, or not allowed.
    #[error("the socket cannot be opened: {0}")]
    Socket(#[from] io::Error),
    /// The key has another signature algorithm than the policy requires.
    #[error("the key is not of the signature algorithm of the policy")]
    Key,
    /// The TLS library lacks an algorithm of the policy: it was built with other features.
    #[error("the TLS library lacks an algorithm that the policy needs")]
    Tls,
}

impl BindError {
    /// Returns a stable name of the variant, for logs and metrics.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Socket(_) => "socket",
            Self::Key => "key",
            Self::Tls => "tls",
        }
    }
}

/// Error of connecting to a peer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The side that answered has another id than the requested peer, or could not prove its key.
    #[error("the side that answered is not the requested peer")]
    WrongPeer,
    /// The peer does not accept this side's key.
    #[error("the peer does not accept this key")]
    Refused,
    /// The two sides have no key exchange, signature scheme or protocol in common, or the other
    /// side uses certificates.
    #[error("the two sides have no key exchange or signature in common")]
    Policy,
    /// One of the sides has reached its limit of connections.
    #[error("no more connections are accepted now; try again later")]
    Busy,
    /// The peer did not answer within the time for a handshake.
    #[error("the peer did not answer in time")]
    TimedOut,
    /// The address is invalid: port 0, or an address family that the socket does not support.
    #[error("the address is not valid for this socket")]
    Address,
    /// The endpoint was closed.
    #[error("the endpoint is closed")]
    EndpointClosed,
    /// QUIC or TLS failed. The text describes the error and is not stable.
    #[error("the handshake failed: {0}")]
    Protocol(String),
}

impl ConnectError {
    /// Returns a stable name of the variant, for logs and metrics.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::WrongPeer => "wrong-peer",
            Self::Refused => "refused",
            Self::Policy => "policy",
            Self::Busy => "busy",
            Self::TimedOut => "timed-out",
            Self::Address => "address",
            Self::EndpointClosed => "endpoint-closed",
            Self::Protocol(_) => "protocol",
        }
    }

    /// Returns true if another attempt may succeed without a change on this side.
    ///
    /// All errors that came from the network are transient, even a refusal: until the peer has
    /// proved its key, an error may come from an impostor.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        !matches!(self, Self::Address | Self::EndpointClosed)
    }
}

impl From<ConnectionError> for ConnectError {
    fn from(error: ConnectionError) -> Self {
        // TLS 1.3 alerts (RFC 8446, 6.2) as QUIC carries them, and the error code of a server that
        // refuses the connection (RFC 9000, 20.1).
        const ACCESS_DENIED: u64 = ALERT_ACCESS_DENIED;
        const DECRYPT_ERROR: u64 = 0x100 + 51;
        const NOTHING_IN_COMMON: [u64; 7] = [
            0x100 + 40,  // handshake_failure
            0x100 + 43,  // unsupported_certificate
            0x100 + 47,  // illegal_parameter
            0x100 + 70,  // protocol_version
            0x100 + 71,  // insufficient_security
            0x100 + 109, // missing_extension
            0x100 + 120, // no_application_protocol
        ];
        const CONNECTION_REFUSED: u64 = 2;
        match error {
            ConnectionError::TransportError(own) => match u64::from(own.code) {
                ACCESS_DENIED | DECRYPT_ERROR => Self::WrongPeer,
                code if NOTHING_IN_COMMON.contains(&code) => Self::Policy,
                _ => Self::Protocol(own.to_string()),
            },
            ConnectionError::ConnectionClosed(close) => match u64::from(close.error_code) {
                ACCESS_DENIED | DECRYPT_ERROR => Self::Refused,
                CONNECTION_REFUSED => Self::Busy,
                code if NOTHING_IN_COMMON.contains(&code) => Self::Policy,
                _ => Self::Protocol(close.to_string()),
            },
            ConnectionError::ApplicationClosed(close) => {
                match CloseCode::of_number(close.error_code.into_inner()) {
                    CloseCode::Refused => Self::Refused,
                    CloseCode::Busy => Self::Busy,
                    code => Self::Protocol(code.to_string()),
                }
            }
            ConnectionError::TimedOut => Self::TimedOut,
            ConnectionError::LocallyClosed => Self::EndpointClosed,
            other => Self::Protocol(other.to_string()),
        }
    }
}

/// Error of sending a frame. No part of the frame was sent, unless the error is [`Self::Closed`] or
/// [`Self::Stopped`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The connection has ended.
    #[error("{0}")]
    Closed(#[source] Closed),
    /// The peer has stopped reading this stream.
    #[error("the peer stopped reading the stream: {0}")]
    Stopped(CloseCode),
    /// The payload is longer than the peer accepts.
    #[error("a frame of {length} bytes is too long: the peer accepts {max}")]
    TooLarge {
        /// Length of the payload, in bytes.
        length: u64,
        /// Largest length that the peer accepts, in bytes.
        max: u32,
    },
    /// The frame cannot be encoded, for example after 2^62 frames on one stream.
    #[error("{0}")]
    Frame(#[source] FrameError),
    /// The early frames exceed [`Limits::early`](crate::Limits::early) in total, or one has a
    /// payload above 64 KiB.
    #[error("the frame exceeds the limit of early data")]
    EarlyFull,
}

impl SendError {
    /// Returns a stable name of the variant, for logs and metrics.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Closed(closed) => closed.code(),
            Self::Stopped(_) => "stopped",
            Self::TooLarge { .. } => "limit",
            Self::Frame(error) => error.class(),
            Self::EarlyFull => "early-full",
        }
    }
}

/// Error of receiving a frame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReceiveError {
    /// The connection has ended before the end of the stream: the received data is incomplete.
    #[error("{0}")]
    Closed(#[source] Closed),
    /// The peer reset the stream: the received data is incomplete.
    #[error("the peer reset the stream: {0}")]
    Reset(CloseCode),
    /// The received bytes are not a valid frame. The connection was closed.
    #[error("{0}")]
    Frame(#[source] FrameError),
    /// The peer opened a stream of a type that is not allowed at this place. The connection was
    /// closed.
    #[error("a stream of type {0:#04x} is not expected there")]
    Stream(u8),
    /// The peer sent early data that is not idempotent. The connection was closed.
    #[error("early data that is not idempotent")]
    Early,
}

impl ReceiveError {
    /// Returns a stable name of the variant, for logs and metrics.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Closed(closed) => closed.code(),
            Self::Reset(_) => "stream-reset",
            Self::Frame(error) => error.class(),
            Self::Stream(_) => "stream",
            Self::Early => "early",
        }
    }
}
