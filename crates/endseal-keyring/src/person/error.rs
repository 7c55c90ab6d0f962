//! Errors of a person record.

use core::fmt;

use endseal_crypto::random::RandomError;

use super::{MAX_DEVICES, MAX_LEN};
use crate::name::Name;
use crate::roster::{ChangeRosterError, ParseRosterError, SignRosterError};

/// Reason why bytes are not a person record.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParsePersonError {
    /// The bytes are a roster, but not that of a person.
    Person(InvalidPerson),
    /// The bytes are not a roster.
    Roster(ParseRosterError),
    /// The record is longer than [`MAX_LEN`] bytes.
    TooLong,
}

/// Reason why a roster is not that of a person.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidPerson {
    /// The group's name is not `person`.
    Group,
    /// The key is not one byte 0: the roster has an epoch key, and a person has none.
    Key,
    /// A device is in the long form.
    Long(Name),
    /// A member is neither `root` nor `device-` with a number.
    Member(Name),
    /// The record has no device; a person has at least one.
    NoDevice,
    /// There is no member `root`, it is not the owner, or it lacks the ML-KEM-768 key.
    Root,
    /// The record names a former owner or an admin: only the root signs a person's records.
    Rights,
    /// The record has more than [`MAX_DEVICES`] devices.
    TooManyDevices,
}

/// Reason why there is no epoch with these devices.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangePersonError {
    /// A device to remove is not there, two have one number or key, or there is no further epoch.
    Change(ChangeRosterError),
    /// The result is not that of a person.
    Person(InvalidPerson),
    /// The source of randomness failed.
    Random,
    /// The identity that signs is not the root of the person.
    Sign(SignRosterError),
}

impl From<InvalidPerson> for ParsePersonError {
    fn from(error: InvalidPerson) -> Self {
        Self::Person(error)
    }
}

impl From<InvalidPerson> for ChangePersonError {
    fn from(error: InvalidPerson) -> Self {
        Self::Person(error)
    }
}

impl From<ChangeRosterError> for ChangePersonError {
    fn from(error: ChangeRosterError) -> Self {
        Self::Change(error)
    }
}

impl From<SignRosterError> for ChangePersonError {
    fn from(error: SignRosterError) -> Self {
        Self::Sign(error)
    }
}

impl From<RandomError> for ChangePersonError {
    fn from(_: RandomError) -> Self {
        Self::Random
    }
}

impl fmt::Display for ParsePersonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Person(error) => error.fmt(f),
            Self::Roster(error) => error.fmt(f),
            Self::TooLong => write!(f, "a person record has at most {MAX_LEN} bytes"),
        }
    }
}

impl fmt::Display for InvalidPerson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Group => f.write_str("it is the roster of a group, not of a person"),
            Self::Key => f.write_str("a person record has no epoch key"),
            Self::Long(name) => write!(f, "'{name}' is not in the short form"),
            Self::Member(name) => write!(f, "'{name}' cannot be a member of a person record"),
            Self::NoDevice => f.write_str("a person has at least one device"),
            Self::Root => {
                f.write_str("the person record lacks its owner as 'root' in the long form")
            }
            Self::Rights => f.write_str("a person record has no former owners and no admins"),
            Self::TooManyDevices => write!(f, "a person has at most {MAX_DEVICES} devices"),
        }
    }
}

impl fmt::Display for ChangePersonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Change(error) => error.fmt(f),
            Self::Person(error) => error.fmt(f),
            Self::Random => f.write_str("the source of randomness failed"),
            Self::Sign(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ParsePersonError {}
impl core::error::Error for InvalidPerson {}
impl core::error::Error for ChangePersonError {}
