//! Errors, one enum for each operation. Each has stable codes.

use core::fmt;
use std::io;

use endseal_codec::frame::FrameError;
use quinn::ConnectionError;

use crate::close::{ALERT_ACCESS_DENIED, CloseCode, Closed};

/// Why no endpoint was made.
#[derive(Debug)]
#[non_exhaustive]
pub enum BindError {
    /// The address is taken, not ours, or not allowed.
    Socket(io::Error),
    /// The key is of another kind than the policy asks for.
    Key,
    /// The TLS library lacks what the policy needs: it was built otherwise than here.
    Tls,
}

impl BindError {
    /// A stable name of the class.
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
            Self::Key => f.write_str("the key is of another kind than the policy asks for"),
            Self::Tls => f.write_str("the TLS library lacks what the policy needs"),
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

/// Why there is no connection.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectError {
    /// The side that answered is not the peer that was asked for, or cannot prove it.
    WrongPeer,
    /// The peer does not accept this side's key.
    Refused,
    /// Both sides allow nothing in common: another policy, another protocol, certificates.
    Policy,
    /// The peer takes no more connections now.
    Busy,
    /// Nobody answers.
    TimedOut,
    /// The address cannot be one: port 0, or a family that the socket does not speak.
    Address,
    /// The endpoint was closed.
    EndpointClosed,
    /// QUIC or TLS failed, for the reason given.
    Protocol(String),
}

impl ConnectError {
    /// A stable name of the class.
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
    /// Everything that came from the network is such, also a refusal: until the peer has proved its
    /// key, an error may come from an impostor.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        !matches!(self, Self::Address | Self::EndpointClosed)
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongPeer => f.write_str("who answers is not the peer that was asked for"),
            Self::Refused => f.write_str("the peer does not accept this key"),
            Self::Policy => {
                f.write_str("the two sides have no key exchange or signature in common")
            }
            Self::Busy => f.write_str("the peer takes no more connections now"),
            Self::TimedOut => f.write_str("nobody answers"),
            Self::Address => f.write_str("the address cannot be connected to"),
            Self::EndpointClosed => f.write_str("the endpoint is closed"),
            Self::Protocol(reason) => write!(f, "the handshake failed: {reason}"),
        }
    }
}

impl core::error::Error for ConnectError {}

impl From<ConnectionError> for ConnectError {
    fn from(error: ConnectionError) -> Self {
        // Alerts of TLS 1.3 (RFC 8446, 6.2) as QUIC carries them, and the code of a server that
        // takes no connection (RFC 9000, 20.1).
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

/// Why a frame was not sent. Nothing of it was, unless [`Self::Closed`] or [`Self::Stopped`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendError {
    /// The connection is no more.
    Closed(Closed),
    /// The peer wants no more of this stream.
    Stopped(CloseCode),
    /// The payload is longer than the peer accepts.
    TooLarge {
        /// Its length.
        length: u64,
        /// Largest length that the peer accepts, in bytes.
        max: u32,
    },
    /// It can be no frame of this stream: 2^62 were sent.
    Frame(FrameError),
    /// The early frames together are more than early data may be.
    EarlyFull,
}

impl SendError {
    /// A stable name of the class.
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
            Self::Stopped(code) => write!(f, "the peer wants no more of the stream: {code}"),
            Self::TooLarge { length, max } => {
                write!(f, "a frame of {length} bytes where the peer accepts {max}")
            }
            Self::Frame(error) => error.fmt(f),
            Self::EarlyFull => f.write_str("no more early data may be sent"),
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

/// Why no frame was received.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReceiveError {
    /// The connection is no more; what the stream was to bring is incomplete.
    Closed(Closed),
    /// The peer gave the stream up.
    Reset(CloseCode),
    /// The bytes received are no frame. The connection was closed.
    Frame(FrameError),
    /// A stream of a type that has no business there. The connection was closed.
    Stream(u8),
    /// Early data that is not idempotent. The connection was closed.
    Early,
}

impl ReceiveError {
    /// A stable name of the class.
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
            Self::Reset(code) => write!(f, "the peer gave the stream up: {code}"),
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
