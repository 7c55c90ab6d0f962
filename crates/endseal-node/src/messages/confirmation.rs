//! Confirmations from persons' devices that texts arrived.

use endseal_crypto::ed25519::PublicKey;
use endseal_keyring::PersonRecord;
use endseal_keyring::device::Address;
use endseal_session::EngineError;

use super::conversation::Conversation;
use super::receipt::TextReceipt;
use super::records::{CONFIRMED, PERSON, Transaction};
use super::runs::Runs;
use super::text_id::{SERIES_LEN, TextId, series_name};

/// Runs that are kept of a series: 16 KiB. Beyond, the oldest texts count as not delivered again.
const MAX_RUNS: usize = 1_024;

/// Takes receipts of a device in. Those that are from a device which the person does not have, of a
/// series of another device, or of texts that were never written, change nothing.
pub(super) fn take(
    transaction: &Transaction<'_, '_>,
    from: &Address,
    receipts: &[TextReceipt],
) -> Result<(), EngineError> {
    let (mut is_device, of) = (None, Conversation::Person(from.identity));
    for TextReceipt { series, runs } in receipts {
        let last = TextId::last_in_series(transaction, &of, series)?;
        let present = TextId::last(transaction, &of)?;
        let is_present = present.is_some_and(|it| it.series == *series);
        // Of a series that ended when the state had gone back in time, more numbers have arrived
        // than this state gave.
        let known = last.and_then(|last| match runs.last() > last && is_present {
            true => None,
            false => runs.up_to(last),
        });
        let Some(runs) = known else { continue };
        let is_device = match is_device {
            Some(known) => known,
            None => *is_device.insert(
                person(transaction, &from.identity)?
                    .is_some_and(|person| person.device(from.device.into()).is_some()),
            ),
        };
        if !is_device {
            return Ok(());
        }
        let mut confirmed = confirmed(transaction, &from.identity, series)?;
        if confirmed.add_all(&runs, MAX_RUNS) {
            let name = series_name(&of, series);
            transaction.put_record(CONFIRMED, &name, &confirmed.to_bytes())?;
        }
    }
    Ok(())
}

/// Counts a text to a person as confirmed: it was deleted on this device, so that nothing is to be
/// sent again.
pub(super) fn settle(
    transaction: &Transaction<'_, '_>,
    person: &PublicKey,
    id: &[u8; 16],
) -> Result<(), EngineError> {
    let Some(TextId { series, number }) = TextId::read(id) else { return Ok(()) };
    // Numbers of others' series are not counted.
    let of = Conversation::Person(*person);
    if TextId::last_in_series(transaction, &of, &series)?.is_none() {
        return Ok(());
    }
    let mut confirmed = confirmed(transaction, person, &series)?;
    if confirmed.add(number, number, MAX_RUNS) {
        let name = series_name(&of, &series);
        transaction.put_record(CONFIRMED, &name, &confirmed.to_bytes())?;
    }
    Ok(())
}

/// Numbers of the texts of a series to a person that at least one device of the person has
/// confirmed, also one that was replaced since.
pub(super) fn confirmed(
    transaction: &Transaction<'_, '_>,
    identity: &PublicKey,
    series: &[u8; SERIES_LEN],
) -> Result<Runs, EngineError> {
    match transaction.record(CONFIRMED, &series_name(&Conversation::Person(*identity), series))? {
        Some(value) => Runs::read(&value).ok_or(EngineError::Damaged("confirmation")),
        None => Ok(Runs::default()),
    }
}

/// Returns the newest stored record of a person.
fn person(
    transaction: &Transaction<'_, '_>,
    identity: &PublicKey,
) -> Result<Option<PersonRecord>, EngineError> {
    let record = transaction.record(PERSON, identity.as_bytes())?;
    Ok(record.and_then(|record| PersonRecord::parse(&record).ok()))
}
