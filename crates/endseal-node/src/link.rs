//! The state directory of a device that another device of the person links.

use core::time::Duration;

use endseal_crypto::identity::Identity;
use endseal_crypto::random::OsRandom;
use endseal_keyring::device::{Certificate, DeviceKeys};
use endseal_keyring::{IdentityFile, LinkRequest, LinkSecret};
use endseal_session::{Engine, EngineError, PreparedKeys};
use endseal_store::{Protection, Store};

use crate::error::FileError;
use crate::home::{Home, HomeLock};
use crate::install::InstallError;
use crate::messages::{is_linking, mark_linking};
use crate::sessions::{SessionsError, outer_key, peer_id};

impl Home {
    /// Makes the device file and the store of a device that another one is to link, and returns
    /// what the link text says. May be called again with the same device, and returns the same.
    /// Waits for a process that has the store open, at most `wait`.
    ///
    /// # Errors
    /// Returns [`InstallError`] if there is an identity or a device with conversations already, or
    /// a file or the store cannot be made.
    pub fn prepare_link(
        &self,
        device: &Identity,
        device_file: &IdentityFile,
        wait: Duration,
        lock: &HomeLock,
    ) -> Result<LinkRequest, InstallError> {
        let path = self.identity_path();
        if path.symlink_metadata().is_ok() {
            return Err(FileError::Exists(path).into());
        }
        if self.device().is_err() {
            self.store_device(device_file, lock)?;
        }
        let mut store = match self.store(device, wait) {
            Err(SessionsError::Missing(path)) => {
                let key = outer_key(device);
                let made = Store::create(&path, Protection::OuterKey(&key), &mut OsRandom);
                made.map_err(|error| SessionsError::Create { path, error })?
            }
            other => other?,
        };
        // A run that ended between the certificate and the identity file has left a device.
        let is_certified = <Engine>::is_in(&mut store).map_err(SessionsError::from)?;
        let (keys, store) = if is_certified {
            let mut engine = <Engine>::open(store).map_err(SessionsError::from)?;
            // A device that lost its identity file has conversations, which an archive would mix
            // with its own.
            if !is_linking(&mut engine).map_err(SessionsError::from)? {
                return Err(InstallError::HasDevice);
            }
            let DeviceKeys { agreement, signing, group, .. } = *engine.certificate().keys();
            (PreparedKeys { agreement, signing, group }, engine.into_store())
        } else {
            let keys = <Engine>::prepare(&mut store, &mut OsRandom).map_err(SessionsError::from)?;
            (keys, store)
        };
        store.close().map_err(|error| SessionsError::Engine(EngineError::Store(error)))?;
        let PreparedKeys { agreement, signing, group } = keys;
        Ok(LinkRequest {
            secret: LinkSecret::of_device(&device.store_key()),
            device: device.public().clone(),
            peer_id: peer_id(device),
            agreement,
            signing,
            group,
        })
    }

    /// Opens the sessions of a device with the certificate that it got. May be called again. Waits
    /// for a process that has the store open, at most `wait`.
    ///
    /// # Errors
    /// Returns [`SessionsError`] if the certificate is for other keys, or the store cannot be
    /// opened or written.
    pub fn certified_sessions(
        &self,
        device: &Identity,
        certificate: &Certificate,
        wait: Duration,
    ) -> Result<Engine, SessionsError> {
        let mut store = self.store(device, wait)?;
        if <Engine>::is_in(&mut store)? {
            let engine = Engine::open(store)?;
            return match engine.certificate() == certificate {
                true => Ok(engine),
                false => Err(SessionsError::OtherDevice(engine.address().device)),
            };
        }
        let mut engine = Engine::certify(store, certificate.clone())?;
        mark_linking(&mut engine)?;
        Ok(engine)
    }
}
