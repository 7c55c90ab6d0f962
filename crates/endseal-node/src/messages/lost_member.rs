//! Members of a group who still write in one that it replaced: they have got no welcome, or it
//! expired (docs/spec/node.md, "Groups of a conversation").

use endseal_crypto::peer_id::PeerId;
use endseal_keyring::device::Address;
use endseal_session::EngineError;

use super::conversation::Conversation;
use super::hub_groups::HubGroups;
use super::payload::HubGroupId;
use super::records::{self, LOST, Transaction};

/// Members of a group who are brought back at once.
const MAX_LOST: usize = 64;
/// Time in milliseconds within which a member is not brought back again.
const BROUGHT_BACK: u64 = 60 * 60 * 1_000;

/// Notes that a member of the sending group of a conversation, for whom `is_it` is true, still
/// writes in another one.
pub(super) fn note(
    transaction: &mut Transaction<'_, '_>,
    conversation: &Conversation,
    is_it: impl Fn(&Address, &PeerId) -> bool,
) -> Result<(), EngineError> {
    let Some(sending) = HubGroups::of(transaction, conversation)?.first() else { return Ok(()) };
    let members = transaction.group_peers(&sending)?;
    let Some((_, peer)) = members.iter().find(|(address, peer)| is_it(address, peer)) else {
        return Ok(());
    };
    let name = name(&sending, peer);
    let last = match transaction.record(LOST, &name)? {
        Some(time) => records::number(&time).ok_or(EngineError::Damaged("lost member"))?,
        None => 0,
    };
    if records::now().saturating_sub(last) > BROUGHT_BACK {
        transaction.put_record(LOST, &name, &0_u64.to_le_bytes())?;
    }
    Ok(())
}

/// Returns the members of a group who are to be brought back.
pub(super) fn all(
    transaction: &Transaction<'_, '_>,
    group: &HubGroupId,
) -> Result<Vec<PeerId>, EngineError> {
    let page = transaction.records_after(LOST, group, MAX_LOST)?;
    let of_group = page.iter().take_while(|(name, _)| name.starts_with(group));
    let lost = of_group.filter(|(_, time)| records::number(time) == Some(0));
    let peers = lost.map(|(name, _)| Some(PeerId::from_bytes(name.get(16..)?.try_into().ok()?)));
    peers.collect::<Option<_>>().ok_or(EngineError::Damaged("lost member"))
}

/// Notes that a device got a welcome to a group.
pub(super) fn note_welcome(
    transaction: &Transaction<'_, '_>,
    group: &HubGroupId,
    peer: &PeerId,
) -> Result<(), EngineError> {
    let name = name(group, peer);
    match transaction.record(LOST, &name)? {
        Some(_) => transaction.put_record(LOST, &name, &records::now().to_le_bytes()),
        None => Ok(()),
    }
}

/// Name of the record: group (16) || peer id (32). Its value is the time of the last welcome (8), 0
/// if one is due.
fn name(group: &HubGroupId, peer: &PeerId) -> Vec<u8> {
    [&group[..], peer.as_bytes()].concat()
}
