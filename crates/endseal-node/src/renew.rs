//! New keys for a device whose state went back in time, or whose keys another copy has.

use core::time::Duration;
use core::{error, fmt};
use std::fs;

use endseal_crypto::identity::Identity;
use endseal_crypto::random::OsRandom;
use endseal_keyring::device::DeviceId;
use endseal_keyring::person::PersonChanges;
use endseal_keyring::{IdentityFile, PersonRecord};
use endseal_session::{Engine, EngineError};
use endseal_store::{OpenStoreError, Protection, ReprotectError};

use crate::atomic::{Existing, Readers, write_file};
use crate::error::FileError;
use crate::home::{Home, HomeLock};
use crate::identity::{self, IdentityError};
use crate::messages::{self, SharedEngine};
use crate::person::{self, PersonError};
use crate::sessions::{self, SessionsError};

/// Name of the device file that is about to take the place of the present one.
const NEXT_DEVICE: &str = "device.endseal.next";

/// New keys of a device.
#[allow(missing_debug_implementations, reason = "it holds secrets")]
#[allow(clippy::exhaustive_structs, reason = "all that is needed")]
pub struct NewDeviceKeys<'a> {
    /// The root identity, which signs.
    pub root: &'a Identity,
    /// The identity of the device until now, under which its store opens.
    pub before: &'a Identity,
    /// The new identity of the device.
    pub device: &'a Identity,
    /// The new identity in its file.
    pub device_file: &'a IdentityFile,
    /// The person record that the hub has.
    pub at_hub: &'a PersonRecord,
    /// Milliseconds since 1970, for the certificate.
    pub now: u64,
}

impl Home {
    /// Gives this device new keys and a new number under the same identity. History, inbox,
    /// contacts and groups stay. The next epoch of the person record has the new device in the
    /// place of the old one; the caller MUST register it. Texts that no device confirmed are sent
    /// again then.
    ///
    /// May be called again with the same keys if it was interrupted.
    ///
    /// # Errors
    /// [`RenewError`]; nothing is lost, and the call may be repeated.
    pub fn renew_device(
        &self,
        new: &NewDeviceKeys<'_>,
        lock: &HomeLock,
    ) -> Result<DeviceId, RenewError> {
        let mut engine = self.sessions_to_renew(new.before, new.device, Duration::ZERO)?;
        let next = self.file(NEXT_DEVICE);
        let former = if sessions::is_of(&engine, new.device) {
            engine.transaction(|transaction| messages::former_keys(transaction))?
        } else {
            // The file first: from here on, the new keys are on the disk.
            write_file(&next, new.device_file.as_bytes(), Existing::Replace, Readers::Owner)?;
            let before = *new.before.public().ed25519();
            let former = messages::begin_anew(&SharedEngine::new(&mut engine), &before)?;
            let number = sessions::random_device()?;
            let of_before = engine.address().device.number();
            if let Some(name) = messages::device_name(&mut engine, of_before)? {
                messages::name_device(&mut engine, number.number(), &name)?;
            }
            let made = sessions::new_device(new.root, new.device, number, new.now);
            engine = engine.renew(made, &mut OsRandom)?;
            former
        };
        engine.transaction(|transaction| messages::forget_hub_numbers(transaction))?;
        let number = engine.address().device;
        let record = self.next_person(new.root, Some(new.at_hub), |base| {
            let mut changes = PersonChanges::new();
            for (number, _) in base.devices().filter(|(_, key)| former.contains(key)) {
                changes.remove(number);
            }
            if base.device(number.into()).is_none() {
                changes.add(number.into(), new.device.public());
            }
            changes
        });
        let record = record?.ok_or(PersonError::Missing(self.file(person::FOLDER)))?;
        self.store_person(&record, lock)?;
        let key = sessions::outer_key(new.device);
        engine.store().reprotect(Protection::OuterKey(&key), &mut OsRandom)?;
        engine.into_store().close().map_err(EngineError::from)?;
        let path = self.device_path();
        fs::rename(&next, &path).map_err(|source| FileError::io("replace", &path, source))?;
        Ok(number)
    }

    /// Keys that a renewal which was interrupted has left; the next one takes them.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub fn next_device(&self) -> Result<Option<IdentityFile>, IdentityError> {
        match identity::read(self.file(NEXT_DEVICE)) {
            Ok(file) => Ok(Some(file)),
            Err(IdentityError::Missing(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens the store, which an interrupted renewal may have put under the new keys.
    ///
    /// # Errors
    /// [`SessionsError`].
    pub fn sessions_to_renew(
        &self,
        before: &Identity,
        device: &Identity,
        wait: Duration,
    ) -> Result<Engine, SessionsError> {
        let store = self.store(before, wait).or_else(|error| match error {
            SessionsError::Open { error: OpenStoreError::Authentication, .. } => {
                self.store(device, wait)
            }
            error => Err(error),
        });
        Ok(Engine::open(store?)?)
    }
}

/// Why a device has no new keys.
#[derive(Debug)]
#[non_exhaustive]
pub enum RenewError {
    /// A file of the state directory.
    File(FileError),
    /// The person record.
    Person(PersonError),
    /// The store cannot be opened.
    Sessions(SessionsError),
    /// The store cannot be written.
    Engine(EngineError),
    /// The store cannot be put under the new key.
    Reprotect(ReprotectError),
}

macro_rules! from {
    ($($error:ty => $variant:ident),+) => {$(
        impl From<$error> for RenewError {
            fn from(error: $error) -> Self {
                Self::$variant(error)
            }
        }
    )+};
}

from!(
    FileError => File,
    PersonError => Person,
    SessionsError => Sessions,
    EngineError => Engine,
    ReprotectError => Reprotect
);

impl fmt::Display for RenewError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => error.fmt(f),
            Self::Person(error) => error.fmt(f),
            Self::Sessions(error) => error.fmt(f),
            Self::Engine(error) => error.fmt(f),
            Self::Reprotect(_) => f.write_str("cannot write the key file of the store"),
        }
    }
}

impl error::Error for RenewError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::File(error) => error.source(),
            Self::Person(error) => error.source(),
            Self::Sessions(error) => error.source(),
            Self::Engine(error) => error.source(),
            Self::Reprotect(error) => Some(error),
        }
    }
}
