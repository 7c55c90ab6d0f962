//! Ciphertexts that wait until the application has sent them.

use alloc::vec::Vec;

use endseal_keyring::device::Address;

use super::inbox::{ConversationId, conversation_id};
use super::outgoing_message::OutgoingKind;
use super::references::address_of;
use crate::{Engine, EngineError, PairwiseAccount};

/// A ciphertext that may leave: the state that made it is in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outgoing {
    /// Its number in the outbox.
    pub number: u64,
    /// The ciphertext.
    pub body: Vec<u8>,
}

/// A ciphertext that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pending {
    /// Its number in the outbox; later ones have higher numbers.
    pub number: u64,
    /// Conversation to which it belongs.
    pub conversation: ConversationId,
    /// Its kind.
    pub kind: OutgoingKind,
    /// Device that it is for; `None` for every member of a group.
    pub recipient: Option<Address>,
    /// The ciphertext. After a crash the same bytes are sent again.
    pub body: Vec<u8>,
}

/// The outbox of an engine.
#[allow(missing_debug_implementations, reason = "nothing of it is for people")]
pub struct Outbox<'a, A: PairwiseAccount>(&'a mut Engine<A>);

impl<'a, A: PairwiseAccount> Outbox<'a, A> {
    pub(super) fn new(engine: &'a mut Engine<A>) -> Self {
        Self(engine)
    }

    /// Returns ciphertexts that may be sent now, with a number above `after`, at most `limit`, in
    /// order. Welcomes are among them once their commit is accepted, with the numbers that they got
    /// with the commit.
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
                let kind = OutgoingKind::from_number(row.kind);
                let kind = kind.ok_or(EngineError::Damaged("kind of a ciphertext"))?;
                Ok(Pending { number: row.seq, conversation, kind, recipient, body: row.body })
            })
            .collect()
    }

    /// Deletes a ciphertext that has arrived; returns true if it was there.
    ///
    /// # Errors
    /// [`EngineError`]; it is still there then.
    pub fn sent(&mut self, number: u64) -> Result<bool, EngineError> {
        self.sent_many(&[number]).map(|sent| sent > 0)
    }

    /// [`Self::sent`] for several at once; returns how many were there.
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
