//! Names of this person's devices, as the person calls them (docs/spec/node.md, "Device names").

use core::fmt;

use endseal_session::{Engine, EngineError};
use serde::{Deserialize, Serialize};

use super::records::{DEVICE_NAME, Transaction};

/// Limit on the length of a name in bytes.
const MAX_LEN: usize = 64;

/// Name of a device, such as "laptop": 1 to 64 bytes without control characters, and without white
/// space at its ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DeviceName(String);

impl DeviceName {
    /// Checks a name. Returns `None` if it is empty, too long, or has other characters than the
    /// type allows.
    #[must_use]
    pub fn new(name: &str) -> Option<Self> {
        let is_valid = !name.is_empty()
            && name.len() <= MAX_LEN
            && name.trim() == name
            && !name.chars().any(char::is_control);
        is_valid.then(|| Self(name.to_owned()))
    }

    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DeviceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for DeviceName {
    type Error = &'static str;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        Self::new(&name).ok_or("not a name of a device")
    }
}

impl From<DeviceName> for String {
    fn from(name: DeviceName) -> Self {
        name.0
    }
}

/// A device of this person and its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NamedDevice {
    /// Number of the device.
    pub device: u32,
    /// Name of the device.
    pub name: DeviceName,
}

/// Names a device of this person on this device. Other devices of the person do not learn the name,
/// except those that this device links later. The name stays when the device is revoked.
///
/// # Errors
/// Returns [`EngineError`] if the store fails.
pub fn name_device(engine: &mut Engine, device: u32, name: &DeviceName) -> Result<(), EngineError> {
    engine.transaction(|transaction| {
        transaction.put_record(DEVICE_NAME, &device.to_be_bytes(), name.0.as_bytes())
    })
}

/// Returns the name of a device of this person, if this device knows one.
///
/// # Errors
/// Returns [`EngineError`] if the store fails.
pub fn device_name(engine: &mut Engine, device: u32) -> Result<Option<DeviceName>, EngineError> {
    engine.transaction(|transaction| of(transaction, device))
}

/// Returns the name of a device of this person.
pub(super) fn of(
    transaction: &Transaction<'_, '_>,
    device: u32,
) -> Result<Option<DeviceName>, EngineError> {
    let value = transaction.record(DEVICE_NAME, &device.to_be_bytes())?;
    value.map(|value| read(&value)).transpose()
}

/// Returns all names, in ascending order of the numbers.
pub(super) fn all(transaction: &Transaction<'_, '_>) -> Result<Vec<NamedDevice>, EngineError> {
    const PAGE: usize = 256;
    let (mut after, mut found) = (Vec::new(), Vec::new());
    loop {
        let page = transaction.records_after(DEVICE_NAME, &after, PAGE)?;
        let Some((last, _)) = page.last() else { return Ok(found) };
        after.clone_from(last);
        for (number, value) in page {
            let number = number.as_slice().try_into().map_err(|_| damaged())?;
            found.push(NamedDevice { device: u32::from_be_bytes(number), name: read(&value)? });
        }
    }
}

/// Returns true if a record of an archive names a device.
pub(super) fn is_record(name: &[u8], value: &[u8]) -> bool {
    name.len() == 4 && read(value).is_ok()
}

fn read(value: &[u8]) -> Result<DeviceName, EngineError> {
    str::from_utf8(value).ok().and_then(DeviceName::new).ok_or_else(damaged)
}

const fn damaged() -> EngineError {
    EngineError::Damaged("device name")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_one_short_line() {
        for name in ["laptop", "Alice's phone", "Büro 2", &"x".repeat(MAX_LEN)] {
            assert_eq!(DeviceName::new(name).unwrap().as_str(), name);
        }
        for name in ["", " ", " laptop", "laptop ", "lap\ntop", "\u{1b}[2J", &"x".repeat(65)] {
            assert_eq!(DeviceName::new(name), None, "{name:?}");
        }
    }
}
