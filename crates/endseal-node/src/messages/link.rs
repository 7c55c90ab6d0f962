//! Linking of a new device: another device of the person registers it at the hub, and puts an
//! archive into its mailbox (docs/spec/archive.md, "Over a hub").

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Seek as _, Write as _};

use endseal_codec::hub::{Answer, Credit as CreditRequest, Register, Request, Subscribe};
use endseal_crypto::peer_id::PeerId;
use endseal_crypto::random::{OsRandom, Random as _};
use endseal_delivery::Credit;
use endseal_delivery::node::{Arrival, HubFault, Subscription};
use endseal_keyring::device::Certificate;
use endseal_keyring::{JoinToken, PersonRecord};
use endseal_session::{ConversationId, Engine, EngineError};

use super::archive_part::ArchivePart;
use super::error::HubError;
use super::frame_target::Target;
use super::hub::HubClient;
use super::link_error::LinkError;
use super::puts::put_others;
use super::records::{LINKED, LINKING, Transaction};
use super::report::SyncReport;
use super::send_state::SendState;
use super::shared_engine::SharedEngine;

/// Length of a part in bytes.
const PART: usize = 512 * 1024;
/// Parts that wait in the store at once.
const PARTS: usize = 16;
/// Credit of a new device: a few parts are under way.
const CREDIT: Credit = Credit { frames: 64, bytes: 16 << 20 };

/// Registers another device of this person at the hub. The connection is that of a registered
/// device. Without a token the hub must let known persons register.
///
/// # Errors
/// Returns [`HubError`] if the hub refuses, or the connection fails.
pub async fn register_other(
    hub: &HubClient<'_>,
    certificate: &Certificate,
    token: Option<&JoinToken>,
    person: &PersonRecord,
) -> Result<(), HubError> {
    let register = Register {
        token: token.map(|token| *token.expose_secret()),
        certificate: certificate.as_bytes()[..].into(),
        person: person.as_bytes().into(),
    };
    match hub.ask(Request::Register(register)).await? {
        Answer::Welcome(_) => Ok(()),
        _ => Err(HubFault::Unexpected.into()),
    }
}

/// Puts an archive of `len` bytes into the mailbox of a device.
///
/// # Errors
/// Returns [`LinkError`] if the archive cannot be read, the mailbox is full, or the hub, the
/// connection or the store fails. The call may be repeated with a new archive.
pub async fn send_archive(
    hub: &HubClient<'_>,
    engine: &mut Engine,
    to: PeerId,
    mut archive: impl Read,
    len: u64,
) -> Result<(), LinkError> {
    let own = ConversationId::Person(engine.address().identity);
    let engine = &SharedEngine::new(engine);
    let mut id = [0; 16];
    OsRandom.fill(&mut id).map_err(|_| EngineError::Random)?;
    let count = u32::try_from(len.div_ceil(PART as u64)).map_err(|_| LinkError::Full)?;
    let (mut buffer, mut report) = (vec![0; PART], SyncReport::default());
    let state = SendState::default();
    let mut index = 0;
    while index < count {
        let mut posted = Vec::new();
        while index < count && posted.len() < PARTS {
            let rest = len - u64::from(index) * PART as u64;
            let part_len = usize::try_from(rest).unwrap_or(PART).min(PART);
            archive.read_exact(&mut buffer[..part_len]).map_err(LinkError::Archive)?;
            let part = ArchivePart { id, index, count, bytes: &buffer[..part_len] }.to_bytes();
            posted.push(engine.transaction(|transaction: &mut Transaction<'_, '_>| {
                let sequence = transaction.post(&own, part)?;
                Target::archive(to).put(transaction, sequence)?;
                Ok::<_, EngineError>(sequence)
            })?);
            index += 1;
        }
        let put = put_others(hub, engine, &state, HashSet::new(), &mut report).await;
        // What the hub did not take is not put later: a repetition makes another archive.
        let is_whole = engine.transaction(|transaction: &mut Transaction<'_, '_>| {
            let mut is_whole = true;
            for sequence in &posted {
                if Target::of(transaction, *sequence)?.is_some() {
                    Target::settle(transaction, *sequence)?;
                    is_whole = false;
                }
            }
            Ok::<_, EngineError>(is_whole)
        })?;
        put?;
        if !is_whole {
            return Err(LinkError::Full);
        }
    }
    Ok(())
}

/// Receives an archive from the mailbox of this device into a file, and waits for it without a time
/// limit. Returns the device that put it. Nothing is acknowledged: the hub keeps all that waits for
/// the first sync, and this may be called again.
///
/// The content is not authenticated.
///
/// # Errors
/// Returns [`LinkError`] if the device is not registered, the hub or the connection fails, or the
/// file cannot be written.
pub async fn receive_archive(hub: &HubClient<'_>, output: &mut File) -> Result<PeerId, LinkError> {
    let mut exchange = hub.open().await?;
    let Credit { frames, bytes } = CREDIT;
    exchange.send(Request::Subscribe(Subscribe { after: 0, frames, bytes })).await?;
    let mut subscription = Subscription::new(0, CREDIT);
    let mut arrived = None;
    loop {
        let payload = exchange.wait().await?;
        match subscription.answer(&payload).map_err(HubError::Fault)? {
            Arrival::Refused(refused) => return Err(HubError::Refused(refused.code).into()),
            Arrival::Frame { frame, .. } => {
                let peer = PeerId::from_bytes(&frame.stamp().sender);
                if let Some(part) = ArchivePart::read(frame.payload())
                    && take(&mut arrived, peer, part, output).map_err(LinkError::Archive)?
                {
                    return Ok(peer);
                }
            }
            _ => continue,
        }
        let credit = Credit { frames: 1, bytes: payload.len() as u64 };
        subscription.give(credit);
        let Credit { frames, bytes } = credit;
        exchange.send(Request::Credit(CreditRequest { frames, bytes })).await?;
    }
}

/// Archive of which parts have arrived: its sender, its id and the place of the next part.
type Arriving = (PeerId, [u8; 16], u32);

/// Writes a part. Returns true if the archive is whole. A first part begins anew.
fn take(
    arriving: &mut Option<Arriving>,
    peer: PeerId,
    part: ArchivePart<'_>,
    output: &mut File,
) -> io::Result<bool> {
    if part.index == 0 {
        output.set_len(0)?;
        output.rewind()?;
        *arriving = Some((peer, part.id, 0));
    }
    if *arriving != Some((peer, part.id, part.index)) {
        return Ok(false);
    }
    output.write_all(part.bytes)?;
    *arriving = Some((peer, part.id, part.index + 1));
    Ok(part.index + 1 == part.count)
}

/// Notes the device that has linked this one: parts of archives from there are no problem.
///
/// # Errors
/// Returns [`EngineError`] if the store fails.
pub fn note_link(engine: &mut Engine, from: PeerId) -> Result<(), EngineError> {
    engine.transaction(|transaction| transaction.put_record(LINKED, &[], from.as_bytes()))
}

/// Marks a device that was certified by a link, and has no identity file yet.
pub(crate) fn mark_linking(engine: &mut Engine) -> Result<(), EngineError> {
    engine.transaction(|transaction| transaction.put_record(LINKING, &[], &[]))
}

/// Returns true if the link of this device was interrupted and may be repeated.
pub(crate) fn is_linking(engine: &mut Engine) -> Result<bool, EngineError> {
    engine.transaction(|transaction| Ok(transaction.record(LINKING, &[])?.is_some()))
}

/// Notes that the link of this device is done: its identity file is there.
///
/// # Errors
/// Returns [`EngineError`] if the store fails.
pub fn finish_link(engine: &mut Engine) -> Result<(), EngineError> {
    engine.transaction(|transaction| transaction.remove_record(LINKING, &[]).map(drop))
}

/// Returns the device that has linked this one.
pub(super) fn linked_by(transaction: &Transaction<'_, '_>) -> Result<Option<PeerId>, EngineError> {
    let Some(value) = transaction.record(LINKED, &[])? else { return Ok(None) };
    let peer = value.as_slice().try_into().map_err(|_| EngineError::Damaged("linked"))?;
    Ok(Some(PeerId::from_bytes(peer)))
}
