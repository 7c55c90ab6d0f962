//! A hub that moves (docs/spec/delivery.md, "Address note"): its new addresses are stored, tried
//! beside those that are known, and replace them when the hub has answered there.

use endseal_crypto::peer_id::PeerId;
use endseal_keyring::{AddressNote, OpenAddressNoteError};
use endseal_session::EngineError;

use super::hub::HubClient;
use super::hub_move::HubMove;
use super::known_note::KnownNote;
use super::membership::{Membership, membership_in};
use super::records::Transaction;
use super::report::SyncReport;
use super::shared_engine::SharedEngine;

/// Takes the note of a greeting, and notes at which address the hub has answered. Adds to the
/// report what changed.
pub(super) fn note_address(
    hub: &HubClient<'_>,
    engine: &SharedEngine<'_>,
    note: &[u8],
    report: &mut SyncReport,
) -> Result<(), EngineError> {
    let moves = engine.transaction(|transaction: &mut Transaction<'_, '_>| {
        let told = if note.is_empty() { None } else { take(transaction, &hub.peer(), note)? };
        let reached = settle(transaction, hub.addresses())?;
        // A hub that is at its new address already is reached, and moves no more.
        let told =
            told.filter(|it| !(reached.is_some() && matches!(it, HubMove::Announced { .. })));
        Ok::<_, EngineError>([told, reached])
    })?;
    report.hub_moves.extend(moves.into_iter().flatten());
    Ok(())
}

/// Stores the addresses of a note, behind those at which the hub has answered.
fn take(
    transaction: &Transaction<'_, '_>,
    hub: &PeerId,
    note: &[u8],
) -> Result<Option<HubMove>, EngineError> {
    let note = match AddressNote::open(note, hub) {
        Ok(note) => note,
        Err(error) => {
            let class = match error {
                OpenAddressNoteError::Version => "version",
                OpenAddressNoteError::Length => "length",
                OpenAddressNoteError::Key => "key",
                OpenAddressNoteError::Addresses => "addresses",
                _ => "signature",
            };
            return Ok(Some(HubMove::Refused { class: class.to_owned() }));
        }
    };
    let known = KnownNote::load(transaction)?;
    if note.time() <= known.time {
        return Ok((note.time() < known.time).then_some(HubMove::Earlier {}));
    }
    let Some(membership) = membership_in(transaction)? else { return Ok(None) };
    let has = |list: &str, address: &str| list.split(' ').any(|it| it == address);
    let answered = membership.addresses.split(' ').filter(|it| !has(&known.awaited, it));
    let (kept, former): (Vec<_>, Vec<_>) = answered.partition(|it| has(note.addresses(), it));
    let is_news = note.addresses().split(' ').any(|it| !kept.contains(&it));
    let told = note.addresses().to_owned();
    let (addresses, awaited) = match former.is_empty() {
        true => (told.clone(), String::new()),
        false => (format!("{} {told}", former.join(" ")), told.clone()),
    };
    Membership { addresses, ..membership }.put(transaction)?;
    KnownNote { time: note.time(), awaited }.put(transaction)?;
    Ok(is_news.then_some(HubMove::Announced { addresses: told }))
}

/// Forgets the former addresses if the hub was reached at one that it told. `reached` are the
/// addresses under which the connection was made, with a space between two.
fn settle(
    transaction: &Transaction<'_, '_>,
    reached: &str,
) -> Result<Option<HubMove>, EngineError> {
    let KnownNote { time, awaited } = KnownNote::load(transaction)?;
    let is_reached = !awaited.is_empty()
        && reached.split(' ').any(|address| awaited.split(' ').any(|it| it == address));
    let Some(membership) = membership_in(transaction)?.filter(|_| is_reached) else {
        return Ok(None);
    };
    Membership { addresses: awaited.clone(), ..membership }.put(transaction)?;
    KnownNote { time, awaited: String::new() }.put(transaction)?;
    Ok(Some(HubMove::Reached { addresses: awaited }))
}
