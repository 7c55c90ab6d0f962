//! Notifications of a connection to its caller.

use core::fmt;
use std::io;

use bytes::Bytes;
use tokio_websockets::Error;
use tokio_websockets::proto::ProtocolError;

use crate::connect::ConnectError;

/// An event in the life of a connection, or a message of its relay.
#[derive(Debug)]
#[non_exhaustive]
pub enum Notification {
    /// The connection is made; the subscription is requested next.
    Connected,
    /// The relay has sent what it stored for the subscription of this number (EOSE): events that
    /// others publish from now on arrive. Some relays never say so.
    Subscribed(u64),
    /// The connection ended or was not made. The next attempt follows by itself.
    Disconnected {
        /// Reason why the connection ended or could not be made.
        reason: Disconnect,
        /// A large event that was being sent or was just sent: the relay may have ended the
        /// connection because of it. It is not sent again.
        suspect: Option<[u8; 32]>,
    },
    /// JSON of an event of the subscription. Nothing in it is verified. It is a slice of its frame,
    /// and keeps that in memory.
    Event(Bytes),
    /// A relay's report about a published event.
    Result {
        /// Id of the published event.
        id: [u8; 32],
        /// True if the relay accepted the event, or had it already.
        accepted: bool,
        /// Reason of the relay, in [`printable`](crate::message::printable) form.
        reason: String,
    },
    /// An event was dropped: it was not sent, or not after an authentication that the relay asked
    /// for, while [`Timing::keep_unsent`](super::Timing::keep_unsent) passed.
    Unsent([u8; 32]),
    /// The relay asks for authentication: the caller answers by
    /// [`Relay::authenticate`](super::Relay::authenticate).
    Challenge(String),
    /// Text of the relay for people, in [`printable`](crate::message::printable) form.
    Notice(String),
}

/// Reason why there is no connection.
#[derive(Debug)]
#[non_exhaustive]
pub enum Disconnect {
    /// The connection could not be made.
    Connect(ConnectError),
    /// The relay ended it, with a code (RFC 6455, section 7.4) or without.
    Closed(Option<u16>),
    /// A message of the relay is longer than [`Limits::message`](super::Limits::message).
    MessageTooLarge,
    /// A text is not UTF-8.
    NotUtf8,
    /// The relay broke the rules of WebSocket.
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
