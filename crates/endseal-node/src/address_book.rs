//! The address books of the state directory: contacts, and peers.

use core::{error, fmt};
use std::path::{Path, PathBuf};

use endseal_keyring::address_book::{AddressBook, Listed, MAX_LEN, ParseBookError};
use endseal_keyring::{Contacts, Peers};

use crate::error::FileError;
use crate::home::{Home, HomeLock, read_private, write_private};

/// Names of the files.
const CONTACTS: &str = "contacts";
const PEERS: &str = "peers";

impl Home {
    /// Where the contacts are.
    #[must_use]
    pub fn contacts_path(&self) -> PathBuf {
        self.file(CONTACTS)
    }

    /// Reads the contacts; an empty address book if there is none.
    ///
    /// # Errors
    /// [`AddressBookError`].
    pub fn contacts(&self) -> Result<Contacts, AddressBookError> {
        read(self.contacts_path())
    }

    /// Writes the contacts in one step.
    ///
    /// # Errors
    /// [`AddressBookError::File`].
    pub fn store_contacts(
        &self,
        contacts: &Contacts,
        _lock: &HomeLock,
    ) -> Result<(), AddressBookError> {
        write(&self.contacts_path(), contacts)
    }

    /// Where the list of peers is.
    #[must_use]
    pub fn peers_path(&self) -> PathBuf {
        self.file(PEERS)
    }

    /// Reads the peers, who may connect; none if there is no list.
    ///
    /// # Errors
    /// [`AddressBookError`].
    pub fn peers(&self) -> Result<Peers, AddressBookError> {
        read(self.peers_path())
    }

    /// Writes the peers in one step.
    ///
    /// # Errors
    /// [`AddressBookError::File`].
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

/// Why there is no address book.
#[derive(Debug)]
#[non_exhaustive]
pub enum AddressBookError {
    /// The file cannot be read or written.
    File(FileError),
    /// The file is damaged.
    Parse {
        /// Which file.
        path: PathBuf,
        /// Fault of the file: a [`ParseBookError`].
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
