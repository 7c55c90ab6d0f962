//! Notices that a person has another device, or one less (docs/spec/node.md, "Device changes").

use endseal_crypto::ed25519::PublicKey;
use endseal_keyring::PersonRecord;
use endseal_keyring::device::{Address, DeviceId};
use endseal_session::{Engine, EngineError};
use serde::{Deserialize, Serialize};

use super::device_name::{self, DeviceName};
use super::records::{self, COUNTER, DEVICE_CHANGE, Transaction};
use crate::wire_text;

/// Notices of one person that are kept; of more the oldest are dropped.
const KEPT: usize = 64;
/// Notices that are read at once.
const PAGE: usize = 256;

/// A device that a person has newly, or has no more, as the person's root signed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DeviceChange {
    /// Its number: later changes have higher ones.
    pub number: u64,
    /// When this device learned of it, in milliseconds since 1970.
    pub time: u64,
    /// The person.
    #[serde(with = "wire_text::identity")]
    pub person: PublicKey,
    /// The number of the device.
    pub device: u32,
    /// The name of the device, if it is one of this person and this device knows a name.
    pub name: Option<DeviceName>,
    /// True if the device is new, false if it was revoked.
    pub is_new: bool,
    /// True if a person has seen the notice.
    pub is_seen: bool,
}

impl DeviceChange {
    fn read(name: &[u8], value: &[u8]) -> Option<Self> {
        let (person, number) = name.split_first_chunk()?;
        let (time, rest) = value.split_first_chunk::<8>()?;
        let (device, flags) = rest.split_first_chunk::<4>()?;
        let &[is_new @ 0..=1, is_seen @ 0..=1] = flags else { return None };
        Some(Self {
            number: records::number_in_name(number)?,
            time: u64::from_le_bytes(*time),
            person: PublicKey::from_bytes(person).ok()?,
            device: u32::from_le_bytes(*device),
            name: None,
            is_new: is_new == 1,
            is_seen: is_seen == 1,
        })
    }

    fn put(&self, transaction: &Transaction<'_, '_>) -> Result<(), EngineError> {
        let name = [&self.person.as_bytes()[..], &self.number.to_be_bytes()].concat();
        let mut value = self.time.to_le_bytes().to_vec();
        value.extend_from_slice(&self.device.to_le_bytes());
        value.extend_from_slice(&[self.is_new.into(), self.is_seen.into()]);
        transaction.put_record(DEVICE_CHANGE, &name, &value)
    }

    /// The device; `None` for a number that no device has.
    #[must_use]
    pub fn address(&self) -> Option<Address> {
        let device = DeviceId::new(self.device)?;
        Some(Address { identity: self.person, device })
    }

    /// Returns true if the change says that this device is new, which its person knows.
    fn announces(&self, device: &Address) -> bool {
        self.is_new && self.address().as_ref() == Some(device)
    }
}

/// Notes the devices in which two records of a person differ.
pub(super) fn note(
    transaction: &Transaction<'_, '_>,
    before: &PersonRecord,
    after: &PersonRecord,
) -> Result<(), EngineError> {
    let person = *after.identity().ed25519();
    let new = after.devices().filter(|(number, _)| before.device(*number).is_none());
    let revoked = before.devices().filter(|(number, _)| after.device(*number).is_none());
    let changes = new.map(|it| (it.0, true)).chain(revoked.map(|it| (it.0, false)));
    let time = records::now();
    for (device, is_new) in changes {
        let number = records::next_number(transaction)?;
        let device = device.get();
        DeviceChange { number, time, person, device, name: None, is_new, is_seen: false }
            .put(transaction)?;
    }
    let kept = of_person(transaction, &person)?;
    for change in kept.iter().rev().skip(KEPT) {
        let name = [&person.as_bytes()[..], &change.number.to_be_bytes()].concat();
        transaction.remove_record(DEVICE_CHANGE, &name)?;
    }
    Ok(())
}

/// The notices of a person, the oldest first.
fn of_person(
    transaction: &Transaction<'_, '_>,
    person: &PublicKey,
) -> Result<Vec<DeviceChange>, EngineError> {
    let prefix = person.as_bytes();
    // One record may have twice 16 changes beyond those that are kept.
    let page = transaction.records_after(DEVICE_CHANGE, prefix, KEPT + 32)?;
    let own = page.iter().take_while(|(name, _)| name.starts_with(prefix));
    own.map(|(name, value)| read(name, value)).collect()
}

fn read(name: &[u8], value: &[u8]) -> Result<DeviceChange, EngineError> {
    DeviceChange::read(name, value).ok_or(EngineError::Damaged("device change"))
}

/// Changes of devices that are kept, of one person or of all, the oldest first.
///
/// # Errors
/// [`EngineError`].
pub fn device_changes(
    engine: &mut Engine,
    person: Option<&PublicKey>,
) -> Result<Vec<DeviceChange>, EngineError> {
    let own = engine.address().identity;
    engine.transaction(|transaction| {
        let mut changes = match person {
            Some(person) => of_person(transaction, person)?,
            None => of_all(transaction)?,
        };
        for change in changes.iter_mut().filter(|change| change.person == own) {
            change.name = device_name::of(transaction, change.device)?;
        }
        Ok(changes)
    })
}

fn of_all(transaction: &Transaction<'_, '_>) -> Result<Vec<DeviceChange>, EngineError> {
    let (mut after, mut found) = (Vec::new(), Vec::new());
    loop {
        let page = transaction.records_after(DEVICE_CHANGE, &after, PAGE)?;
        let Some((last, _)) = page.last() else { break };
        after.clone_from(last);
        for (name, value) in &page {
            found.push(read(name, value)?);
        }
    }
    found.sort_unstable_by_key(|change: &DeviceChange| change.number);
    Ok(found)
}

/// Changes of devices that a person has not seen, the oldest first. The one by which this device
/// became one of the person is left out.
///
/// # Errors
/// [`EngineError`].
pub fn unseen_changes(engine: &mut Engine) -> Result<Vec<DeviceChange>, EngineError> {
    let own = engine.address();
    let mut changes = device_changes(engine, None)?;
    changes.retain(|change| !change.is_seen && !change.announces(&own));
    Ok(changes)
}

/// The number of the last row or notice; changes behind it are later ones.
pub(super) fn last_number(engine: &mut Engine) -> Result<u64, EngineError> {
    engine.transaction(|transaction| records::counter(transaction, COUNTER))
}

/// Returns true if there is a change with a number above `number`.
pub(super) fn is_any_after(
    transaction: &Transaction<'_, '_>,
    number: u64,
) -> Result<bool, EngineError> {
    if records::counter(transaction, COUNTER)? == number {
        return Ok(false);
    }
    let mut after = Vec::new();
    loop {
        let page = transaction.records_after(DEVICE_CHANGE, &after, PAGE)?;
        let Some((last, _)) = page.last() else { return Ok(false) };
        after.clone_from(last);
        for (name, value) in &page {
            if read(name, value)?.number > number {
                return Ok(true);
            }
        }
    }
}

/// Changes with a number above `after`.
pub(super) fn after(engine: &mut Engine, after: u64) -> Result<Vec<DeviceChange>, EngineError> {
    // Nothing has a number since then: this is called with each text that is sent.
    if last_number(engine)? == after {
        return Ok(Vec::new());
    }
    let own = engine.address();
    let mut changes = device_changes(engine, None)?;
    changes.retain(|change| change.number > after && !change.announces(&own));
    Ok(changes)
}

/// Notes that a person has seen the changes up to a number.
///
/// # Errors
/// [`EngineError`].
pub fn mark_changes_seen(engine: &mut Engine, last: u64) -> Result<(), EngineError> {
    engine.transaction(|transaction| {
        for change in of_all(transaction)? {
            if change.number <= last && !change.is_seen {
                DeviceChange { is_seen: true, ..change }.put(transaction)?;
            }
        }
        Ok(())
    })
}
