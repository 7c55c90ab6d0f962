//! Errors of conversations over a hub.

use core::{error, fmt};
use std::io;

use endseal_codec::hub::Code;
use endseal_crypto::random::RandomError;
use endseal_delivery::node::HubFault;
use endseal_session::EngineError;
use endseal_transport::{ReceiveError, SendError};

/// Why a request to the hub has no answer, or not the one that was asked for.
#[derive(Debug)]
#[non_exhaustive]
pub enum HubError {
    /// A request would be longer than the protocol allows.
    TooLong,
    /// Nothing came for too long.
    Stalled,
    /// The connection ended while sending.
    Send(SendError),
    /// The connection ended while receiving.
    Receive(ReceiveError),
    /// The hub ended an exchange without an answer.
    Ended,
    /// The hub does not keep to the protocol.
    Fault(HubFault),
    /// The hub refuses: see docs/spec/delivery.md.
    Refused(Code),
}

impl HubError {
    /// Returns true if another attempt may succeed.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Stalled | Self::Send(_) | Self::Receive(_) | Self::Ended => true,
            Self::Fault(_) | Self::TooLong => false,
            Self::Refused(code) => matches!(*code, Code::STORAGE | Code::RATE),
        }
    }
}

impl From<SendError> for HubError {
    fn from(error: SendError) -> Self {
        Self::Send(error)
    }
}

impl From<ReceiveError> for HubError {
    fn from(error: ReceiveError) -> Self {
        Self::Receive(error)
    }
}

impl From<HubFault> for HubError {
    fn from(error: HubFault) -> Self {
        Self::Fault(error)
    }
}

impl fmt::Display for HubError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooLong => "a request is longer than a hub takes",
            Self::Stalled => "the hub does not answer",
            Self::Send(_) | Self::Receive(_) => "the connection to the hub ended",
            Self::Ended => "the hub ended an exchange",
            Self::Fault(_) => "the hub does not keep to the protocol",
            Self::Refused(code) => match *code {
                Code::REGISTERED => "this device is not registered at the hub",
                Code::REVOKED => "this device was revoked",
                Code::TOKEN => "the invitation is used up, expired, or not of this hub",
                Code::CERTIFICATE => "the hub does not accept the certificate of this device",
                Code::PERSON => "the hub has another person record of this identity",
                Code::STORAGE => "the hub cannot write",
                Code::RATE => "the hub was asked too often",
                Code::NONE => "the hub does not know that person",
                _ => "the hub refuses a request",
            },
        })
    }
}

impl error::Error for HubError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Send(error) => Some(error),
            Self::Receive(error) => Some(error),
            Self::Fault(error) => Some(error),
            Self::TooLong | Self::Stalled | Self::Ended | Self::Refused(_) => None,
        }
    }
}

/// Why a device did not join a hub.
#[derive(Debug)]
#[non_exhaustive]
pub enum JoinError {
    /// It is registered at another one.
    OtherHub,
    /// The hub.
    Hub(HubError),
    /// The store.
    Engine(EngineError),
}

impl From<HubError> for JoinError {
    fn from(error: HubError) -> Self {
        Self::Hub(error)
    }
}

impl From<EngineError> for JoinError {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherHub => f.write_str("this device is registered at another hub"),
            Self::Hub(error) => error.fmt(f),
            Self::Engine(error) => error.fmt(f),
        }
    }
}

impl error::Error for JoinError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::OtherHub => None,
            Self::Hub(error) => error.source(),
            Self::Engine(error) => error.source(),
        }
    }
}

/// Why texts were not taken. None of them was.
#[derive(Debug)]
#[non_exhaustive]
pub enum SayError {
    /// The texts cannot be read.
    Input(io::Error),
    /// A text is longer than [`MAX_TEXT_LEN`](super::MAX_TEXT_LEN): which, counted from 1.
    TooLong(u64),
    /// A text is not UTF-8: which, counted from 1.
    NotUtf8(u64),
    /// The receiver is the writer.
    Own,
    /// No random bytes.
    Random(RandomError),
    /// The store.
    Engine(EngineError),
}

impl From<EngineError> for SayError {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

impl fmt::Display for SayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(_) => f.write_str("cannot read the texts"),
            Self::TooLong(number) => write!(f, "text {number} is longer than 1,000,000 bytes"),
            Self::NotUtf8(number) => write!(f, "text {number} is not UTF-8"),
            Self::Own => f.write_str("this is your own identity"),
            Self::Random(error) => error.fmt(f),
            Self::Engine(error) => error.fmt(f),
        }
    }
}

impl error::Error for SayError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Input(error) => Some(error),
            Self::TooLong(_) | Self::NotUtf8(_) | Self::Own => None,
            Self::Random(error) => error.source(),
            Self::Engine(error) => error.source(),
        }
    }
}

/// Why not all was sent and received. What was, stays so.
#[derive(Debug)]
#[non_exhaustive]
pub enum SyncError {
    /// This device is registered at no hub.
    NotJoined,
    /// The store was restored: its numbers may have been used, so that it must not send.
    Restored,
    /// The hub.
    Hub(HubError),
    /// The store.
    Engine(EngineError),
}

impl SyncError {
    /// Returns true if another attempt may succeed.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Hub(error) if error.is_transient())
    }

    /// Returns true if the hub takes no frames for a while. It delivers all the same.
    pub(super) fn is_refusal_for_now(&self) -> bool {
        matches!(self, Self::Hub(HubError::Refused(Code::RATE | Code::STORAGE)))
    }
}

impl From<HubError> for SyncError {
    fn from(error: HubError) -> Self {
        Self::Hub(error)
    }
}

impl From<HubFault> for SyncError {
    fn from(error: HubFault) -> Self {
        Self::Hub(error.into())
    }
}

impl From<EngineError> for SyncError {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

impl fmt::Display for SyncError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotJoined => f.write_str("this device is registered at no hub"),
            Self::Restored => {
                f.write_str("the store was restored from a copy, and may not send any more")
            }
            Self::Hub(error) => error.fmt(f),
            Self::Engine(error) => error.fmt(f),
        }
    }
}

impl error::Error for SyncError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::NotJoined | Self::Restored => None,
            Self::Hub(error) => error.source(),
            Self::Engine(error) => error.source(),
        }
    }
}
