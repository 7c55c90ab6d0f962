//! Errors of archives.

use core::{error, fmt};
use std::io;

use endseal_envelope::{OpenError, RecipientsError, SealError};
use endseal_keyring::identity_file::SealIdentityFileError;
use endseal_session::EngineError;

use crate::address_book::AddressBookError;
use crate::error::FileError;
use crate::groups::{GroupError, ImportError};
use crate::person::PersonError;

/// Reason why no archive was written. The caller must discard the output written so far.
#[derive(Debug)]
#[non_exhaustive]
pub enum WriteArchiveError {
    /// An address book of the state directory cannot be read.
    AddressBook(AddressBookError),
    /// The store failed.
    Engine(EngineError),
    /// A group of the state directory cannot be read.
    Group(GroupError),
    /// The archive cannot be written.
    Output(io::Error),
    /// The newest person record does not have this device: no reader would accept its archive.
    NotListed,
    /// No envelope can be sealed to the keys of the identity.
    Recipients(RecipientsError),
    /// The root cannot be encoded: the source of randomness failed.
    Root(SealIdentityFileError),
    /// The envelope cannot be sealed.
    Seal(SealError),
}

/// Reason why an archive was not read. Nothing of it may be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadArchiveError {
    /// An address book cannot be written.
    AddressBook(AddressBookError),
    /// The archive breaks the format; the text names the part. It was sealed by a device of the
    /// person all the same.
    Damaged(&'static str),
    /// The store failed.
    Engine(EngineError),
    /// The file is not an archive, was changed, or is not sealed to this identity.
    Envelope(OpenError),
    /// A file of the state directory cannot be written.
    File(FileError),
    /// The archive cannot be read.
    Input(io::Error),
    /// A person record cannot be written.
    Person(PersonError),
    /// A roster cannot be stored.
    Roster(ImportError),
    /// The archive answers another link text than that of this device.
    OtherLink,
    /// The sender is neither the identity nor a device in the person record of the archive.
    Sender,
    /// A later version of the program wrote the archive.
    Version(u8),
}

impl From<io::Error> for WriteArchiveError {
    fn from(error: io::Error) -> Self {
        match error.get_ref().and_then(|it| it.downcast_ref()) {
            Some(error) => Self::Seal(*error),
            None => Self::Output(error),
        }
    }
}

impl From<io::Error> for ReadArchiveError {
    fn from(error: io::Error) -> Self {
        match error.get_ref().and_then(|it| it.downcast_ref()) {
            Some(error) => Self::Envelope(*error),
            None => Self::Input(error),
        }
    }
}

macro_rules! from {
    ($to:ident: $($error:ty => $variant:ident),+) => {$(
        impl From<$error> for $to {
            fn from(error: $error) -> Self {
                Self::$variant(error)
            }
        }
    )+};
}

from!(WriteArchiveError: AddressBookError => AddressBook, EngineError => Engine,
    GroupError => Group, RecipientsError => Recipients,
    SealIdentityFileError => Root);
from!(ReadArchiveError: AddressBookError => AddressBook, EngineError => Engine, FileError => File,
    PersonError => Person, ImportError => Roster);

impl fmt::Display for WriteArchiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AddressBook(error) => error.fmt(f),
            Self::Engine(error) => error.fmt(f),
            Self::Group(error) => error.fmt(f),
            Self::Output(_) => f.write_str("cannot write the archive"),
            Self::NotListed => f.write_str("this device is not in the newest record of its person"),
            Self::Recipients(_) | Self::Root(_) | Self::Seal(_) => {
                f.write_str("cannot seal the archive")
            }
        }
    }
}

impl fmt::Display for ReadArchiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AddressBook(error) => error.fmt(f),
            Self::Damaged(what) => write!(f, "the archive is not valid: {what}"),
            Self::Engine(error) => error.fmt(f),
            Self::Envelope(_) => f.write_str("cannot open the archive"),
            Self::File(error) => error.fmt(f),
            Self::Input(_) => f.write_str("cannot read the archive"),
            Self::Person(error) => error.fmt(f),
            Self::Roster(error) => error.fmt(f),
            Self::OtherLink => f.write_str("the archive answers another link text"),
            Self::Sender => f.write_str("no device of this identity has sealed the archive"),
            Self::Version(version) => {
                write!(f, "a later version of endseal wrote the archive: format {version}")
            }
        }
    }
}

impl error::Error for WriteArchiveError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::AddressBook(error) => error.source(),
            Self::Engine(error) => error.source(),
            Self::Group(error) => error.source(),
            Self::NotListed => None,
            Self::Output(error) => Some(error),
            Self::Recipients(error) => Some(error),
            Self::Root(error) => Some(error),
            Self::Seal(error) => Some(error),
        }
    }
}

impl error::Error for ReadArchiveError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::AddressBook(error) => error.source(),
            Self::Damaged(_) | Self::OtherLink | Self::Sender | Self::Version(_) => None,
            Self::Engine(error) => error.source(),
            Self::Envelope(error) => Some(error),
            Self::File(error) => error.source(),
            Self::Input(error) => Some(error),
            Self::Person(error) => error.source(),
            Self::Roster(error) => error.source(),
        }
    }
}
