//! Texts that are written, and ciphertexts on their way to the hub.

use std::io::Read;

use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::peer_id::PeerId;
use endseal_session::{Engine, EngineError};

use super::error::SayError;
use super::history::HistoryRow;
use super::records::{self, FRAME, Transaction, UNSENT};
use super::text;
use crate::sessions::{TextError, Texts};

/// Keeps texts for a person, to be sent with the next [`sync`](super::sync): all of them when this
/// returns, or none. Returns their number.
///
/// # Errors
/// [`SayError`].
pub fn say(
    engine: &mut Engine,
    to: &PublicKey,
    mut texts: Texts<impl Read>,
) -> Result<u64, SayError> {
    let own = engine.address();
    engine.transaction(|transaction: &mut Transaction<'_, '_>| {
        let mut count = 0;
        loop {
            let bytes = match texts.next() {
                Ok(Some(bytes)) => bytes,
                Ok(None) => return Ok(count),
                Err(TextError::Input(error)) => return Err(SayError::Input(error)),
                Err(_) => return Err(SayError::TooLong(count + 1)),
            };
            count += 1;
            let text = str::from_utf8(bytes).map_err(|_| SayError::NotUtf8(count))?;
            let time = records::now();
            let plaintext = text::plaintext(&own.identity, to, time, text);
            let plaintext = plaintext.map_err(SayError::Random)?.ok_or(SayError::TooLong(count))?;
            let number = records::next_number(transaction)?;
            let row = HistoryRow { number, is_sent: true, writer: own, time, plaintext };
            row.put(transaction, to)?;
            transaction.put_record(UNSENT, &number.to_be_bytes(), to.as_bytes())?;
        }
    })
}

/// Device for which a ciphertext of the outbox is, and the text in it.
pub(super) struct Target {
    pub(super) peer: PeerId,
    /// Number of the row in the history.
    pub(super) row: u64,
}

impl Target {
    pub(super) fn put(
        &self,
        transaction: &Transaction<'_, '_>,
        sequence: u64,
    ) -> Result<(), EngineError> {
        let value = [&self.peer.as_bytes()[..], &self.row.to_le_bytes()].concat();
        transaction.put_record(FRAME, &sequence.to_be_bytes(), &value)
    }

    /// The target of a ciphertext; `None` if it is not for a hub.
    pub(super) fn of(
        transaction: &Transaction<'_, '_>,
        sequence: u64,
    ) -> Result<Option<Self>, EngineError> {
        let Some(value) = transaction.record(FRAME, &sequence.to_be_bytes())? else {
            return Ok(None);
        };
        Self::read(&value).map(Some).ok_or(EngineError::Damaged("frame"))
    }

    /// Reads a record.
    pub(super) fn read(value: &[u8]) -> Option<Self> {
        let (peer, row) = value.split_first_chunk::<{ PeerId::LEN }>()?;
        Some(Self { peer: PeerId::from_bytes(peer), row: records::number(row)? })
    }

    /// Removes a ciphertext that need not be sent any more.
    pub(super) fn settle(
        transaction: &Transaction<'_, '_>,
        sequence: u64,
    ) -> Result<(), EngineError> {
        transaction.sent(sequence)?;
        transaction.remove_record(FRAME, &sequence.to_be_bytes())?;
        Ok(())
    }
}
