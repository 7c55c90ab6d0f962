//! State directory, output files, identities, contacts, groups.
#![forbid(unsafe_code)]

mod atomic;
mod error;
mod file;
mod home;
mod inspect;

pub use atomic::{AtomicFile, Existing, Readers, write_file};
pub use error::FileError;
pub use file::{FILE_CONTEXT, Incoming, OpenFileError, Progress, SealFileError, seal};
pub use home::{HOME_VARIABLE, Home, HomeError, HomeLock, read_bounded, read_public};
pub use inspect::Inspection;
