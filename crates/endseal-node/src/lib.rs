//! State directory, output files, identities, contacts, groups.
#![forbid(unsafe_code)]

mod atomic;
mod contacts;
pub mod demo;
mod error;
mod file;
mod groups;
mod home;
mod identity;
mod inspect;

pub use atomic::{AtomicFile, Existing, Readers, write_file};
pub use contacts::ContactsError;
pub use error::FileError;
pub use file::{FILE_CONTEXT, Incoming, OpenFileError, Progress, SealFileError, seal};
pub use groups::{GroupError, Groups, ImportError, Imported, epoch_key, recipients};
pub use home::{HOME_VARIABLE, Home, HomeError, HomeLock, read_bounded, read_public};
pub use identity::{IdentityError, open_without_passphrase, seal_without_passphrase};
pub use inspect::Inspection;
