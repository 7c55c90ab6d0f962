//! Person records of the state directory, `person/EPOCH.roster`, and their user identities.
//!
//! No file is ever replaced: the record of an earlier epoch is needed to open letters to its user
//! identity.

use core::{error, fmt};
use std::fs;
use std::path::PathBuf;

use endseal_crypto::identity::Identity;
use endseal_crypto::random::OsRandom;
use endseal_keyring::PersonRecord;
use endseal_keyring::person::{
    ChangePersonError, MAX_LEN, OtherUser, ParsePersonError, PersonChanges, PersonDraft,
};
use endseal_keyring::roster::SignRosterError;

use crate::atomic::{Existing, Readers, write_file};
use crate::error::FileError;
use crate::groups::{self, GroupError, SUFFIX};
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
    ///
    /// # Errors
    /// Returns [`PersonError::File`] if the folder cannot be read.
    pub fn person_epochs(&self) -> Result<Vec<u64>, PersonError> {
        Ok(groups::epochs_in(&self.file(FOLDER))?)
    }

    /// Reads the person record of one epoch.
    ///
    /// # Errors
    /// Returns [`PersonError`] if there is no such record, or it cannot be read or is damaged.
    pub fn person_in_epoch(&self, epoch: u64) -> Result<PersonRecord, PersonError> {
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
    /// Returns [`PersonError`] if the devices cannot be so, or the record cannot be sealed or
    /// signed.
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
        let next = |base: &PersonRecord, changes: &PersonChanges| {
            sign(base.next_epoch(root, changes, &mut OsRandom)?, root)
        };
        let mut record = next(base, &change(base))?;
        while here.as_ref().is_some_and(|here| here.epoch() >= record.epoch()) {
            record = next(&record, &PersonChanges::new())?;
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

    /// Keeps a record of an earlier epoch, unless there is one of it.
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

/// Seals the epoch key of a draft to its members and signs the record.
///
/// # Errors
/// Returns [`PersonError::Key`] if the epoch key cannot be sealed, and [`PersonError::Sign`] if the
/// record cannot be signed.
pub fn sign(draft: PersonDraft, root: &Identity) -> Result<PersonRecord, PersonError> {
    let (key, context) = (draft.epoch_key(), draft.context());
    let sealed = groups::seal_epoch_key(root, key, draft.members(), &context);
    let sealed = sealed.map_err(PersonError::Key)?;
    draft.sign(root, &sealed).map_err(PersonError::Sign)
}

/// The user identity of a record, which a member opens: a device or the root. Letters to the person
/// in that epoch are sealed to it.
///
/// # Errors
/// [`PersonError::Key`] if `member` cannot open the epoch key, [`PersonError::OtherUser`] if the
/// record names another user identity: it MUST NOT be used.
pub fn user_identity(member: &Identity, record: &PersonRecord) -> Result<Identity, PersonError> {
    let key = groups::epoch_key(member, record.roster()).map_err(PersonError::Key)?;
    record.user_of(&key).map_err(PersonError::OtherUser)
}

/// Reason why a person record was not read, created or opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum PersonError {
    /// The devices of the new record are not valid.
    Change(ChangePersonError),
    /// A file cannot be read or written.
    File(FileError),
    /// The epoch key cannot be sealed or opened.
    Key(GroupError),
    /// There is no record at this path.
    Missing(PathBuf),
    /// The epoch key produces another user identity than the record names. The record is forged.
    OtherUser(OtherUser),
    /// The file is not a valid person record.
    Parse {
        /// Path of the damaged file.
        path: PathBuf,
        /// Fault in the record.
        error: ParsePersonError,
    },
    /// The record could not be signed.
    Sign(SignRosterError),
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
            Self::Key(_) => f.write_str("cannot use the epoch key of the person record"),
            Self::Missing(path) => write!(f, "there is no person record '{}'", path.display()),
            Self::OtherUser(_) => f.write_str("the person record is forged"),
            Self::Parse { path, .. } => write!(f, "cannot use '{}'", path.display()),
            Self::Sign(_) => f.write_str("cannot sign the person record"),
        }
    }
}

impl error::Error for PersonError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Change(error) => error.source(),
            Self::File(error) => error.source(),
            Self::Key(error) => Some(error),
            Self::Missing(_) => None,
            Self::OtherUser(error) => Some(error),
            Self::Parse { error, .. } => Some(error),
            Self::Sign(error) => Some(error),
        }
    }
}
