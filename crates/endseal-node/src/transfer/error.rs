//! Errors of transfers.

use core::{error, fmt};
use std::io;

use endseal_crypto::random::RandomError;
use endseal_transport::ReceiveError;

use super::refusal::Refusal;
use crate::error::FileError;

/// Reason why a file, a message or an echo was not sent.
#[derive(Debug)]
#[non_exhaustive]
pub enum SendError {
    /// The connection or its stream ended while sending. It is not known whether the peer received
    /// the data.
    Send(endseal_transport::SendError),
    /// The connection or its stream ended while an answer was awaited. It is not known whether the
    /// peer received the data.
    Receive(ReceiveError),
    /// The peer's answer is not valid.
    Answer(Refusal),
    /// The content to be sent could not be read.
    Input(io::Error),
    /// The system's source of randomness failed.
    Random(RandomError),
    /// The peer is connected but made no progress for longer than
    /// [`StallTimeout`](super::StallTimeout) allows. It is not known whether it received the data.
    Stalled,
}

/// Reason why a file was not delivered.
#[derive(Debug)]
#[non_exhaustive]
pub enum SendFileError {
    /// The file was not sent completely.
    Send(SendError),
    /// The size of the file changed while it was read.
    Changed,
    /// The content that the peer received differs from the file.
    Damaged,
    /// The peer could not store the file.
    Failed,
    /// The peer refused the file, usually because it has a file of that name.
    Refused,
    /// The file is larger than the peer accepts.
    TooLarge,
}

/// Reason why a file was not received. No content of it is kept.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReceiveFileError {
    /// The connection or the stream ended before the file was whole.
    Receive(ReceiveError),
    /// The sender did not receive the answer. The file may be complete, and then has its name.
    Answer(SendError),
    /// A frame was refused.
    Refusal(Refusal),
    /// The file could not be stored, or there is one of that name.
    File(FileError),
    /// The peer has too many unfinished files.
    Quota,
    /// No content arrived within the stall timeout.
    Stalled,
}

/// Reason why a series of messages ended early. Messages that were delivered before are complete.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReceiveMessagesError {
    /// The connection or the stream ended within the series.
    Receive(ReceiveError),
    /// Receipts could not be sent. The sender does not know which messages arrived.
    Answer(SendError),
    /// A frame was refused.
    Refusal(Refusal),
    /// The inbox failed to accept a message.
    Output(io::Error),
}

macro_rules! from {
    ($($enum:ident: $($variant:ident($source:ty)),+;)+) => {$($(
        impl From<$source> for $enum {
            fn from(error: $source) -> Self {
                Self::$variant(error)
            }
        }
    )+)+};
}

from! {
    SendError: Send(endseal_transport::SendError), Receive(ReceiveError), Answer(Refusal),
        Input(io::Error), Random(RandomError);
    SendFileError: Send(SendError);
    ReceiveFileError: Receive(ReceiveError), Answer(SendError), Refusal(Refusal), File(FileError);
    ReceiveMessagesError: Receive(ReceiveError), Answer(SendError), Refusal(Refusal),
        Output(io::Error);
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Send(_) | Self::Receive(_) => {
                "the connection was lost before everything was delivered"
            }
            Self::Answer(_) => "the peer does not keep to the protocol",
            Self::Input(_) => "cannot read the content to send",
            Self::Random(_) => "cannot generate a random identifier",
            Self::Stalled => "the peer makes no progress; it may or may not have received the data",
        })
    }
}

impl error::Error for SendError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Send(error) => Some(error),
            Self::Receive(error) => Some(error),
            Self::Answer(error) => Some(error),
            Self::Input(error) => Some(error),
            Self::Random(error) => Some(error),
            Self::Stalled => None,
        }
    }
}

impl fmt::Display for SendFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Send(error) => error.fmt(f),
            Self::Changed => f.write_str("the file changed while it was read"),
            Self::Damaged => f.write_str("the peer received other content than was sent"),
            Self::Failed => f.write_str("the peer could not store the file"),
            Self::Refused => f.write_str("the peer refuses the file"),
            Self::TooLarge => f.write_str("the file is larger than the peer accepts"),
        }
    }
}

impl error::Error for SendFileError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Send(error) => error.source(),
            _ => None,
        }
    }
}

impl fmt::Display for ReceiveFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Receive(_) => f.write_str("a file did not arrive"),
            Self::Answer(_) => f.write_str("cannot send the result of a file to its sender"),
            Self::Refusal(_) => f.write_str("a file was not accepted"),
            Self::Quota => {
                f.write_str("a file was not accepted: its sender has too many unfinished files")
            }
            Self::Stalled => f.write_str("a file did not arrive: its sender makes no progress"),
            Self::File(error) => error.fmt(f),
        }
    }
}

impl error::Error for ReceiveFileError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Receive(error) => Some(error),
            Self::Answer(error) => Some(error),
            Self::Refusal(error) => Some(error),
            Self::File(error) => error.source(),
            Self::Quota | Self::Stalled => None,
        }
    }
}

impl fmt::Display for ReceiveMessagesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Receive(_) => "a series of messages ended early",
            Self::Answer(_) => "cannot send receipts to the sender of messages",
            Self::Refusal(_) => "a series of messages was not accepted",
            Self::Output(_) => "cannot write the received messages",
        })
    }
}

impl error::Error for ReceiveMessagesError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Receive(error) => Some(error),
            Self::Answer(error) => Some(error),
            Self::Refusal(error) => Some(error),
            Self::Output(error) => Some(error),
        }
    }
}
