//! Unsent texts become ciphertexts for the devices that a person has now.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use endseal_crypto::ed25519::PublicKey;
use endseal_session::{Address, BeginSessionError, Certificate, EngineError, SendError};
use endseal_store::SessionStatus;

use super::directory::{self, Found};
use super::error::SyncError;
use super::history::HistoryRow;
use super::hub::HubClient;
use super::records::{self, HISTORY, Transaction, UNSENT};
use super::report::{Skipped, SkippedReason, SyncReport};
use super::shared_engine::SharedEngine;
use crate::frame_target::Target;

/// Texts of a transaction.
const PAGE: usize = 256;

/// Persons that were looked for: their devices with sessions.
type Persons = HashMap<PublicKey, Vec<Certificate>>;

/// Encrypts all texts that can be sent, in the order of writing.
pub(super) async fn encrypt_unsent(
    hub: &HubClient<'_>,
    engine: &SharedEngine<'_>,
    report: &mut SyncReport,
) -> Result<(), SyncError> {
    let mut persons = Persons::new();
    let mut after = Vec::new();
    loop {
        let page = engine.transaction(|it| it.records_after(UNSENT, &after, PAGE))?;
        let Some((last, _)) = page.last() else { return Ok(()) };
        after.clone_from(last);
        let mut texts = Vec::new();
        for (name, identity) in &page {
            let number = records::number_in_name(name).ok_or(EngineError::Damaged("unsent"))?;
            let to = identity.as_slice().try_into().ok();
            let to = to.and_then(|to| PublicKey::from_bytes(to).ok());
            let to = to.ok_or(EngineError::Damaged("unsent"))?;
            if let Entry::Vacant(entry) = persons.entry(to) {
                entry.insert(reach(hub, engine, &to, report).await?);
            }
            texts.push((number, to));
        }
        let mut left_out = HashSet::new();
        let sent = engine.transaction(|transaction: &mut Transaction<'_, '_>| {
            let mut sent = HashSet::new();
            for (number, to) in &texts {
                let devices = persons.get(to).map(Vec::as_slice).unwrap_or_default();
                let mut left_out = |device| left_out.insert((*to, device));
                if encrypt(transaction, *number, to, devices, &mut left_out)? {
                    sent.insert(*number);
                }
            }
            Ok::<_, EngineError>(sent)
        })?;
        report.encrypted += sent.len() as u64;
        report.skipped.extend(left_out.into_iter().map(|(person, device)| Skipped {
            person,
            device: Some(device),
            reason: SkippedReason::NoSession,
        }));
    }
}

/// Finds the devices of a person and begins the sessions that are missing. Notes why there are
/// fewer than there could be.
async fn reach(
    hub: &HubClient<'_>,
    engine: &SharedEngine<'_>,
    to: &PublicKey,
    report: &mut SyncReport,
) -> Result<Vec<Certificate>, SyncError> {
    let own = engine.address();
    let mut skip = |device: Option<Address>, reason: SkippedReason| {
        report.skipped.push(Skipped { person: *to, device, reason });
    };
    let devices = match directory::find(hub, engine, to).await? {
        Found::Devices(devices) => devices,
        Found::Unknown => {
            skip(None, SkippedReason::Unknown);
            return Ok(Vec::new());
        }
        Found::Refused => {
            skip(None, SkippedReason::Directory);
            return Ok(Vec::new());
        }
    };
    let mut reached = Vec::new();
    for device in devices {
        let address = device.address();
        if address == own {
            continue;
        }
        let sessions = engine.transaction(|transaction| transaction.sessions(address))?;
        if sessions.iter().any(|it| it.standing == SessionStatus::Active) {
            reached.push(device);
            continue;
        }
        let Some(bundle) = directory::take(hub, &device).await? else {
            skip(Some(address), SkippedReason::NoPrekey);
            continue;
        };
        match engine.transaction(|transaction| transaction.begin_session(address, &bundle)) {
            Ok(()) => reached.push(device),
            Err(BeginSessionError::Engine(error)) => return Err(error.into()),
            Err(_) => skip(Some(address), SkippedReason::Directory),
        }
    }
    Ok(reached)
}

/// Encrypts one text to devices. Returns false, and leaves the text unsent, if there is none. Tells
/// which have no session after all.
fn encrypt(
    transaction: &mut Transaction<'_, '_>,
    number: u64,
    to: &PublicKey,
    devices: &[Certificate],
    left_out: &mut dyn FnMut(Address) -> bool,
) -> Result<bool, EngineError> {
    let name = HistoryRow::name(to, number);
    let value = transaction.record(HISTORY, &name)?.ok_or(EngineError::Damaged("history"))?;
    let row = HistoryRow::read(&name, &value).ok_or(EngineError::Damaged("history"))?;
    let mut is_sent = false;
    for device in devices {
        let sequence = match transaction.encrypt(device.address(), &row.plaintext) {
            Ok(sequence) => sequence,
            Err(SendError::Engine(error)) => return Err(error),
            Err(_) => {
                left_out(device.address());
                continue;
            }
        };
        let target = Target { peer: device.keys().peer_id, row: number };
        target.put(transaction, sequence)?;
        is_sent = true;
    }
    if is_sent {
        transaction.remove_record(UNSENT, &number.to_be_bytes())?;
    }
    Ok(is_sent)
}
