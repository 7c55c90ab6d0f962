//! Address books of the state directory: the contacts, and the peers that may connect.

use core::{error, fmt};
use std::path::{Path, PathBuf};

use endseal_keyring::address_book::{AddressBook, Listed, MAX_LEN, ParseBookError};
use endseal_keyring::{Contacts, Peers};

use crate::error::FileError;
use crate::groups;
use crate::home::{Home, HomeLock, move_aside, read_private, write_private};

/// File names in the state directory.
const CONTACTS: &str = "contacts";
const PEERS: &str = "peers";

impl Home {
    /// Returns the path of the contacts file, which need not exist.
    #[must_use]
    pub fn contacts_path(&self) -> PathBuf {
        self.file(CONTACTS)
    }

    /// Reads the contacts. Returns an empty address book if there is no contacts file.
    ///
    /// # Errors
    /// Returns [`AddressBookError`] if the file cannot be read, others may use it, or it is
    /// damaged.
    pub fn contacts(&self) -> Result<Contacts, AddressBookError> {
        read(self.contacts_path())
    }

    /// Replaces the contacts file atomically. The caller holds the lock of the state directory.
    ///
    /// # Errors
    /// Returns [`AddressBookError::File`] if the file cannot be written.
    pub fn store_contacts(
        &self,
        contacts: &Contacts,
        _lock: &HomeLock,
    ) -> Result<(), AddressBookError> {
        write(&self.contacts_path(), contacts)
    }

    /// Keeps contacts, peers and groups under other names, which are returned: others take their
    /// place.
    ///
    /// # Errors
    /// Returns [`FileError`] if the file system refuses.
    pub fn set_aside_books(&self, lock: &HomeLock) -> Result<Vec<PathBuf>, FileError> {
        let books = [self.contacts_path(), self.peers_path(), self.file(groups::FOLDER)];
        let aside: Result<Vec<_>, _> = books.iter().map(|it| move_aside(it, lock)).collect();
        Ok(aside?.into_iter().flatten().collect())
    }

    /// Returns the path of the peers file, which need not exist.
    #[must_use]
    pub fn peers_path(&self) -> PathBuf {
        self.file(PEERS)
    }

    /// Reads the peers that may connect to this device. Returns an empty list if there is no file.
    ///
    /// # Errors
    /// Returns [`AddressBookError`] if the file cannot be read, others may use it, or it is
    /// damaged.
    pub fn peers(&self) -> Result<Peers, AddressBookError> {
        read(self.peers_path())
    }

    /// Replaces the peers file atomically. The caller holds the lock of the state directory.
    ///
    /// # Errors
    /// Returns [`AddressBookError::File`] if the file cannot be written.
    pub fn store_peers(&self, peers: &Peers, _lock: &HomeLock) -> Result<(), AddressBookError> {
        write(&self.peers_path(), peers)
    }
}

fn read<T: Listed>(path: PathBuf) -> Result<AddressBook<T>, AddressBookError> {
    let Some(content) = read_private(&path, MAX_LEN)? else { return Ok(AddressBook::new()) };
    AddressBook::parse(&content).map_err(|error: ParseBookError<T>| AddressBookError::Parse {
        path,
        error: Box::new(error),
    })
}

fn write<T: Listed>(path: &Path, book: &AddressBook<T>) -> Result<(), AddressBookError> {
    Ok(write_private(path, book.to_text().as_bytes())?)
}

/// Reason why an address book was not read or written.
#[derive(Debug)]
#[non_exhaustive]
pub enum AddressBookError {
    /// The file cannot be read or written.
    File(FileError),
    /// The file was read, but its content is not an address book.
    Parse {
        /// Path of the damaged file.
        path: PathBuf,
        /// The [`ParseBookError`] that describes the fault.
        error: Box<dyn error::Error + Send + Sync>,
    },
}

impl From<FileError> for AddressBookError {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

impl fmt::Display for AddressBookError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => error.fmt(f),
            Self::Parse { path, .. } => write!(f, "cannot use '{}'", path.display()),
        }
    }
}

impl error::Error for AddressBookError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::File(error) => error.source(),
            Self::Parse { error, .. } => Some(error.as_ref()),
        }
    }
}
