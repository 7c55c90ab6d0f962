//! The notifications that a connection sends to its caller.

use core::fmt;
use std::io;

use bytes::Bytes;
use tokio_websockets::Error;
use tokio_websockets::proto::ProtocolError;

use crate::connect::ConnectError;

/// An event of the connection, or a message from its relay.
#[derive(Debug)]
#[non_exhaustive]
pub enum Notification {
    /// The connection was made. The subscription is requested next.
    Connected,
    /// The relay has sent all stored events for the subscription with this number (EOSE). From now
    /// on, new events arrive as others publish them. Some relays never send this.
    Subscribed(u64),
    /// The connection ended or could not be made. The next attempt follows automatically.
    Disconnected {
        /// The reason why the connection ended or could not be made.
        reason: Disconnect,
        /// A large event that was being sent or had just been sent: the relay may have ended the
        /// connection because of it. It is not sent again.
        suspect: Option<[u8; 32]>,
    },
    /// The JSON of an event of the subscription. It is not verified. It is a slice of its frame,
    /// and keeps the whole frame in memory.
    Event(Bytes),
    /// A relay's report about a published event.
    Result {
        /// The id of the published event.
        id: [u8; 32],
        /// True if the relay accepted the event or already had it.
        accepted: bool,
        /// The relay's reason, in [`printable`](crate::message::printable) form.
        reason: String,
    },
    /// The relay refused an event for the moment (`rate-limited:`). It is sent again, with growing
    /// delays, for [`Timing::keep_unsent`](super::Timing::keep_unsent).
    Postponed {
        /// The id of the event.
        id: [u8; 32],
        /// The relay's reason, in [`printable`](crate::message::printable) form.
        reason: String,
    },
    /// An event was dropped after [`Timing::keep_unsent`](super::Timing::keep_unsent), because it
    /// could not be sent in this time, or the relay required an authentication that did not take
    /// place. An event is also dropped to make space, and a large one after it was lost with two
    /// connections.
    Unsent([u8; 32]),
    /// The relay asks for authentication. The caller answers with
    /// [`Relay::authenticate`](super::Relay::authenticate).
    Challenge(String),
    /// Messages from the relay were skipped because they are longer than
    /// [`Limits::message`](super::Limits::message).
    Skipped {
        /// Number of messages.
        count: u64,
        /// Total length of their payloads in bytes.
        bytes: u64,
    },
    /// A text from the relay for people, in [`printable`](crate::message::printable) form.
    Notice(String),
}

/// The reason why there is no connection.
#[derive(Debug)]
#[non_exhaustive]
pub enum Disconnect {
    /// The connection could not be made.
    Connect(ConnectError),
    /// The relay ended the connection, with a code (RFC 6455, section 7.4) or without one.
    Closed(Option<u16>),
    /// A message from the relay announces a length that no message has: 2^63 bytes or more.
    MessageTooLarge,
    /// A text message is not UTF-8.
    NotUtf8,
    /// The relay violated the WebSocket protocol.
    Protocol(ProtocolError),
    /// Reading from or writing to the connection failed.
    Io(io::Error),
    /// No frame arrived for [`Timing::silence`](super::Timing::silence).
    Silent,
    /// The relay read nothing for [`Timing::silence`](super::Timing::silence).
    Stalled,
    /// The caller stopped the client.
    Stopped,
}

impl From<Error> for Disconnect {
    fn from(error: Error) -> Self {
        match error {
            Error::PayloadTooLong { .. } => Self::MessageTooLarge,
            Error::Protocol(ProtocolError::InvalidUtf8) => Self::NotUtf8,
            Error::Protocol(error) => Self::Protocol(error),
            Error::Io(error) => Self::Io(error),
            _ => Self::Closed(None),
        }
    }
}

impl fmt::Display for Disconnect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(error) => error.fmt(f),
            Self::Closed(Some(code)) => write!(f, "the relay ended the connection (code {code})"),
            Self::Closed(None) => f.write_str("the relay ended the connection"),
            Self::MessageTooLarge => f.write_str("a message of the relay is too large"),
            Self::NotUtf8 => f.write_str("a message of the relay is not UTF-8"),
            Self::Protocol(error) => write!(f, "the relay does not speak WebSocket: {error}"),
            Self::Io(error) => write!(f, "the connection broke: {error}"),
            Self::Silent => f.write_str("the relay is silent"),
            Self::Stalled => f.write_str("the relay reads nothing"),
            Self::Stopped => f.write_str("the connection was stopped"),
        }
    }
}

impl core::error::Error for Disconnect {}
