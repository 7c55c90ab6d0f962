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

/// Takes receipts of a device in that came in a conversation. Those that are from a device which
/// the person does not have, of a series of another device, or of texts that were never written,
/// change nothing.
pub(super) fn take(
    transaction: &Transaction<'_, '_>,
    conversation: &Conversation,
    from: &Address,
    receipts: &[TextReceipt],
) -> Result<(), EngineError> {
    let mut is_device = None;
    for TextReceipt { series, runs } in receipts {
        let last = TextId::last_in_series(transaction, conversation, series)?;
        let present = TextId::last(transaction, conversation)?;
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
        add(transaction, conversation, series, &from.identity, &runs)?;
    }
    Ok(())
}

/// Counts a text to a person as confirmed by the person: it was deleted on this device, so that
/// nothing is to be sent again.
pub(super) fn settle(
    transaction: &Transaction<'_, '_>,
    conversation: &Conversation,
    by: &PublicKey,
    id: &[u8; 16],
) -> Result<(), EngineError> {
    let Some(TextId { series, number }) = TextId::read(id) else { return Ok(()) };
    // Numbers of others' series are not counted.
    if TextId::last_in_series(transaction, conversation, &series)?.is_none() {
        return Ok(());
    }
    let one = Runs::new(vec![(number, number)]).unwrap_or_default();
    add(transaction, conversation, &series, by, &one)
}

fn add(
    transaction: &Transaction<'_, '_>,
    conversation: &Conversation,
    series: &[u8; SERIES_LEN],
    by: &PublicKey,
    runs: &Runs,
) -> Result<(), EngineError> {
    let name = name(conversation, series, by);
    let mut confirmed = read(transaction.record(CONFIRMED, &name)?.as_deref())?;
    if confirmed.add_all(runs, MAX_RUNS) {
        transaction.put_record(CONFIRMED, &name, &confirmed.to_bytes())?;
    }
    Ok(())
}

/// Name of a record: that of the series, and of a team || identity of who confirms (32).
fn name(conversation: &Conversation, series: &[u8; SERIES_LEN], by: &PublicKey) -> Vec<u8> {
    let mut name = series_name(conversation, series);
    if let Conversation::Group(_) = conversation {
        name.extend_from_slice(by.as_bytes());
    }
    name
}

fn read(value: Option<&Vec<u8>>) -> Result<Runs, EngineError> {
    let runs = value.map(|value| Runs::read(value).ok_or(EngineError::Damaged("confirmation")));
    Ok(runs.transpose()?.unwrap_or_default())
}

/// Returns the numbers of the texts of a series that at least one device of a person has confirmed,
/// also one that was replaced since.
pub(super) fn confirmed(
    transaction: &Transaction<'_, '_>,
    conversation: &Conversation,
    series: &[u8; SERIES_LEN],
    by: &PublicKey,
) -> Result<Runs, EngineError> {
    read(transaction.record(CONFIRMED, &name(conversation, series, by))?.as_deref())
}

/// Returns the newest stored record of a person.
fn person(
    transaction: &Transaction<'_, '_>,
    identity: &PublicKey,
) -> Result<Option<PersonRecord>, EngineError> {
    let record = transaction.record(PERSON, identity.as_bytes())?;
    Ok(record.and_then(|record| PersonRecord::parse(&record).ok()))
}
