//! Errors of operations. Failures of single messages are in [`Failure`](crate::Failure).

use core::fmt;

use endseal_keyring::device::Address;
use endseal_store::{OpenStoreError, StoreError};

use crate::group::GroupError;
use crate::{BatchReport, BeginError};

/// Error of the engine. The store stays consistent; changes that were not committed have no effect.
#[derive(Debug)]
#[non_exhaustive]
pub enum EngineError {
    /// A row of the store cannot be decoded; the text names it. Restore a backup, or reset the
    /// session.
    Damaged(&'static str),
    /// The work was stopped because another part of the engine failed, which reports the cause.
    Ended,
    /// The store holds no device yet: [`Engine::create`](crate::Engine::create) makes one.
    NoDevice,
    /// The store holds a device already, which is not replaced.
    DeviceExists,
    /// The store could not be opened again after a failure of its medium.
    Reopen(OpenStoreError),
    /// The store failed.
    Store(StoreError),
    /// The random source failed, or a library function that needs it.
    Random,
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged(what) => write!(f, "the store is damaged: {what}"),
            Self::Ended => f.write_str("the work was stopped by another failure of the engine"),
            Self::NoDevice => f.write_str("the store holds no device"),
            Self::DeviceExists => f.write_str("the store holds a device already"),
            Self::Reopen(_) => f.write_str("the store cannot be opened again after a failure"),
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

/// Error that ended a batch early.
#[derive(Debug)]
#[non_exhaustive]
pub struct BatchError {
    /// Report on the messages that were committed before the error. All later messages count as not
    /// delivered, and can be delivered again.
    pub done: BatchReport,
    /// Error that ended the batch.
    pub cause: EngineError,
}

impl fmt::Display for BatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} messages were committed before the error: {}",
            self.done.outcomes.len(),
            self.cause
        )
    }
}

impl core::error::Error for BatchError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        Some(&self.cause)
    }
}

/// Error of sending a message.
#[derive(Debug)]
#[non_exhaustive]
pub enum SendError {
    /// The batch in which the message would have been sent has ended.
    Ended,
    /// Proposals for the group have arrived: make a commit before sending a text.
    CommitRequired,
    /// The engine failed.
    Engine(EngineError),
    /// This device is not a member of the group, or does not know it.
    NoGroup,
    /// There is no session with the device that can send: begin one with a bundle of the device.
    NoSession,
    /// The store was restored, so the next keys may have been used already. Reset the session.
    Restored,
    /// The library of the session failed to encrypt.
    Session,
    /// The text is longer than a message may be.
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
            Self::Session => f.write_str("the session failed to encrypt the message"),
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

/// Error of beginning a session.
#[derive(Debug)]
#[non_exhaustive]
pub enum BeginSessionError {
    /// No session can be made from the keys of the bundle.
    Begin(BeginError),
    /// The engine failed.
    Engine(EngineError),
    /// The bundle belongs to the device with this address, not to the requested one.
    OtherAddress(Address),
    /// The bundle belongs to this device, or contains its agreement key.
    Own,
    /// The device has shown a later certificate than that of the bundle, or one that contradicts
    /// it.
    Superseded,
}

impl fmt::Display for BeginSessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Begin(error) => error.fmt(f),
            Self::Engine(error) => error.fmt(f),
            Self::OtherAddress(whose) => write!(f, "the bundle belongs to another device: {whose}"),
            Self::Own => f.write_str("the bundle belongs to this device"),
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

/// Error of making, joining or changing a group.
#[derive(Debug)]
#[non_exhaustive]
pub enum GroupChangeError {
    /// The engine failed.
    Engine(EngineError),
    /// This device knows a group with that id. A welcome replaces it only if it leads to a later
    /// epoch and a member has signed it; otherwise forget the group first.
    Exists,
    /// The group library refused the operation.
    Group(GroupError),
    /// A group was joined with this welcome before.
    Joined,
    /// The key package was used before: this device has joined a group with it by another welcome,
    /// or has added a device with it.
    KeyPackageUsed,
    /// This device does not know the group, or the id is invalid.
    NoGroup,
    /// The store was restored: join the group again first.
    Restored,
    /// The device with this address has shown a later certificate with other keys than the one to
    /// be added.
    Superseded(Address),
    /// The change is longer than a message may be.
    TooLong,
}

impl fmt::Display for GroupChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Engine(error) => error.fmt(f),
            Self::Exists => f.write_str("a group with that id exists already"),
            Self::Group(error) => error.fmt(f),
            Self::Joined => f.write_str("the group was joined with this welcome before"),
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
