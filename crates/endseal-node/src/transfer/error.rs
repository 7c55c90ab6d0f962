//! Why a transfer did not come about.

use core::{error, fmt};
use std::io;

use endseal_crypto::random::RandomError;
use endseal_transport::ReceiveError;

use super::refusal::Refusal;
use crate::error::FileError;

/// Why something could not be sent, whatever it is.
#[derive(Debug)]
#[non_exhaustive]
pub enum SendError {
    /// The connection or its stream ended. Whether the peer has what was sent is not known.
    Send(endseal_transport::SendError),
    /// The same, while an answer was awaited.
    Receive(ReceiveError),
    /// The peer's answer is none.
    Answer(Refusal),
    /// The content to be sent could not be read.
    Input(io::Error),
    /// The system's source of randomness failed.
    Random(RandomError),
    /// The peer is there and does nothing, for longer than [`StallTimeout`](super::StallTimeout)
    /// allows. Whether it has what was sent is not known.
    Stalled,
}

/// Why a file was not delivered.
#[derive(Debug)]
#[non_exhaustive]
pub enum SendFileError {
    /// It was not sent, or not to its end.
    Send(SendError),
    /// It became shorter or longer while it was read.
    Changed,
    /// The peer has received something else than was sent.
    Damaged,
    /// The peer could not store it.
    Failed,
    /// The peer does not want it: usually because it has a file of that name.
    Refused,
    /// It is larger than the peer accepts.
    TooLarge,
}

/// Why a file was not received. Nothing of it is left.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReceiveFileError {
    /// The connection or the stream ended before the file was whole.
    Receive(ReceiveError),
    /// The sender could not be answered. The file may be whole, and has its name then.
    Answer(SendError),
    /// The frames are refused.
    Refusal(Refusal),
    /// It could not be stored, or there is one of that name.
    File(FileError),
    /// The peer has too many unfinished files.
    Quota,
    /// No content came for longer than the stall timeout.
    Stalled,
}

/// Why a series of messages ended early. What was handed over before is whole.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReceiveMessagesError {
    /// The connection or the stream ended within the series.
    Receive(ReceiveError),
    /// Receipts could not be sent: the sender does not know what has arrived.
    Answer(SendError),
    /// The frames are refused.
    Refusal(Refusal),
    /// Nobody takes the messages any more.
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
            Self::Send(_) | Self::Receive(_) => "the connection was lost before all was delivered",
            Self::Answer(_) => "the peer does not keep to the protocol",
            Self::Input(_) => "cannot read what is to be sent",
            Self::Random(_) => "no identifier can be made",
            Self::Stalled => "the peer stands still; whether it has what was sent is not known",
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
            Self::Damaged => f.write_str("the peer received something else than was sent"),
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
            Self::Answer(_) => f.write_str("a sender does not learn what became of its file"),
            Self::Refusal(_) => f.write_str("a file was not accepted"),
            Self::Quota => {
                f.write_str("a file was not accepted: its sender has too many unfinished")
            }
            Self::Stalled => f.write_str("a file did not arrive: its sender stands still"),
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
            Self::Answer(_) => "a sender does not learn what became of its messages",
            Self::Refusal(_) => "a series of messages was not accepted",
            Self::Output(_) => "cannot hand messages over",
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
