//! Errors of operations, other than the failure of a message.

use core::fmt;

use endseal_keyring::device::Address;
use endseal_store::{OpenStoreError, StoreError};

use crate::group::GroupError;
use crate::{BatchReport, BeginError};

/// Why the engine could not work. What is in the store is whole; what was not committed did not
/// happen.
#[derive(Debug)]
#[non_exhaustive]
pub enum EngineError {
    /// A state in the store is not what this program wrote. Restore a backup, or reset.
    Damaged(&'static str),
    /// Another thread of the engine failed first, and says why.
    Ended,
    /// The store holds no device yet: [`Engine::create`](crate::Engine::create) makes one.
    NoDevice,
    /// The store holds a device already.
    DeviceExists,
    /// The store could not be opened again after a failure of its medium.
    Reopen(OpenStoreError),
    /// The store.
    Store(StoreError),
    /// The random source failed, or a library that needs it.
    Random,
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged(what) => write!(f, "the store is damaged: {what}"),
            Self::Ended => f.write_str("the work was ended by another failure"),
            Self::NoDevice => f.write_str("the store holds no device"),
            Self::DeviceExists => f.write_str("the store holds a device already"),
            Self::Reopen(_) => f.write_str("the store cannot be opened again"),
            Self::Store(error) => error.fmt(f),
            Self::Random => f.write_str("the random source failed"),
        }
    }
}

impl core::error::Error for EngineError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Reopen(error) => Some(error),
            Self::Store(error) => Some(error),
            _ => None,
        }
    }
}

impl From<StoreError> for EngineError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// A batch that ended early.
#[derive(Debug)]
#[non_exhaustive]
pub struct BatchError {
    /// Messages that were committed before the error. All later ones are as if they had not been
    /// delivered, and can be delivered again.
    pub done: BatchReport,
    /// Why it ended.
    pub cause: EngineError,
}

impl fmt::Display for BatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} messages were kept, then: {}", self.done.outcomes.len(), self.cause)
    }
}

impl core::error::Error for BatchError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        Some(&self.cause)
    }
}

/// Why a message cannot be sent.
#[derive(Debug)]
#[non_exhaustive]
pub enum SendError {
    /// The batch in which it would have been sent has ended.
    Ended,
    /// Proposals for the group have arrived: make a commit before a text.
    CommitRequired,
    /// The engine.
    Engine(EngineError),
    /// This device is not in the group, or does not know it.
    NoGroup,
    /// There is no session with the device: begin one with a bundle of it.
    NoSession,
    /// The store was restored: keys that come next may have been used. Reset the session.
    Restored,
    /// The library refused.
    Session,
    /// Longer than a message may be.
    TooLong,
}

impl SendError {
    /// Returns true if the message was refused before anything changed.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::CommitRequired | Self::NoGroup | Self::NoSession | Self::Restored | Self::TooLong
        )
    }
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended => f.write_str("the batch has ended"),
            Self::Engine(error) => error.fmt(f),
            Self::CommitRequired => f.write_str("proposals for the group wait for a commit"),
            Self::NoGroup => f.write_str("this device is not in the group"),
            Self::NoSession => f.write_str("there is no session with the device"),
            Self::Restored => f.write_str("the store was restored: reset the session first"),
            Self::Session => f.write_str("the session cannot be written on"),
            Self::TooLong => f.write_str("the message is too long"),
        }
    }
}

impl core::error::Error for SendError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Engine(error) => Some(error),
            _ => None,
        }
    }
}

impl From<EngineError> for SendError {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

impl From<StoreError> for SendError {
    fn from(error: StoreError) -> Self {
        Self::Engine(error.into())
    }
}

/// Why a session was not begun.
#[derive(Debug)]
#[non_exhaustive]
pub enum BeginSessionError {
    /// The keys of the bundle make no session.
    Begin(BeginError),
    /// The engine.
    Engine(EngineError),
    /// The bundle is of another device than the one that was meant.
    OtherAddress(Address),
    /// The bundle is of this device, or for a key of it.
    Own,
    /// The device has shown a later certificate than that of the bundle.
    Superseded,
}

impl fmt::Display for BeginSessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Begin(error) => error.fmt(f),
            Self::Engine(error) => error.fmt(f),
            Self::OtherAddress(whose) => write!(f, "the bundle is of {whose}"),
            Self::Own => f.write_str("the bundle is of this device"),
            Self::Superseded => f.write_str("the bundle's certificate was superseded"),
        }
    }
}

impl core::error::Error for BeginSessionError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Begin(error) => Some(error),
            Self::Engine(error) => Some(error),
            Self::OtherAddress(_) | Self::Own | Self::Superseded => None,
        }
    }
}

impl From<EngineError> for BeginSessionError {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

/// Why a group was not made, joined or changed.
#[derive(Debug)]
#[non_exhaustive]
pub enum GroupChangeError {
    /// The engine.
    Engine(EngineError),
    /// This device knows a group of that id. A welcome replaces it only into a later epoch, by one
    /// of its members; otherwise forget it first.
    Exists,
    /// The group refused.
    Group(GroupError),
    /// A group was joined with this welcome.
    Joined,
    /// The key package was used: this device has joined a group with it by another welcome, or has
    /// added a device by it.
    KeyPackageUsed,
    /// This device is not in the group, or the id is none.
    NoGroup,
    /// The store was restored: join the group again first.
    Restored,
    /// The certificate of a device that would be added is superseded: the device has shown a later
    /// one, with other keys.
    Superseded(Address),
    /// The change is longer than a message may be.
    TooLong,
}

impl fmt::Display for GroupChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Engine(error) => error.fmt(f),
            Self::Exists => f.write_str("there is a group of that id"),
            Self::Group(error) => error.fmt(f),
            Self::Joined => f.write_str("the group of the welcome was joined"),
            Self::KeyPackageUsed => f.write_str("the key package was used before"),
            Self::NoGroup => f.write_str("this device is not in the group"),
            Self::Restored => f.write_str("the store was restored: join the group again first"),
            Self::Superseded(whose) => write!(f, "{whose} has shown a later certificate"),
            Self::TooLong => f.write_str("the change is longer than a message may be"),
        }
    }
}

impl core::error::Error for GroupChangeError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Engine(error) => Some(error),
            Self::Group(error) => Some(error),
            _ => None,
        }
    }
}

impl From<EngineError> for GroupChangeError {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

impl From<GroupError> for GroupChangeError {
    fn from(error: GroupError) -> Self {
        Self::Group(error)
    }
}
