//! Installation of a root identity and a device in a state directory.

use core::time::Duration;
use core::{error, fmt};
use std::path::PathBuf;

use endseal_crypto::identity::Identity;
use endseal_crypto::random::OsRandom;
use endseal_keyring::device::DeviceId;
use endseal_keyring::person::PersonChanges;
use endseal_keyring::{IdentityFile, PersonRecord};
use endseal_session::EngineError;

use crate::api;
use crate::atomic::Existing;
use crate::error::FileError;
use crate::home::{Home, HomeLock, move_aside};
use crate::identity::IdentityError;
use crate::messages;
use crate::person::{self, PersonError};
use crate::sessions::SessionsError;

/// Input of [`Home::install`]: the root and the device of a state directory.
#[allow(missing_debug_implementations, reason = "it holds secrets")]
#[allow(clippy::exhaustive_structs, reason = "all that is needed")]
pub struct NewIdentity<'a> {
    /// Root identity, which signs the device's certificate and the person record.
    pub root: &'a Identity,
    /// The root identity, encoded for the identity file.
    pub root_file: &'a IdentityFile,
    /// The identity of this device.
    pub device: &'a Identity,
    /// The device identity, encoded for the device file.
    pub device_file: &'a IdentityFile,
    /// Number of this device; `None` chooses a random one.
    pub number: Option<DeviceId>,
    /// The person record that the hub has, if it was asked: the next epoch follows it.
    pub at_hub: Option<&'a PersonRecord>,
    /// Devices that the person has already.
    pub others: OtherDevices,
    /// Milliseconds since 1970, for the certificate.
    pub now: u64,
}

/// Future of the devices that a person has when another one is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "there is nothing between")]
pub enum OtherDevices {
    /// They stay, beside the new one.
    Keep,
    /// They are revoked: the new one is the only device.
    Revoke,
}

/// Result of [`Home::install`].
#[derive(Debug)]
#[non_exhaustive]
pub struct Installed {
    /// Number of this device.
    pub number: DeviceId,
    /// New path of the identity file that was replaced, if there was one.
    pub old_identity: Option<PathBuf>,
    /// New paths of the device file, store and person records that were replaced.
    pub old: Vec<PathBuf>,
}

impl Home {
    /// Makes device file, store with certificate, person record and, last, identity file: where
    /// that is, everything is. Replaces an identity only with [`Existing::Replace`]. Files that are
    /// replaced, or were left by a process that was killed here, are kept under other names. If the
    /// person has a record, here or at the hub, the newest one gets a next epoch with this device.
    /// With a record of the hub the device is marked as not finished until it is registered.
    ///
    /// # Errors
    /// Returns [`InstallError`] if an identity exists and must be kept, a process uses the store,
    /// the device number is taken, or a file cannot be written.
    pub fn install(
        &self,
        new: &NewIdentity<'_>,
        existing: Existing,
        lock: &HomeLock,
    ) -> Result<Installed, InstallError> {
        let path = self.identity_path();
        if matches!(existing, Existing::Keep) && path.symlink_metadata().is_ok() {
            return Err(FileError::Exists(path).into());
        }
        if matches!(api::Client::find(self), Ok(Some(_))) {
            return Err(InstallError::InUse);
        }
        let here = self.person().ok().filter(|it| it.identity() == new.root.public());
        let before = new.at_hub.or(here.as_ref());
        if let Some(number) = new.number
            && [new.at_hub, here.as_ref()]
                .iter()
                .flatten()
                .any(|it| it.device(number.into()).is_some())
        {
            return Err(InstallError::NumberUsed(number));
        }
        // Records of the same person stay: a later run goes on from them if this one is killed.
        let is_of_chain =
            before.is_some_and(|it| here.as_ref().is_some_and(|own| own.id() == it.id()));
        let folder = (!is_of_chain).then(|| self.file(person::FOLDER));
        let old = [
            move_aside(&self.store_path(), lock)?,
            folder.map_or(Ok(None), |folder| move_aside(&folder, lock))?,
            self.store_device(new.device_file, lock)?,
        ];
        let mut engine =
            self.make_sessions(new.root, new.device, new.number, new.now, Duration::ZERO)?;
        let number = engine.address().device;
        if new.at_hub.is_some() {
            messages::mark_unfinished(&mut engine).map_err(SessionsError::from)?;
        }
        let closed = engine.into_store().close().map_err(EngineError::from);
        closed.map_err(SessionsError::from)?;

        let device = new.device.public();
        let next = self.next_person(new.root, new.at_hub, |before| {
            let mut changes = PersonChanges::new();
            // A device that the hub does not have is one of a recovery that was interrupted.
            let is_known = |number| new.at_hub.is_none_or(|it| it.device(number).is_some());
            for (number, _) in before.devices() {
                if new.others == OtherDevices::Revoke || !is_known(number) {
                    changes.remove(number);
                }
            }
            changes.add(number.into(), device);
            changes
        });
        let record = match next? {
            // The same person: a hub that knows the record accepts the one that follows it.
            Some(record) => record,
            None => PersonRecord::create(new.root, number.into(), device, &mut OsRandom)
                .map_err(PersonError::from)?,
        };
        self.store_person(&record, lock)?;
        let old_identity = self.store_identity(new.root_file, existing, lock)?;
        Ok(Installed { number, old_identity, old: old.into_iter().flatten().collect() })
    }
}

/// Why a state directory has no new root and device.
#[derive(Debug)]
#[non_exhaustive]
pub enum InstallError {
    /// A file or folder cannot be written or moved aside.
    File(FileError),
    /// There is a device with conversations, although the identity file is missing.
    HasDevice,
    /// The identity file cannot be read or written, or exists and must be kept.
    Identity(IdentityError),
    /// A running `endseal up` process uses the store.
    InUse,
    /// Another device of the identity has this number, which is never assigned to another key.
    NumberUsed(DeviceId),
    /// The person record cannot be created or written.
    Person(PersonError),
    /// The store cannot be created.
    Sessions(SessionsError),
}

impl From<FileError> for InstallError {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

impl From<IdentityError> for InstallError {
    fn from(error: IdentityError) -> Self {
        Self::Identity(error)
    }
}

impl From<PersonError> for InstallError {
    fn from(error: PersonError) -> Self {
        Self::Person(error)
    }
}

impl From<SessionsError> for InstallError {
    fn from(error: SessionsError) -> Self {
        Self::Sessions(error)
    }
}

impl fmt::Display for InstallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => error.fmt(f),
            Self::HasDevice => f.write_str("the device of this state directory has conversations"),
            Self::Identity(error) => error.fmt(f),
            Self::InUse => f.write_str("endseal up uses the store"),
            Self::NumberUsed(number) => write!(f, "{number} is the number of another device"),
            Self::Person(error) => error.fmt(f),
            Self::Sessions(error) => error.fmt(f),
        }
    }
}

impl error::Error for InstallError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::File(error) => error.source(),
            Self::Identity(error) => error.source(),
            Self::HasDevice | Self::InUse | Self::NumberUsed(_) => None,
            Self::Person(error) => error.source(),
            Self::Sessions(error) => error.source(),
        }
    }
}
