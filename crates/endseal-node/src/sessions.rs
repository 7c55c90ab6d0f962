//! The store of the state directory, and the sessions in it.
//!
//! The store is the folder `store/`. Its key is derived from the secrets of the device: access to
//! the device file gives access to the store ([`Identity::store_key`]).

mod error;
mod receive;
mod send;

use core::time::Duration;
use std::path::{Path, PathBuf};

use endseal_crypto::identity::Identity;
use endseal_crypto::peer_id::PeerId;
use endseal_crypto::random::{OsRandom, Random as _};
use endseal_keyring::device::DeviceId;
use endseal_session::{Engine, EngineError, NewDevice};
use endseal_store::{OpenOptions, OpenStoreError, OuterKey, Protection, Store, Unlock};

use crate::home::Home;

pub use crate::texts::{TextError, Texts};
pub use error::SessionsError;
pub use receive::{ReceiveError, Reception, Tally};
pub use send::{
    WriteOutboxError, encrypt_group, waiting, waiting_welcomes, write_outbox, write_welcomes,
};

/// Name of the folder with the store.
const NAME: &str = "store";

impl Home {
    /// Returns the path of the store, which need not exist.
    #[must_use]
    pub fn store_path(&self) -> PathBuf {
        self.file(NAME)
    }

    /// Opens the store. If another process has it open, waits for at most `wait`.
    ///
    /// # Errors
    /// Returns [`SessionsError::Missing`] if there is no store, and [`SessionsError::Open`] if it
    /// cannot be opened.
    pub fn store(&self, device: &Identity, wait: Duration) -> Result<Store, SessionsError> {
        let path = self.store_path();
        let key = outer_key(device);
        Store::open(&path, Unlock::OuterKey(&key), OpenOptions::new().wait(wait)).map_err(|error| {
            match error {
                OpenStoreError::Missing if path.symlink_metadata().is_err() => {
                    SessionsError::Missing(path)
                }
                error => SessionsError::Open { path, error },
            }
        })
    }

    /// Opens the store and the engine with the sessions in it.
    ///
    /// # Errors
    /// Returns [`SessionsError`] if there is no store, it cannot be opened, or it belongs to
    /// another device.
    pub fn sessions(&self, device: &Identity, wait: Duration) -> Result<Engine, SessionsError> {
        own(Engine::open(self.store(device, wait)?)?, device)
    }

    /// Opens the store. Creates the store, and a device in it, if they do not exist. The device
    /// gets the number `number`, or a random one that no other device of the root is likely to
    /// have. `root` signs its certificate. `now` is in milliseconds since 1970.
    ///
    /// # Errors
    /// Returns [`SessionsError`] if the store cannot be created or opened, and
    /// [`SessionsError::OtherDevice`] if it belongs to a device with another number.
    pub fn make_sessions(
        &self,
        root: &Identity,
        device: &Identity,
        number: Option<DeviceId>,
        now: u64,
        wait: Duration,
    ) -> Result<Engine, SessionsError> {
        let mut store = match self.store(device, wait) {
            Err(SessionsError::Missing(path)) => {
                let key = outer_key(device);
                let made = Store::create(&path, Protection::OuterKey(&key), &mut OsRandom);
                made.map_err(|error| SessionsError::Create { path, error })?
            }
            other => other?,
        };
        // A process that was killed in between has left a store without a device.
        let engine = if <Engine>::is_in(&mut store)? {
            Engine::open(store)?
        } else {
            let number = number.map_or_else(random_device, Ok)?;
            Engine::create(store, new_device(root, device, number, now), &mut OsRandom)?
        };
        let engine = own(engine, device)?;
        let there = engine.address();
        if there.identity != *root.public().ed25519() {
            return Err(EngineError::Damaged("the device is of another identity").into());
        }
        match number {
            Some(number) if number != there.device => Err(SessionsError::OtherDevice(there.device)),
            _ => Ok(engine),
        }
    }

    /// Creates the store from a backup. Sessions in it cannot send before a reset.
    ///
    /// # Errors
    /// Returns [`SessionsError::Restore`] if the backup cannot be restored. Nothing was changed
    /// then.
    pub fn restore_store(&self, backup: &Path, device: &Identity) -> Result<Store, SessionsError> {
        let key = outer_key(device);
        Store::restore(backup, &self.store_path(), Unlock::OuterKey(&key))
            .map_err(|error| SessionsError::Restore { backup: backup.to_owned(), error })
    }
}

/// Checks that the certificate names this device. The key of the store already fits, but the
/// content is verified independently.
fn own(engine: Engine, device: &Identity) -> Result<Engine, SessionsError> {
    if !is_of(&engine, device) {
        return Err(EngineError::Damaged("the certificate is of another device").into());
    }
    Ok(engine)
}

/// Returns true if the sessions are those of a device.
pub(crate) fn is_of(engine: &Engine, device: &Identity) -> bool {
    engine.certificate().keys().peer_id == peer_id(device)
}

/// Facts for the certificate of a device.
pub(crate) fn new_device<'a>(
    root: &'a Identity,
    device: &Identity,
    number: DeviceId,
    now: u64,
) -> NewDevice<'a> {
    NewDevice { identity: root.signing(), device: number, peer_id: peer_id(device), now }
}

pub(crate) fn outer_key(device: &Identity) -> OuterKey {
    OuterKey::from_bytes(device.store_key().expose_secret())
}

pub(crate) fn peer_id(device: &Identity) -> PeerId {
    PeerId::of_spki(&device.transport_key().public_key().to_spki())
}

/// Returns a random number for a device, which no other device of the person is likely to have.
///
/// # Errors
/// Returns [`SessionsError`] if the source of randomness fails.
pub fn random_device() -> Result<DeviceId, SessionsError> {
    loop {
        let mut bytes = [0; 4];
        OsRandom.fill(&mut bytes).map_err(|_| EngineError::Random)?;
        if let Some(device) = DeviceId::new(u32::from_le_bytes(bytes)) {
            return Ok(device);
        }
    }
}
