//! The address book of the state directory.

use core::{error, fmt};
use std::path::PathBuf;

use endseal_keyring::Contacts;
use endseal_keyring::contacts::{MAX_LEN, ParseContactsError};

use crate::error::FileError;
use crate::home::{Home, HomeLock, read_private, write_private};

/// Name of the address book.
const NAME: &str = "contacts";

impl Home {
    /// Where the address book is.
    #[must_use]
    pub fn contacts_path(&self) -> PathBuf {
        self.file(NAME)
    }

    /// Reads the address book; an empty one if there is none.
    ///
    /// # Errors
    /// [`ContactsError`].
    pub fn contacts(&self) -> Result<Contacts, ContactsError> {
        let path = self.contacts_path();
        let Some(content) = read_private(&path, MAX_LEN)? else { return Ok(Contacts::new()) };
        Contacts::parse(&content).map_err(|error| ContactsError::Parse { path, error })
    }

    /// Writes the address book in one step.
    ///
    /// # Errors
    /// [`ContactsError::File`].
    pub fn store_contacts(
        &self,
        contacts: &Contacts,
        _lock: &HomeLock,
    ) -> Result<(), ContactsError> {
        Ok(write_private(&self.contacts_path(), contacts.to_text().as_bytes())?)
    }
}

/// Why there is no address book.
#[derive(Debug)]
#[non_exhaustive]
pub enum ContactsError {
    /// The file cannot be read or written.
    File(FileError),
    /// The file is damaged.
    Parse {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        error: ParseContactsError,
    },
}

impl From<FileError> for ContactsError {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

impl fmt::Display for ContactsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => error.fmt(f),
            Self::Parse { path, .. } => write!(f, "cannot use '{}'", path.display()),
        }
    }
}

impl error::Error for ContactsError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::File(error) => error.source(),
            Self::Parse { error, .. } => Some(error),
        }
    }
}
