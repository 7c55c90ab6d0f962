//! Encrypts unsent texts for the current devices of their receivers.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use endseal_crypto::ed25519::PublicKey;
use endseal_keyring::device::{Address, Certificate};
use endseal_session::{BeginSessionError, EngineError, SendError};
use endseal_store::SessionStatus;

use super::conversation::Conversation;
use super::directory::{self, Found};
use super::error::SyncError;
use super::history::HistoryRow;
use super::hub::HubClient;
use super::letter_keys::LetterKeys;
use super::letter_recipients::LetterRecipients;
use super::records::{Transaction, UNSENT};
use super::report::{Skipped, SkippedReason, SyncReport};
use super::shared_engine::SharedEngine;
use super::undelivered::is_unsent;
use super::waiting::Waiting;
use crate::frame_target::Target;

/// Receivers of the texts in a conversation.
enum Receivers {
    /// Devices of a person, which have sessions.
    Devices(Vec<Certificate>),
    /// Members of a group; `None` if nothing can be sent to it.
    Members(Option<LetterRecipients>),
}

/// Encrypts all texts that can be sent, in the order in which they were written.
pub(super) async fn encrypt_unsent(
    hub: &HubClient<'_>,
    engine: &SharedEngine<'_>,
    keys: &LetterKeys<'_>,
    report: &mut SyncReport,
) -> Result<(), SyncError> {
    let (mut receivers, mut groups) = (HashMap::new(), None);
    let mut after = 0;
    loop {
        let page = engine.transaction(|it| Waiting::page(it, after))?;
        let Some((last, _)) = page.last() else { return Ok(()) };
        after = *last;
        let mut texts = Vec::new();
        for (number, Waiting { to, .. }) in page {
            if let Entry::Vacant(entry) = receivers.entry(to) {
                entry.insert(match &to {
                    Conversation::Person(person) => {
                        Receivers::Devices(reach(hub, engine, person, report).await?)
                    }
                    Conversation::Group(id) => {
                        let groups = groups.get_or_insert_with(|| keys.groups());
                        let found = LetterRecipients::find(hub, engine, groups, id, report);
                        Receivers::Members(found.await?)
                    }
                });
            }
            texts.push((number, to));
        }
        let mut left_out = HashSet::new();
        let sent = engine.transaction(|transaction: &mut Transaction<'_, '_>| {
            let mut sent = 0;
            for (number, to) in &texts {
                // It may have been cancelled while the hub was asked.
                if !is_unsent(transaction, *number)? {
                    continue;
                }
                let row = HistoryRow::of(transaction, to, *number)?;
                let is_sent = match receivers.get(to) {
                    Some(Receivers::Devices(devices)) => {
                        let mut left_out = |device| left_out.insert((*to, device));
                        encrypt(transaction, &row, devices, &mut left_out)?
                    }
                    Some(Receivers::Members(Some(members))) => {
                        seal(transaction, keys, &row, to, members)?
                    }
                    _ => false,
                };
                if is_sent {
                    transaction.remove_record(UNSENT, &number.to_be_bytes())?;
                    sent += 1;
                }
            }
            Ok::<_, EngineError>(sent)
        })?;
        report.encrypted += sent;
        report.skipped.extend(left_out.into_iter().map(|(to, device)| Skipped {
            to,
            device: Some(device),
            reason: SkippedReason::NoSession,
        }));
    }
}

/// Finds the devices of a person, and establishes missing sessions. Reports the devices that cannot
/// be used.
async fn reach(
    hub: &HubClient<'_>,
    engine: &SharedEngine<'_>,
    to: &PublicKey,
    report: &mut SyncReport,
) -> Result<Vec<Certificate>, SyncError> {
    let own = engine.address();
    let mut skip = |device: Option<Address>, reason: SkippedReason| {
        report.skipped.push(Skipped { to: Conversation::Person(*to), device, reason });
    };
    let devices = match directory::find(hub, engine, to).await? {
        Found::Person(_, devices) => devices,
        Found::Unknown => {
            skip(None, SkippedReason::Unknown);
            return Ok(Vec::new());
        }
        Found::Refused => {
            skip(None, SkippedReason::Directory);
            return Ok(Vec::new());
        }
    };
    if devices.iter().all(|device| device.address() == own) {
        skip(None, SkippedReason::NoDevice);
    }
    let mut reached = Vec::new();
    for device in devices {
        let address = device.address();
        if address == own {
            continue;
        }
        let sessions = engine.transaction(|transaction| transaction.sessions(address))?;
        if sessions.iter().any(|it| it.status == SessionStatus::Active) {
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

/// Encrypts one text to devices. Returns false if it was encrypted to none of them. Calls
/// `left_out` for devices whose session cannot send.
fn encrypt(
    transaction: &mut Transaction<'_, '_>,
    row: &HistoryRow,
    devices: &[Certificate],
    left_out: &mut dyn FnMut(Address) -> bool,
) -> Result<bool, EngineError> {
    let mut sent = Vec::with_capacity(devices.len());
    for device in devices {
        let sequence = match transaction.encrypt(device.address(), &row.plaintext) {
            Ok(sequence) => sequence,
            Err(SendError::Engine(error)) => return Err(error),
            Err(_) => {
                left_out(device.address());
                continue;
            }
        };
        sent.push((sequence, device.keys().peer_id));
    }
    for (sequence, peer) in &sent {
        Target::device(*peer, row.number, sent.len() - 1).put(transaction, *sequence)?;
    }
    Ok(!sent.is_empty())
}

/// Seals one text to the members of a group. Returns false if that fails.
fn seal(
    transaction: &mut Transaction<'_, '_>,
    keys: &LetterKeys<'_>,
    row: &HistoryRow,
    to: &Conversation,
    members: &LetterRecipients,
) -> Result<bool, EngineError> {
    let Some(letter) = members.seal(keys, row.time, &row.plaintext) else { return Ok(false) };
    for mailboxes in letter.frames {
        let sequence = transaction.post(&to.id(), letter.envelope.clone())?;
        let target = Target { row: row.number, epoch: members.epoch(), mailboxes };
        target.put(transaction, sequence)?;
    }
    Ok(true)
}
