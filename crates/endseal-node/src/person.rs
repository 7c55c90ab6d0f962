//! Person records of the state directory, `person/EPOCH.roster`.
//!
//! Records of earlier epochs stay: with them [`Home::next_person`] tells whether the newest record
//! continues the one that the hub has, or is of another chain.

use core::{error, fmt};
use std::fs;
use std::path::PathBuf;

use endseal_crypto::identity::Identity;
use endseal_keyring::PersonRecord;
use endseal_keyring::person::{ChangePersonError, MAX_LEN, ParsePersonError, PersonChanges};

use crate::atomic::{Existing, Readers, write_file};
use crate::error::FileError;
use crate::groups::{self, SUFFIX};
use crate::home::{Home, HomeLock, keep_aside, read_private};

/// Name of the folder with the records.
pub(crate) const FOLDER: &str = "person";

impl Home {
    /// Reads the newest known record of this person.
    ///
    /// # Errors
    /// Returns [`PersonError`] if there is no record, or it cannot be read or is damaged.
    pub fn person(&self) -> Result<PersonRecord, PersonError> {
        match self.person_epochs()?.last() {
            Some(epoch) => self.person_in_epoch(*epoch),
            None => Err(PersonError::Missing(self.file(FOLDER))),
        }
    }

    /// Returns the epochs of the known person records, in ascending order.
    fn person_epochs(&self) -> Result<Vec<u64>, FileError> {
        groups::epochs_in(&self.file(FOLDER))
    }

    /// Reads the person record of one epoch.
    fn person_in_epoch(&self, epoch: u64) -> Result<PersonRecord, PersonError> {
        let path = self.person_path(epoch);
        let Some(content) = read_private(&path, MAX_LEN)? else {
            return Err(PersonError::Missing(path));
        };
        PersonRecord::parse(&content).map_err(|error| PersonError::Parse { path, error })
    }

    /// Makes the next record of the person: with the changes that `change` wants of the record
    /// before. That is the one that the hub has, unless those of this directory continue it. The
    /// epoch is above all that are here, also if they are of a fork that the hub does not have.
    /// `None` if there is no record here or at the hub.
    ///
    /// # Errors
    /// Returns [`PersonError::Change`] if the record before cannot have these changes, or `root` is
    /// not its root.
    pub fn next_person(
        &self,
        root: &Identity,
        at_hub: Option<&PersonRecord>,
        change: impl FnOnce(&PersonRecord) -> PersonChanges,
    ) -> Result<Option<PersonRecord>, PersonError> {
        let here = self.person().ok().filter(|it| it.identity() == root.public());
        let continues = |here: &PersonRecord, at_hub: &PersonRecord| {
            here.epoch() > at_hub.epoch()
                && self.person_in_epoch(at_hub.epoch()).is_ok_and(|it| it == *at_hub)
        };
        let base = match (here.as_ref(), at_hub) {
            (Some(here), Some(at_hub)) if !continues(here, at_hub) => at_hub,
            (Some(here), _) => here,
            (None, Some(at_hub)) => at_hub,
            (None, None) => return Ok(None),
        };
        let mut record = base.next_epoch(root, &change(base))?;
        while here.as_ref().is_some_and(|here| here.epoch() >= record.epoch()) {
            record = record.next_epoch(root, &PersonChanges::new())?;
        }
        Ok(Some(record))
    }

    /// Keeps a record as the newest one. Other records of this or a later epoch, which the hub did
    /// not take, are kept under other names.
    ///
    /// # Errors
    /// Returns [`PersonError::File`] if the file system refuses.
    pub fn store_person(&self, record: &PersonRecord, _lock: &HomeLock) -> Result<(), PersonError> {
        self.folder(FOLDER)?;
        for epoch in self.person_epochs()?.into_iter().filter(|it| *it >= record.epoch()) {
            let path = self.person_path(epoch);
            if read_private(&path, MAX_LEN)?.is_some_and(|it| *it == record.as_bytes()) {
                continue;
            }
            keep_aside(&path)?;
            fs::remove_file(&path).map_err(|source| FileError::io("replace", &path, source))?;
        }
        let path = self.person_path(record.epoch());
        Ok(write_file(&path, record.as_bytes(), Existing::Replace, Readers::Owner)?)
    }

    /// Keeps a record of an archive, unless there is one of its epoch. A device that was made of a
    /// backup has a later one.
    pub(crate) fn keep_person(
        &self,
        record: &PersonRecord,
        _lock: &HomeLock,
    ) -> Result<(), PersonError> {
        self.folder(FOLDER)?;
        let path = self.person_path(record.epoch());
        match write_file(&path, record.as_bytes(), Existing::Keep, Readers::Owner) {
            Err(FileError::Exists(_)) => Ok(()),
            written => Ok(written?),
        }
    }

    fn person_path(&self, epoch: u64) -> PathBuf {
        self.file(FOLDER).join(format!("{epoch}{SUFFIX}"))
    }
}

/// Reason why a person record was not read or created.
#[derive(Debug)]
#[non_exhaustive]
pub enum PersonError {
    /// The devices of the new record are not valid, or it could not be signed.
    Change(ChangePersonError),
    /// A file cannot be read or written.
    File(FileError),
    /// There is no record at this path.
    Missing(PathBuf),
    /// The file is not a valid person record.
    Parse {
        /// Path of the damaged file.
        path: PathBuf,
        /// Fault in the record.
        error: ParsePersonError,
    },
}

impl From<FileError> for PersonError {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

impl From<ChangePersonError> for PersonError {
    fn from(error: ChangePersonError) -> Self {
        Self::Change(error)
    }
}

impl fmt::Display for PersonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Change(error) => error.fmt(f),
            Self::File(error) => error.fmt(f),
            Self::Missing(path) => write!(f, "there is no person record '{}'", path.display()),
            Self::Parse { path, .. } => write!(f, "cannot use '{}'", path.display()),
        }
    }
}

impl error::Error for PersonError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Change(error) => error.source(),
            Self::File(error) => error.source(),
            Self::Missing(_) => None,
            Self::Parse { error, .. } => Some(error),
        }
    }
}
