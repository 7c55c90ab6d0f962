#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! | to do this | use |
//! |---|---|
//! | find, make and check the state directory | [`Home`] |
//! | write a file that appears whole or not at all | [`AtomicFile`] |
//! | seal and open files of any length | [`seal`], [`Incoming`] |
//! | write a backup, and make a state directory of it | [`write_archive`], [`Archive`] |
//! | see what an observer without a key sees of a file | [`Inspection`] |
//! | send files and messages to a peer, and receive them | [`transfer`] |
//! | make root, device, store and person record | [`Home::install`] |
//! | make a device that another one links | [`Home::prepare_link`] |
//! | keep groups, epoch by epoch | [`Groups`] |
//! | keep person records, and open them | [`person`] |
//! | keep sessions, and carry their messages in files | [`sessions`] |
//! | write, send, receive and read over a hub | [`messages`] |
//! | keep a connection to the hub, and serve local requests | [`service`] |
//! | carry out requests, here or in such a process | [`api`] |
//!
//! All input has a length limit. Data that could be a key is never deleted or overwritten: rosters
//! are added, and a replaced identity file is kept under another name.
#![forbid(unsafe_code)]

extern crate alloc;

mod address_book;
pub mod api;
mod archive;
mod atomic;
mod error;
mod error_line;
mod file;
mod groups;
mod home;
mod identity;
mod inspect;
mod install;
mod link;
pub mod messages;
pub mod person;
mod renew;
pub mod service;
pub mod sessions;
mod texts;
pub mod transfer;
mod wire_text;

pub use address_book::AddressBookError;
pub use archive::{
    Archive, ArchiveContent, ArchiveKeys, ArchiveKind, LinkGrant, LinkTarget, Linked,
    ReadArchiveError, WriteArchiveError, write_archive,
};
pub use atomic::{AtomicFile, Existing, Readers, write_file};
pub use error::FileError;
pub use file::{FILE_CONTEXT, Incoming, OpenFileError, Progress, SealFileError, seal};
pub use groups::{GroupError, Groups, ImportError, Imported, OWN_NAME, epoch_key, recipients};
pub use home::{HOME_VARIABLE, Home, HomeError, HomeLock, read_bounded, read_private, read_public};
pub use identity::IdentityError;
pub use inspect::{Inspection, check_start};
pub use install::{InstallError, Installed, NewIdentity, OtherDevices};
pub use renew::{NewDeviceKeys, RenewError};
