//! Errors, one enum for each operation. Each variant has a stable code.

use core::fmt;
use std::io;

use endseal_codec::frame::FrameError;
use quinn::ConnectionError;

use crate::close::{ALERT_ACCESS_DENIED, CloseCode, Closed};

/// Error of opening an endpoint.
#[derive(Debug)]
#[non_exhaustive]
pub enum BindError {
    /// The address is in use, not one of this machine, or not allowed.
    Socket(io::Error),
    /// The key has another signature algorithm than the policy requires.
    Key,
    /// The TLS library lacks an algorithm of the policy: it was built with other features.
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

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(error) => write!(f, "the socket cannot be opened: {error}"),
            Self::Key => f.write_str("the key is not of the signature algorithm of the policy"),
            Self::Tls => f.write_str("the TLS library lacks an algorithm that the policy needs"),
        }
    }
}

impl core::error::Error for BindError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Socket(error) => Some(error),
            Self::Key | Self::Tls => None,
        }
    }
}

impl From<io::Error> for BindError {
    fn from(error: io::Error) -> Self {
        Self::Socket(error)
    }
}

/// Error of connecting to a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectError {
    /// The side that answered has another id than the requested peer, or could not prove its key.
    WrongPeer,
    /// The peer does not accept this side's key.
    Refused,
    /// The two sides have no key exchange, signature scheme or protocol in common, or the other
    /// side uses certificates.
    Policy,
    /// One of the sides has reached its limit of connections.
    Busy,
    /// The peer did not answer within the time for a handshake.
    TimedOut,
    /// The address is invalid: port 0, or an address family that the socket does not support.
    Address,
    /// The endpoint was closed.
    EndpointClosed,
    /// QUIC or TLS failed. The text describes the error and is not stable.
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

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongPeer => f.write_str("the side that answered is not the requested peer"),
            Self::Refused => f.write_str("the peer does not accept this key"),
            Self::Policy => {
                f.write_str("the two sides have no key exchange or signature in common")
            }
            Self::Busy => f.write_str("no more connections are accepted now; try again later"),
            Self::TimedOut => f.write_str("the peer did not answer in time"),
            Self::Address => f.write_str("the address is not valid for this socket"),
            Self::EndpointClosed => f.write_str("the endpoint is closed"),
            Self::Protocol(reason) => write!(f, "the handshake failed: {reason}"),
        }
    }
}

impl core::error::Error for ConnectError {}

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
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendError {
    /// The connection has ended.
    Closed(Closed),
    /// The peer has stopped reading this stream.
    Stopped(CloseCode),
    /// The payload is longer than the peer accepts.
    TooLarge {
        /// Length of the payload, in bytes.
        length: u64,
        /// Largest length that the peer accepts, in bytes.
        max: u32,
    },
    /// The frame cannot be encoded, for example after 2^62 frames on one stream.
    Frame(FrameError),
    /// The early frames exceed [`Limits::early`](crate::Limits::early) in total, or one has a
    /// payload above 64 KiB.
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

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed(closed) => closed.fmt(f),
            Self::Stopped(code) => write!(f, "the peer stopped reading the stream: {code}"),
            Self::TooLarge { length, max } => {
                write!(f, "a frame of {length} bytes is too long: the peer accepts {max}")
            }
            Self::Frame(error) => error.fmt(f),
            Self::EarlyFull => f.write_str("the frame exceeds the limit of early data"),
        }
    }
}

impl core::error::Error for SendError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Closed(closed) => Some(closed),
            Self::Frame(error) => Some(error),
            Self::EarlyFull | Self::Stopped(_) | Self::TooLarge { .. } => None,
        }
    }
}

/// Error of receiving a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReceiveError {
    /// The connection has ended before the end of the stream: the received data is incomplete.
    Closed(Closed),
    /// The peer reset the stream: the received data is incomplete.
    Reset(CloseCode),
    /// The received bytes are not a valid frame. The connection was closed.
    Frame(FrameError),
    /// The peer opened a stream of a type that is not allowed at this place. The connection was
    /// closed.
    Stream(u8),
    /// The peer sent early data that is not idempotent. The connection was closed.
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

impl fmt::Display for ReceiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed(closed) => closed.fmt(f),
            Self::Reset(code) => write!(f, "the peer reset the stream: {code}"),
            Self::Frame(error) => error.fmt(f),
            Self::Stream(kind) => write!(f, "a stream of type {kind:#04x} is not expected there"),
            Self::Early => f.write_str("early data that is not idempotent"),
        }
    }
}

impl core::error::Error for ReceiveError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Closed(closed) => Some(closed),
            Self::Frame(error) => Some(error),
            Self::Early | Self::Reset(_) | Self::Stream(_) => None,
        }
    }
}
