//! Reasons for the end of a connection (docs/spec/transport.md, "Close codes").

use core::fmt;

use quinn::{ConnectionError, VarInt};

/// Code that one side sends when it closes a connection, resets a stream or stops reading one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CloseCode {
    /// Normal end: the sender has nothing more to send.
    Done,
    /// The application gave up a stream.
    Cancelled,
    /// A stream of an unexpected type, or no control stream within the time for a handshake.
    Stream,
    /// A frame that is malformed or out of sequence.
    Frame,
    /// A frame longer than the receiver's limit, or a limit that is out of bounds.
    TooLarge,
    /// Early data that is not marked as idempotent.
    Early,
    /// The peer accepts no more connections at the moment. Try again later.
    Busy,
    /// The peer does not accept this side's key, or does not accept it any more.
    Refused,
    /// Code that this version does not know; applications may define their own.
    Other(u64),
}

impl CloseCode {
    const ALL: [Self; 8] = [
        Self::Done,
        Self::Cancelled,
        Self::Stream,
        Self::Frame,
        Self::TooLarge,
        Self::Early,
        Self::Busy,
        Self::Refused,
    ];

    /// Returns the number that is sent on the wire.
    #[must_use]
    pub const fn number(self) -> u64 {
        match self {
            Self::Done => 0,
            Self::Cancelled => 1,
            Self::Stream => 2,
            Self::Frame => 3,
            Self::TooLarge => 4,
            Self::Early => 5,
            Self::Busy => 6,
            Self::Refused => 7,
            Self::Other(number) => number,
        }
    }

    /// Returns the code for a number from the wire. Unknown numbers give [`Self::Other`].
    #[must_use]
    pub fn of_number(number: u64) -> Self {
        Self::ALL.into_iter().find(|code| code.number() == number).unwrap_or(Self::Other(number))
    }

    pub(crate) fn to_varint(self) -> VarInt {
        VarInt::from_u64(self.number()).unwrap_or(VarInt::MAX)
    }
}

impl fmt::Display for CloseCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Done => "done",
            Self::Cancelled => "cancelled",
            Self::Stream => "a stream of an unexpected type, or no control stream",
            Self::Frame => "a malformed frame",
            Self::TooLarge => "a frame longer than agreed",
            Self::Early => "early data that is not idempotent",
            Self::Busy => "busy",
            Self::Refused => "this peer is not accepted",
            Self::Other(number) => return write!(f, "code {number}"),
        })
    }
}

/// Reason why a connection has ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Closed {
    /// This side closed the connection.
    #[error("the connection was closed on this side")]
    Here,
    /// The peer closed the connection with this code. A [`CloseCode::Refused`] is reported as
    /// [`Self::Refused`].
    #[error("the peer closed the connection: {0}")]
    ByPeer(CloseCode),
    /// No packet arrived during the idle timeout: the peer or the path is gone.
    #[error("no packet arrived from the peer within the timeout")]
    TimedOut,
    /// The peer has no state for this connection (a stateless reset, RFC 9000, 10.3): it was
    /// restarted, or it closed the connection and its close message did not arrive in time.
    #[error("the peer no longer knows the connection")]
    Reset,
    /// The peer does not accept this side's key.
    #[error("the peer does not accept this key")]
    Refused,
    /// QUIC or TLS failed. The text describes the error and is not stable.
    #[error("the connection failed: {0}")]
    Protocol(String),
}

impl Closed {
    /// Returns a stable name of the variant, for logs and metrics.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Here => "closed-here",
            Self::ByPeer(_) => "closed-by-peer",
            Self::TimedOut => "timed-out",
            Self::Reset => "reset",
            Self::Refused => "refused",
            Self::Protocol(_) => "protocol",
        }
    }
}

/// Alerts of TLS (RFC 8446, 6) as QUIC carries them: 0x100 + alert.
pub(crate) const ALERT_ACCESS_DENIED: u64 = 0x100 + 49;

impl From<ConnectionError> for Closed {
    fn from(error: ConnectionError) -> Self {
        match error {
            ConnectionError::LocallyClosed => Self::Here,
            ConnectionError::TimedOut => Self::TimedOut,
            ConnectionError::Reset => Self::Reset,
            ConnectionError::ApplicationClosed(close) => {
                match CloseCode::of_number(close.error_code.into_inner()) {
                    CloseCode::Refused => Self::Refused,
                    code => Self::ByPeer(code),
                }
            }
            ConnectionError::ConnectionClosed(close)
                if u64::from(close.error_code) == ALERT_ACCESS_DENIED =>
            {
                Self::Refused
            }
            other => Self::Protocol(other.to_string()),
        }
    }
}
