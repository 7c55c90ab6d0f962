//! Ciphertexts of the outbox that go to a hub (docs/spec/node.md, "Store").

use endseal_crypto::peer_id::PeerId;
use endseal_session::olm::OlmAccount;
use endseal_session::{EngineError, EngineTransaction};

use super::payload::HubGroupId;

/// Kind of the records that hold a [`Target`].
pub(crate) const FRAME: u16 = 5;
/// Records that are read from the store at once.
const PAGE: usize = 32;

/// Receivers of a ciphertext in the outbox, and the text that it holds.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Target {
    /// Number of the text's row in the history; 0 for everything that is no text.
    pub(crate) row: u64,
    /// Group in which the ciphertext was made; `None` for a part of an archive.
    pub(crate) group: Option<HubGroupId>,
    /// Receiving devices. None stands for all members of the group but this device.
    pub(crate) mailboxes: Vec<PeerId>,
}

impl Target {
    /// Target of a message for all members of a group.
    pub(crate) fn members(group: HubGroupId, row: u64) -> Self {
        Self { row, group: Some(group), mailboxes: Vec::new() }
    }

    /// Target of a note for one member of a group.
    pub(crate) fn member(group: HubGroupId, peer: PeerId) -> Self {
        Self { row: 0, group: Some(group), mailboxes: vec![peer] }
    }

    /// Target of a part of an archive.
    pub(crate) fn archive(peer: PeerId) -> Self {
        Self { row: 0, group: None, mailboxes: vec![peer] }
    }

    pub(crate) fn is_text(&self) -> bool {
        self.row > 0
    }

    /// Writes the record: row (8) || 1 if there is a group (1) || group (16) || peer ids.
    pub(crate) fn put(
        &self,
        transaction: &EngineTransaction<'_, '_, OlmAccount>,
        sequence: u64,
    ) -> Result<(), EngineError> {
        let mut value = self.row.to_le_bytes().to_vec();
        value.push(self.group.is_some().into());
        value.extend_from_slice(&self.group.unwrap_or_default());
        value.extend_from_slice(&self.peers());
        transaction.put_record(FRAME, &sequence.to_be_bytes(), &value)
    }

    /// Reads the target of a ciphertext. Returns `None` if the ciphertext does not go to a hub.
    pub(crate) fn of(
        transaction: &EngineTransaction<'_, '_, OlmAccount>,
        sequence: u64,
    ) -> Result<Option<Self>, EngineError> {
        let Some(value) = transaction.record(FRAME, &sequence.to_be_bytes())? else {
            return Ok(None);
        };
        Self::read(&value).map(Some).ok_or(EngineError::Damaged("frame"))
    }

    /// Calls `work` with the number and target of each waiting frame, in ascending order.
    pub(crate) fn each(
        transaction: &EngineTransaction<'_, '_, OlmAccount>,
        work: &mut dyn FnMut(u64, Self),
    ) -> Result<(), EngineError> {
        let mut after = Vec::new();
        loop {
            let page = transaction.records_after(FRAME, &after, PAGE)?;
            let Some((last, _)) = page.last() else { return Ok(()) };
            after.clone_from(last);
            for (name, value) in &page {
                let (number, target) = Self::in_record(name, value)?;
                work(number, target);
            }
        }
    }

    /// Returns the number of the first waiting frame that is a text.
    pub(crate) fn first_text(
        transaction: &EngineTransaction<'_, '_, OlmAccount>,
    ) -> Result<Option<u64>, EngineError> {
        let mut after = Vec::new();
        loop {
            let page = transaction.records_after(FRAME, &after, 1)?;
            let Some((name, value)) = page.into_iter().next() else { return Ok(None) };
            let (number, target) = Self::in_record(&name, &value)?;
            if target.is_text() {
                return Ok(Some(number));
            }
            after = name;
        }
    }

    /// Counts the waiting frames that are texts.
    pub(crate) fn count_texts(
        transaction: &EngineTransaction<'_, '_, OlmAccount>,
    ) -> Result<u64, EngineError> {
        let mut count = 0;
        Self::each(transaction, &mut |_, target| count += u64::from(target.is_text()))?;
        Ok(count)
    }

    /// Decodes a record into the number of the frame and its target.
    fn in_record(name: &[u8], value: &[u8]) -> Result<(u64, Self), EngineError> {
        let number = name.try_into().map(u64::from_be_bytes).ok();
        let frame = number.and_then(|number| Some((number, Self::read(value)?)));
        frame.ok_or(EngineError::Damaged("frame"))
    }

    fn read(value: &[u8]) -> Option<Self> {
        let (row, rest) = value.split_first_chunk::<8>()?;
        let (&has_group, rest) = rest.split_first()?;
        let (group, peers) = rest.split_first_chunk()?;
        let (peers, []) = peers.as_chunks::<{ PeerId::LEN }>() else { return None };
        Some(Self {
            row: u64::from_le_bytes(*row),
            group: (has_group == 1).then_some(*group),
            mailboxes: peers.iter().map(PeerId::from_bytes).collect(),
        })
    }

    /// Concatenates the peer ids.
    pub(crate) fn peers(&self) -> Vec<u8> {
        self.mailboxes.iter().flat_map(|peer| *peer.as_bytes()).collect()
    }

    /// Removes a ciphertext that need not be sent any more, and its record.
    pub(crate) fn settle(
        transaction: &EngineTransaction<'_, '_, OlmAccount>,
        sequence: u64,
    ) -> Result<(), EngineError> {
        transaction.sent(sequence)?;
        transaction.remove_record(FRAME, &sequence.to_be_bytes())?;
        Ok(())
    }
}
