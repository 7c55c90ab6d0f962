//! Confirmations from persons' devices that texts arrived.

use endseal_crypto::ed25519::PublicKey;
use endseal_keyring::PersonRecord;
use endseal_keyring::device::Address;
use endseal_session::EngineError;

use super::receipt::TextReceipt;
use super::records::{self, CONFIRMED, PERSON, Transaction};
use super::runs::Runs;
use super::text_id::TextId;

/// Limit on the runs that are stored for a device: 16 KiB. Beyond it, the oldest texts are counted
/// as not delivered again.
const MAX_RUNS: usize = 1_024;
/// Limit on the confirmations of a person's devices that are read at once. A person has at most 16
/// devices.
const MAX_DEVICES: usize = 64;

/// Numbers of the texts that a device has confirmed.
struct Confirmed {
    /// Key of the device. A device that has the same number and another key has confirmed nothing.
    key: [u8; PublicKey::LEN],
    runs: Runs,
}

impl Confirmed {
    fn read(value: &[u8]) -> Result<Self, EngineError> {
        let parts = value.split_first_chunk();
        let found = parts.and_then(|(key, runs)| Some(Self { key: *key, runs: Runs::read(runs)? }));
        found.ok_or(EngineError::Damaged("confirmation"))
    }

    fn to_bytes(&self) -> Vec<u8> {
        [&self.key[..], &self.runs.to_bytes()].concat()
    }
}

/// Stores the receipts of a device. Receipts are ignored if the person does not have the device, or
/// if they belong to another series or to texts that were never written. Reads a constant number of
/// records.
pub(super) fn take(
    transaction: &Transaction<'_, '_>,
    from: &Address,
    receipts: &[TextReceipt],
) -> Result<(), EngineError> {
    let Some(last) = TextId::last(transaction, &from.identity)? else { return Ok(()) };
    let is_of_texts = |it: &&TextReceipt| it.series == last.series && it.runs.last() <= last.number;
    let mut receipts = receipts.iter().filter(is_of_texts).peekable();
    if receipts.peek().is_none() {
        return Ok(());
    }
    let Some(person) = person(transaction, &from.identity)? else { return Ok(()) };
    let Some(device) = person.device(from.device.into()) else { return Ok(()) };
    let key = *device.ed25519().as_bytes();
    let name = records::device_name(from);
    let known = transaction.record(CONFIRMED, &name)?;
    let known = known.map(|value| Confirmed::read(&value)).transpose()?;
    if known.is_none() {
        forget_removed(transaction, &from.identity, &person)?;
    }
    let known = known.filter(|it| it.key == key);
    let mut confirmed = known.unwrap_or(Confirmed { key, runs: Runs::default() });
    let mut has_changed = false;
    for receipt in receipts {
        has_changed |= confirmed.runs.add_all(&receipt.runs, MAX_RUNS);
    }
    if has_changed {
        transaction.put_record(CONFIRMED, &name, &confirmed.to_bytes())?;
    }
    Ok(())
}

/// Returns the numbers of the texts to a person that at least one current device of the person has
/// confirmed.
pub(super) fn confirmed(
    transaction: &Transaction<'_, '_>,
    identity: &PublicKey,
) -> Result<Runs, EngineError> {
    let mut runs = Runs::default();
    let found = of_person(transaction, identity)?;
    if found.is_empty() {
        return Ok(runs);
    }
    let Some(person) = person(transaction, identity)? else { return Ok(runs) };
    for (name, confirmed) in found {
        let device = records::device_in_name(&name).and_then(|it| person.device(it.device.into()));
        if device.is_some_and(|it| *it.ed25519().as_bytes() == confirmed.key) {
            runs.add_all(&confirmed.runs, usize::MAX);
        }
    }
    Ok(runs)
}

/// Returns the confirmations of a person's devices, with the names of their records.
fn of_person(
    transaction: &Transaction<'_, '_>,
    identity: &PublicKey,
) -> Result<Vec<(Vec<u8>, Confirmed)>, EngineError> {
    let prefix = identity.as_bytes();
    let page = transaction.records_after(CONFIRMED, prefix, MAX_DEVICES)?;
    page.into_iter()
        .take_while(|(name, _)| name.starts_with(prefix))
        .map(|(name, value)| Ok((name, Confirmed::read(&value)?)))
        .collect()
}

/// Deletes the confirmations of devices that a person does not have any more, so that there are
/// never more of them than devices.
fn forget_removed(
    transaction: &Transaction<'_, '_>,
    identity: &PublicKey,
    person: &PersonRecord,
) -> Result<(), EngineError> {
    for (name, _) in of_person(transaction, identity)? {
        let device = records::device_in_name(&name).and_then(|it| person.device(it.device.into()));
        if device.is_none() {
            transaction.remove_record(CONFIRMED, &name)?;
        }
    }
    Ok(())
}

/// Returns the newest stored record of a person.
fn person(
    transaction: &Transaction<'_, '_>,
    identity: &PublicKey,
) -> Result<Option<PersonRecord>, EngineError> {
    let record = transaction.record(PERSON, identity.as_bytes())?;
    Ok(record.and_then(|record| PersonRecord::parse(&record).ok()))
}
