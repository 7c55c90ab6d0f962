//! Ciphertexts of the outbox that are for a hub (docs/spec/node.md, "Store").

use endseal_crypto::peer_id::PeerId;
use endseal_session::olm::OlmAccount;
use endseal_session::{EngineError, EngineTransaction};

/// Kind of the records.
pub(crate) const FRAME: u16 = 5;

/// Device for which a ciphertext of the outbox is, and the text in it.
pub(crate) struct Target {
    pub(crate) peer: PeerId,
    /// Number of the row in the history.
    pub(crate) row: u64,
}

impl Target {
    pub(crate) fn put(
        &self,
        transaction: &EngineTransaction<'_, '_, OlmAccount>,
        sequence: u64,
    ) -> Result<(), EngineError> {
        let value = [&self.peer.as_bytes()[..], &self.row.to_le_bytes()].concat();
        transaction.put_record(FRAME, &sequence.to_be_bytes(), &value)
    }

    /// The target of a ciphertext; `None` if it is not for a hub.
    pub(crate) fn of(
        transaction: &EngineTransaction<'_, '_, OlmAccount>,
        sequence: u64,
    ) -> Result<Option<Self>, EngineError> {
        let Some(value) = transaction.record(FRAME, &sequence.to_be_bytes())? else {
            return Ok(None);
        };
        Self::read(&value).map(Some).ok_or(EngineError::Damaged("frame"))
    }

    fn read(value: &[u8]) -> Option<Self> {
        let (peer, row) = value.split_first_chunk::<{ PeerId::LEN }>()?;
        let row = u64::from_le_bytes(row.try_into().ok()?);
        Some(Self { peer: PeerId::from_bytes(peer), row })
    }

    /// Removes a ciphertext that need not be sent any more.
    pub(crate) fn settle(
        transaction: &EngineTransaction<'_, '_, OlmAccount>,
        sequence: u64,
    ) -> Result<(), EngineError> {
        transaction.sent(sequence)?;
        transaction.remove_record(FRAME, &sequence.to_be_bytes())?;
        Ok(())
    }
}
