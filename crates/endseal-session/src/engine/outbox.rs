//! Outbox: ciphertexts until the application has sent them.

use alloc::vec::Vec;

use endseal_keyring::device::Address;

use super::inbox::{ConversationId, conversation_id};
use super::outgoing_message::OutgoingKind;
use super::references::address_of;
use crate::{Engine, EngineError, PairwiseAccount};

/// Ciphertext that may be sent now: the state that produced it is committed to the store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outgoing {
    /// Number in the outbox, for [`Outbox::sent`].
    pub number: u64,
    /// Ciphertext to send.
    pub body: Vec<u8>,
}

/// Ciphertext in the outbox that was not reported as sent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pending {
    /// Number in the outbox; later ciphertexts have higher numbers.
    pub number: u64,
    /// Conversation to which it belongs.
    pub conversation: ConversationId,
    /// Kind of the ciphertext, which decides how it is delivered.
    pub kind: OutgoingKind,
    /// Device to which it is sent; `None` for every member of a group.
    pub recipient: Option<Address>,
    /// Ciphertext to send. After a crash the same bytes are sent again.
    pub body: Vec<u8>,
}

/// Outbox of an engine, from [`Engine::outbox`].
#[allow(missing_debug_implementations, reason = "nothing of it is for people")]
pub struct Outbox<'a, A: PairwiseAccount>(&'a mut Engine<A>);

impl<'a, A: PairwiseAccount> Outbox<'a, A> {
    pub(super) fn new(engine: &'a mut Engine<A>) -> Self {
        Self(engine)
    }

    /// Returns up to `limit` ciphertexts that may be sent now, with numbers above `after`, in
    /// ascending order. Welcomes are included once their commit is accepted, with the numbers that
    /// were assigned with the commit.
    ///
    /// # Errors
    /// [`EngineError`] if the store cannot be read or a row is damaged.
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

    /// Returns the welcome that a pending commit of a conversation has, for a delivery service that
    /// takes both together. `commit` is the number of the commit; that of the welcome is the next
    /// one. `None` if the commit adds no device, or is decided.
    ///
    /// # Errors
    /// [`EngineError`] if the store cannot be read.
    pub fn welcome_of(&mut self, commit: u64) -> Result<Option<Vec<u8>>, EngineError> {
        let Some(number) = commit.checked_add(1) else { return Ok(None) };
        Ok(self.0.reading()?.held_outbox(number)?)
    }

    /// The highest number that this outbox ever gave to a ciphertext, 0 if none.
    ///
    /// # Errors
    /// [`EngineError`].
    pub fn last_number(&mut self) -> Result<u64, EngineError> {
        Ok(self.0.reading()?.last_outbox_number()?)
    }

    /// Deletes a ciphertext that has arrived; returns true if it was there.
    ///
    /// # Errors
    /// [`EngineError`] if the store fails; the ciphertext is still there then.
    pub fn sent(&mut self, number: u64) -> Result<bool, EngineError> {
        self.sent_many(&[number]).map(|sent| sent > 0)
    }

    /// Deletes several ciphertexts in one transaction, as [`Self::sent`] does. Returns the number
    /// of those that were there.
    ///
    /// # Errors
    /// [`EngineError`] if the store fails; all ciphertexts are still there then.
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
