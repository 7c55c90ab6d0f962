//! Ciphertexts of the outbox that go to a hub (docs/spec/node.md, "Store").

use endseal_crypto::peer_id::PeerId;
use endseal_session::olm::OlmAccount;
use endseal_session::{EngineError, EngineTransaction};

/// Kind of the records that hold a [`Target`].
pub(crate) const FRAME: u16 = 5;
/// Records that are read from the store at once.
const PAGE: usize = 32;

/// Receivers of a ciphertext in the outbox, and the text that it holds.
#[derive(Clone)]
pub(crate) struct Target {
    /// Number of the text's row in the history; 0 for a receipt.
    pub(crate) row: u64,
    /// For a letter, the epoch of its roster. For a message of a session, the number of other
    /// devices that received the text or may still receive it.
    pub(crate) epoch: u64,
    /// Receiving devices. Each has its slot of a letter; for a message of a session the slot is
    /// empty.
    pub(crate) mailboxes: Vec<(PeerId, Vec<u8>)>,
}

impl Target {
    /// Target of a message of a session: one device, the row, and the number of other devices that
    /// receive the same text.
    pub(crate) fn device(peer: PeerId, row: u64, others: usize) -> Self {
        Self { row, epoch: others as u64, mailboxes: vec![(peer, Vec::new())] }
    }

    /// Target of a receipt: one device and no row.
    pub(crate) fn receipt(peer: PeerId) -> Self {
        Self::device(peer, 0, 0)
    }

    pub(crate) fn is_receipt(&self) -> bool {
        self.row == 0
    }

    pub(crate) fn put(
        &self,
        transaction: &EngineTransaction<'_, '_, OlmAccount>,
        sequence: u64,
    ) -> Result<(), EngineError> {
        let mut value = [self.row.to_le_bytes(), self.epoch.to_le_bytes()].concat();
        let count = u16::try_from(self.mailboxes.len()).unwrap_or(u16::MAX);
        value.extend_from_slice(&count.to_le_bytes());
        value.extend_from_slice(&self.peers());
        value.extend_from_slice(&self.slots());
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

    /// Returns the number of the first waiting frame that is not a receipt.
    pub(crate) fn first_text(
        transaction: &EngineTransaction<'_, '_, OlmAccount>,
    ) -> Result<Option<u64>, EngineError> {
        let mut after = Vec::new();
        loop {
            let page = transaction.records_after(FRAME, &after, 1)?;
            let Some((name, value)) = page.into_iter().next() else { return Ok(None) };
            let (number, target) = Self::in_record(&name, &value)?;
            if !target.is_receipt() {
                return Ok(Some(number));
            }
            after = name;
        }
    }

    /// Counts the waiting frames that are not receipts.
    pub(crate) fn count_texts(
        transaction: &EngineTransaction<'_, '_, OlmAccount>,
    ) -> Result<u64, EngineError> {
        let mut count = 0;
        Self::each(transaction, &mut |_, target| count += u64::from(!target.is_receipt()))?;
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
        let (epoch, rest) = rest.split_first_chunk::<8>()?;
        let (count, rest) = rest.split_first_chunk::<2>()?;
        let count = usize::from(u16::from_le_bytes(*count));
        let (peers, slots) = rest.split_at_checked(count * PeerId::LEN)?;
        let (peers, _) = peers.as_chunks::<{ PeerId::LEN }>();
        let len = slots.len().checked_div(count)?;
        if len * count != slots.len() {
            return None;
        }
        let mailbox = |(at, peer)| (PeerId::from_bytes(peer), slots[at * len..][..len].to_vec());
        Some(Self {
            row: u64::from_le_bytes(*row),
            epoch: u64::from_le_bytes(*epoch),
            mailboxes: peers.iter().enumerate().map(mailbox).collect(),
        })
    }

    /// Concatenates the peer ids.
    pub(crate) fn peers(&self) -> Vec<u8> {
        self.mailboxes.iter().flat_map(|(peer, _)| *peer.as_bytes()).collect()
    }

    /// Concatenates the slots, in the order of the peer ids.
    pub(crate) fn slots(&self) -> Vec<u8> {
        self.mailboxes.iter().flat_map(|(_, slot)| slot).copied().collect()
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
