//! Errors of conversations over a hub.

use core::time::Duration;
use core::{error, fmt};
use std::io;

use endseal_codec::hub::Code;
use endseal_crypto::random::RandomError;
use endseal_delivery::node::HubFault;
use endseal_session::EngineError;
use endseal_transport::{ReceiveError, SendError};

/// Reason why a request to the hub has no answer, or not the expected one.
#[derive(Debug)]
#[non_exhaustive]
pub enum HubError {
    /// The request is longer than the protocol allows.
    TooLong,
    /// The hub did not answer within the timeout.
    Stalled,
    /// The connection ended while a request was sent.
    Send(SendError),
    /// The connection ended while an answer was awaited.
    Receive(ReceiveError),
    /// The hub ended the exchange without an answer.
    Ended,
    /// The hub violated the protocol.
    Fault(HubFault),
    /// The hub refused the request. The codes are in docs/spec/delivery.md.
    Refused(Code),
    /// The hub refused the request for a time, because of too many requests.
    Wait(Duration),
}

impl HubError {
    /// Returns true if another attempt may succeed.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Stalled | Self::Send(_) | Self::Receive(_) | Self::Ended | Self::Wait(_) => true,
            Self::Fault(_) | Self::TooLong => false,
            Self::Refused(code) => matches!(*code, Code::STORAGE | Code::RATE | Code::SPACE),
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
            Self::TooLong => "a request is longer than a hub accepts",
            Self::Stalled => "the hub does not answer",
            Self::Send(_) | Self::Receive(_) => "the connection to the hub ended",
            Self::Ended => "the hub ended an exchange without an answer",
            Self::Fault(_) => "the hub does not keep to the protocol",
            Self::Wait(_) => "the hub was asked too often",
            Self::Refused(code) => match *code {
                Code::REGISTERED => "this device is not registered at the hub",
                Code::REVOKED => "this device was revoked, or removed from the hub",
                Code::TOKEN => {
                    "the hub asks for an invitation that is not used up, expired, or of another hub"
                }
                Code::CERTIFICATE => "the hub does not accept the certificate of this device",
                Code::PERSON => "the hub has another person record of this identity",
                Code::STORAGE => "the hub cannot write",
                Code::RATE => "the hub was asked too often",
                Code::SPACE => "the hub has no space left for you",
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
            Self::TooLong | Self::Stalled | Self::Ended | Self::Refused(_) | Self::Wait(_) => None,
        }
    }
}

/// Reason why a device did not join a hub.
#[derive(Debug)]
#[non_exhaustive]
pub enum JoinError {
    /// The device is registered at another hub.
    OtherHub,
    /// The request to the hub failed.
    Hub(HubError),
    /// The store failed.
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

/// Reason why texts were not stored. None of them was.
#[derive(Debug)]
#[non_exhaustive]
pub enum SayError {
    /// The input cannot be read.
    Input(io::Error),
    /// The text with this number, counted from 1, is longer than
    /// [`MAX_TEXT_LEN`](super::MAX_TEXT_LEN).
    TooLong(u64),
    /// The text with this number, counted from 1, is not UTF-8.
    NotUtf8(u64),
    /// The receiver is a blocked person.
    Blocked,
    /// No roster of the group is known.
    Group,
    /// This person has left the group.
    Left,
    /// The newest known roster of the group does not have this person.
    NotMember,
    /// The system's source of randomness failed.
    Random(RandomError),
    /// The store failed.
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
            Self::TooLong(number) => write!(f, "text {number} is longer than 800,000 bytes"),
            Self::NotUtf8(number) => write!(f, "text {number} is not UTF-8"),
            Self::Blocked => f.write_str("this person is blocked"),
            Self::Group => f.write_str("no roster of this group is here"),
            Self::Left => f.write_str("you have left this group"),
            Self::NotMember => f.write_str("you are no member of this group"),
            Self::Random(error) => error.fmt(f),
            Self::Engine(error) => error.fmt(f),
        }
    }
}

impl error::Error for SayError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Input(error) => Some(error),
            Self::TooLong(_)
            | Self::NotUtf8(_)
            | Self::Blocked
            | Self::Group
            | Self::Left
            | Self::NotMember => None,
            Self::Random(error) => error.source(),
            Self::Engine(error) => error.source(),
        }
    }
}

/// Reason why texts were not cancelled or deleted. Nothing was changed.
#[derive(Debug)]
#[non_exhaustive]
pub enum ForgetError {
    /// The conversation has no text with this number, or it was not written on this device.
    Unknown(u64),
    /// The text with this number is encrypted and waits for the hub, which may have it already.
    Encrypted(u64),
    /// The text with this number has left this device, or may have left it.
    Left(u64),
    /// The store failed.
    Engine(EngineError),
}

impl From<EngineError> for ForgetError {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

impl fmt::Display for ForgetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(number) => write!(f, "there is no such text with the number {number}"),
            Self::Encrypted(number) => write!(
                f,
                "text {number} is encrypted and waits for the hub, which may have it already"
            ),
            Self::Left(number) => write!(f, "text {number} has left this device"),
            Self::Engine(error) => error.fmt(f),
        }
    }
}

impl error::Error for ForgetError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Unknown(_) | Self::Encrypted(_) | Self::Left(_) => None,
            Self::Engine(error) => error.source(),
        }
    }
}

/// Reason why a request was not accepted.
#[derive(Debug)]
#[non_exhaustive]
pub enum AcceptError {
    /// The person is blocked.
    Blocked,
    /// The store failed.
    Engine(EngineError),
}

impl From<EngineError> for AcceptError {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

impl fmt::Display for AcceptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blocked => f.write_str("this person is blocked"),
            Self::Engine(error) => error.fmt(f),
        }
    }
}

impl error::Error for AcceptError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Blocked => None,
            Self::Engine(error) => error.source(),
        }
    }
}

/// Reason why a sync ended early. Messages that were sent or received before remain so.
#[derive(Debug)]
#[non_exhaustive]
pub enum SyncError {
    /// This device is not registered at a hub.
    NotJoined,
    /// The store was restored from a copy. It must not send, because its message numbers may have
    /// been used already.
    Restored,
    /// The hub failed or refused.
    Hub(HubError),
    /// The store failed.
    Engine(EngineError),
}

impl SyncError {
    /// Returns true if another attempt may succeed.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Hub(error) if error.is_transient())
    }

    /// Returns true if the hub temporarily accepts no frames. It still delivers frames.
    pub(super) fn is_refusal_for_now(&self) -> bool {
        matches!(
            self,
            Self::Hub(
                HubError::Refused(Code::RATE | Code::STORAGE | Code::SPACE) | HubError::Wait(_)
            )
        )
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
            Self::Restored => f.write_str(
                "this state directory is an earlier copy, or another copy of it is in use: the hub \
                 knows later messages of this device. It receives, and does not send",
            ),
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
