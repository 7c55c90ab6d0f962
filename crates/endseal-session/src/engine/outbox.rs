//! Ciphertexts, until whoever carries them says that they were sent.

use alloc::vec::Vec;

use super::clerk::address_of;
use super::inbox::{ConversationId, conversation_id};
use crate::{Address, Engine, EngineError, PairwiseAccount};

/// A ciphertext that may leave: the state that made it is in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outgoing {
    /// Its number in the outbox.
    pub number: u64,
    /// What is sent.
    pub body: Vec<u8>,
}

/// A ciphertext that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pending {
    /// Its number in the outbox; later ones have higher numbers.
    pub number: u64,
    /// Where it belongs.
    pub conversation: ConversationId,
    /// For which device; every member of a group.
    pub recipient: Option<Address>,
    /// What is sent. After a crash the same bytes are sent again.
    pub body: Vec<u8>,
}

/// The outbox of an engine.
#[allow(missing_debug_implementations, reason = "nothing of it is for people")]
pub struct Outbox<'a, A: PairwiseAccount>(&'a mut Engine<A>);

impl<'a, A: PairwiseAccount> Outbox<'a, A> {
    pub(super) fn new(engine: &'a mut Engine<A>) -> Self {
        Self(engine)
    }

    /// What waits with a number above `after`, at most `limit`, in order.
    ///
    /// # Errors
    /// [`EngineError`].
    pub fn pending(&mut self, after: u64, limit: usize) -> Result<Vec<Pending>, EngineError> {
        let transaction = self.0.reading()?;
        let rows = transaction.outbox(after, limit)?;
        rows.into_iter()
            .map(|row| {
                let recipient = match row.recipient {
                    Some(reference) => Some(address_of(&transaction, reference)?),
                    None => None,
                };
                let name = transaction.conversation_name(row.conversation)?;
                let conversation = conversation_id(&name)?;
                Ok(Pending { number: row.seq, conversation, recipient, body: row.body })
            })
            .collect()
    }

    /// Forgets what has arrived; whether it was there.
    ///
    /// # Errors
    /// [`EngineError`]; it is still there then.
    pub fn sent(&mut self, number: u64) -> Result<bool, EngineError> {
        self.sent_many(&[number]).map(|sent| sent > 0)
    }

    /// [`Self::sent`] for several at once: how many were there.
    ///
    /// # Errors
    /// [`EngineError`]; all are still there then.
    pub fn sent_many(&mut self, numbers: &[u64]) -> Result<usize, EngineError> {
        self.0.transaction(|transaction| {
            let mut sent = 0;
            for number in numbers {
                sent += usize::from(transaction.sent(*number)?);
            }
            Ok(sent)
        })
    }
}
