//! The store of the state directory, and the sessions in it.
//!
//! The store is `store/`, under a key that follows from the identity's secrets: whoever opens the
//! identity opens the store ([`Identity::store_key`]).

mod error;
mod receive;
mod send;

use core::time::Duration;
use std::path::{Path, PathBuf};

use endseal_crypto::ed25519;
use endseal_crypto::identity::Identity;
use endseal_crypto::peer_id::PeerId;
use endseal_crypto::random::{OsRandom, Random as _};
use endseal_session::{DeviceId, Engine, EngineError, NewDevice};
use endseal_store::{OpenOptions, OpenStoreError, OuterKey, Protection, Store, Unlock};

use crate::home::Home;

pub use error::{SessionsError, TextError};
pub use receive::{ReceiveError, Reception, Tally, receive};
pub use send::{
    Texts, WriteOutboxError, encrypt, encrypt_group, waiting, waiting_welcomes, write_outbox,
    write_welcomes,
};

/// Name of the store's directory.
const NAME: &str = "store";

impl Home {
    /// Where the store is.
    #[must_use]
    pub fn store_path(&self) -> PathBuf {
        self.file(NAME)
    }

    /// Opens the store. Waits at most `wait` for whoever has it open.
    ///
    /// # Errors
    /// [`SessionsError`].
    pub fn store(&self, identity: &Identity, wait: Duration) -> Result<Store, SessionsError> {
        let path = self.store_path();
        let key = outer_key(identity);
        Store::open(&path, Unlock::OuterKey(&key), OpenOptions::new().wait(wait)).map_err(|error| {
            match error {
                OpenStoreError::Missing if path.symlink_metadata().is_err() => {
                    SessionsError::Missing(path)
                }
                error => SessionsError::Open { path, error },
            }
        })
    }

    /// Opens the store and the sessions in it.
    ///
    /// # Errors
    /// [`SessionsError`].
    pub fn sessions(&self, identity: &Identity, wait: Duration) -> Result<Engine, SessionsError> {
        own(Engine::open(self.store(identity, wait)?)?, identity)
    }

    /// Opens the store, making it if there is none, and a device in it if there is none: `device`,
    /// or a random number that no other device of the identity is likely to have. `now` is in
    /// milliseconds since 1970.
    ///
    /// # Errors
    /// [`SessionsError`]; [`SessionsError::OtherDevice`] if there is a device of another number.
    pub fn make_sessions(
        &self,
        identity: &Identity,
        device: Option<DeviceId>,
        now: u64,
        wait: Duration,
    ) -> Result<Engine, SessionsError> {
        let mut store = match self.store(identity, wait) {
            Err(SessionsError::Missing(path)) => {
                let key = outer_key(identity);
                let made = Store::create(&path, Protection::OuterKey(&key), &mut OsRandom);
                made.map_err(|error| SessionsError::Create { path, error })?
            }
            other => other?,
        };
        // A process that was killed in between has left a store without a device.
        let engine = if <Engine>::is_in(&mut store)? {
            Engine::open(store)?
        } else {
            let new = NewDevice {
                identity: identity.signing(),
                device: match device {
                    Some(device) => device,
                    None => random_device()?,
                },
                peer_id: PeerId::of_spki(&identity.transport_key().public_key().to_spki()),
                now,
            };
            Engine::create(store, new, &mut OsRandom)?
        };
        let engine = own(engine, identity)?;
        let there = engine.address().device;
        match device {
            Some(device) if device != there => Err(SessionsError::OtherDevice(there)),
            _ => Ok(engine),
        }
    }

    /// Makes the store from a backup. What may send in it waits for a reset.
    ///
    /// # Errors
    /// [`SessionsError::Restore`]; nothing was changed then.
    pub fn restore_store(
        &self,
        backup: &Path,
        identity: &Identity,
    ) -> Result<Store, SessionsError> {
        let key = outer_key(identity);
        Store::restore(backup, &self.store_path(), Unlock::OuterKey(&key))
            .map_err(|error| SessionsError::Restore { backup: backup.to_owned(), error })
    }
}

/// Returns true if people compared the safety number of that identity, on any of its devices.
#[must_use]
pub fn is_verified(
    known: &[endseal_session::Correspondent],
    identity: &ed25519::PublicKey,
) -> bool {
    known.iter().any(|it| it.verified && it.address.identity == *identity)
}

/// The key fits, so the store was made with these secrets; what it says of itself is checked all
/// the same.
fn own(engine: Engine, identity: &Identity) -> Result<Engine, SessionsError> {
    if engine.address().identity != *identity.public().ed25519() {
        return Err(EngineError::Damaged("the device is of another identity").into());
    }
    Ok(engine)
}

fn outer_key(identity: &Identity) -> OuterKey {
    OuterKey::from_bytes(identity.store_key().expose_secret())
}

fn random_device() -> Result<DeviceId, SessionsError> {
    loop {
        let mut bytes = [0; 4];
        OsRandom.fill(&mut bytes).map_err(|_| EngineError::Random)?;
        if let Some(device) = DeviceId::new(u32::from_le_bytes(bytes)) {
            return Ok(device);
        }
    }
}
