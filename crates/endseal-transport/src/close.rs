//! Why a connection ended (docs/spec/transport.md, "Close codes").

use core::fmt;

use quinn::{ConnectionError, VarInt};

/// Reason that one side sends when it closes a connection or resets a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CloseCode {
    /// Nothing is wrong: all is said.
    Done,
    /// The work of a stream was given up by the application.
    Cancelled,
    /// A stream of an unknown type, a second or a missing control stream.
    Stream,
    /// A frame that is not one.
    Frame,
    /// A frame longer than agreed.
    TooLarge,
    /// Early data that is not idempotent.
    Early,
    /// No more connections are taken now; try later.
    Busy,
    /// The peer is not accepted (any more).
    Refused,
    /// A code that this version does not know.
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

    /// Its number on the wire.
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

    /// The code of a number.
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
            Self::Stream => "a stream that should not be",
            Self::Frame => "a malformed frame",
            Self::TooLarge => "a frame longer than agreed",
            Self::Early => "early data that is not idempotent",
            Self::Busy => "busy",
            Self::Refused => "this peer is not accepted",
            Self::Other(number) => return write!(f, "code {number}"),
        })
    }
}

/// Why a connection is no more.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Closed {
    /// This side closed it.
    Here,
    /// The peer closed it.
    ByPeer(CloseCode),
    /// Nothing was heard for the idle timeout: the peer or the path is gone.
    TimedOut,
    /// The peer has lost its state: it was started anew, or it closed the connection, stood still
    /// for long, and its reason was overtaken by the reset.
    Reset,
    /// The peer does not accept this side's key.
    Refused,
    /// QUIC or TLS failed, for the reason given.
    Protocol(String),
}

impl Closed {
    /// A stable name of the class.
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

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Here => f.write_str("the connection was closed on this side"),
            Self::ByPeer(code) => write!(f, "the peer closed the connection: {code}"),
            Self::TimedOut => f.write_str("nothing was heard from the peer for too long"),
            Self::Reset => f.write_str("the peer has lost the connection's state"),
            Self::Refused => f.write_str("the peer does not accept this key"),
            Self::Protocol(reason) => write!(f, "the connection failed: {reason}"),
        }
    }
}

impl core::error::Error for Closed {}
