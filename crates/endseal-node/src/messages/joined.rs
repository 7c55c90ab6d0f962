//! Groups that this device has joined and not compared with what is known of their persons.

use endseal_crypto::peer_id::PeerId;
use endseal_crypto::secret::Zeroizing;
use endseal_session::{ConversationId, EngineError};

use super::payload::HubGroupId;
use super::records::{JOINED, Transaction};

/// Groups that are read at once.
const PAGE: usize = 256;

/// A group that was joined and not compared with what is known of its persons yet.
pub(super) struct Joined {
    pub(super) by_last_resort: bool,
    /// True if messages of the group were passed over in the inbox.
    pub(super) has_passed: bool,
    /// Device that sent the welcome, and its position.
    pub(super) peer: PeerId,
    pub(super) position: u64,
    /// Number in the inbox up to which messages of a group with this id came before.
    pub(super) noted: u64,
}

impl Joined {
    /// Writes the record: last resort (1) || passed (1) || peer id (32) || position (8)
    /// || number in the inbox (8).
    pub(super) fn put(
        &self,
        transaction: &Transaction<'_, '_>,
        id: &[u8],
    ) -> Result<(), EngineError> {
        let mut value = vec![self.by_last_resort.into(), self.has_passed.into()];
        value.extend_from_slice(self.peer.as_bytes());
        value.extend_from_slice(&self.position.to_le_bytes());
        value.extend_from_slice(&self.noted.to_le_bytes());
        transaction.put_record(JOINED, id, &value)
    }

    fn read(value: &[u8]) -> Option<Self> {
        let (&[by_last_resort @ 0..=1, has_passed @ 0..=1], rest) = value.split_first_chunk()?
        else {
            return None;
        };
        let (peer, rest) = rest.split_first_chunk()?;
        let (position, noted) = rest.split_first_chunk()?;
        Some(Self {
            by_last_resort: by_last_resort == 1,
            has_passed: has_passed == 1,
            peer: PeerId::from_bytes(peer),
            position: u64::from_le_bytes(*position),
            noted: u64::from_le_bytes(noted.try_into().ok()?),
        })
    }

    /// Returns the note of a group. Only this one is newest: reading the inbox changes it.
    pub(super) fn of(
        transaction: &Transaction<'_, '_>,
        id: &[u8],
    ) -> Result<Option<Self>, EngineError> {
        let Some(value) = transaction.record(JOINED, id)? else { return Ok(None) };
        Self::read(&value).map(Some).ok_or(EngineError::Damaged("joined group"))
    }

    /// Returns up to [`PAGE`] such groups.
    pub(super) fn page(
        transaction: &Transaction<'_, '_>,
    ) -> Result<Vec<(HubGroupId, Self)>, EngineError> {
        let page = transaction.records_after(JOINED, &[], PAGE)?;
        let read = |(name, value): &(Vec<u8>, Zeroizing<Vec<u8>>)| {
            let joined = name.as_slice().try_into().ok().zip(Self::read(value));
            joined.ok_or(EngineError::Damaged("joined group"))
        };
        page.iter().map(read).collect()
    }
}

/// Notes that a message of a group was passed over, if the group was not compared yet.
pub(super) fn note_passed(
    transaction: &Transaction<'_, '_>,
    id: &ConversationId,
) -> Result<(), EngineError> {
    let ConversationId::Group(id) = id else { return Ok(()) };
    let Some(joined) = Joined::of(transaction, id)? else { return Ok(()) };
    Joined { has_passed: true, ..joined }.put(transaction, id)
}
