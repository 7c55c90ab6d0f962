//! Devices of a person, as far as this device knows them.

use endseal_crypto::ed25519::PublicKey;
use endseal_keyring::PersonRecord;
use endseal_session::{Engine, EngineError};
use serde::{Deserialize, Serialize};

use super::device_change::{DeviceChange, device_changes};
use super::device_name::{self, NamedDevice};
use super::directory;

/// Devices of a person, as far as this device knows.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Devices {
    /// Numbers of the devices in the newest record, in ascending order.
    pub numbers: Vec<u32>,
    /// Changes that were noted, the oldest first.
    pub changes: Vec<DeviceChange>,
    /// Names of devices, if they are those of this person, also of revoked ones.
    pub names: Vec<NamedDevice>,
}

/// Returns the devices of a person: none if no record of the person was seen.
///
/// # Errors
/// [`EngineError`].
pub fn devices(engine: &mut Engine, person: &PublicKey) -> Result<Devices, EngineError> {
    let record = directory::known(engine, person)?;
    let mut numbers: Vec<u32> =
        record.iter().flat_map(PersonRecord::devices).map(|(number, _)| number.get()).collect();
    numbers.sort_unstable();
    let changes = device_changes(engine, Some(person))?;
    let is_own = engine.address().identity == *person;
    let names = match is_own {
        true => engine.transaction(|transaction| device_name::all(transaction))?,
        false => Vec::new(),
    };
    Ok(Devices { numbers, changes, names })
}
