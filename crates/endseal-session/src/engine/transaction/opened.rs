//! Contents that were encrypted and decrypted outside of the sessions.

use alloc::borrow::Cow;
use alloc::vec;
use alloc::vec::Vec;

use endseal_crypto::secret::Zeroizing;
use endseal_keyring::device::Address;

use super::EngineTransaction;
use crate::engine::body_digest::is_same;
use crate::engine::delivery_kind::KIND_TEXT;
use crate::engine::inbox::ConversationId;
use crate::engine::outgoing_message::{OutgoingKind, OutgoingMessage};
use crate::engine::store_request::{Question, Write};
use crate::engine::task::Delivery;
use crate::envelope::MAX_ID_LEN;
use crate::{EngineError, Failure, Outcome, PairwiseAccount};

impl<A: PairwiseAccount> EngineTransaction<'_, '_, A> {
    /// Adds a content to the inbox that was decrypted outside of the sessions. Each id, of 1 to 64
    /// bytes, is delivered once. The caller MUST have authenticated sender, conversation, id and
    /// plaintext.
    ///
    /// # Errors
    /// [`EngineError`] if the store fails; the transaction cannot be committed then.
    pub fn deliver(
        &mut self,
        to: &ConversationId,
        id: &[u8],
        sender: Address,
        plaintext: Zeroizing<Vec<u8>>,
    ) -> Result<Outcome, EngineError> {
        let Some(conversation) = to.conversation().filter(|_| (1..=MAX_ID_LEN).contains(&id.len()))
        else {
            return Ok(Outcome::Failed(Failure::Malformed));
        };
        let digest = self.state_cache.digest(&plaintext);
        let question = Question { loads: Vec::new(), ids: vec![(conversation.clone(), vec![id])] };
        let answer = self.store_session.answer(question)?;
        if let Some(seen) = answer.seen.into_iter().flatten().flatten().next() {
            return Ok(match is_same(&seen.digest, &digest) {
                true => Outcome::AlreadyDelivered(seen.seq),
                false => Outcome::Failed(Failure::IdReused),
            });
        }
        let delivery = Delivery { sender, kind: KIND_TEXT, digest, plaintext, added: Vec::new() };
        let write = Write::Deliver { conversation, id: Cow::Borrowed(id), delivery };
        let written = self.store_session.write(vec![write]);
        self.failed |= written.is_err();
        let number = written?.pop().ok_or(EngineError::Damaged("number of a message"))?;
        Ok(Outcome::Delivered(number))
    }

    /// Adds a ciphertext to the outbox that was made outside of the sessions. Returns its number.
    ///
    /// # Errors
    /// [`EngineError::Damaged`] if a group id is not 1 to 63 bytes long; another [`EngineError`] if
    /// the store fails.
    pub fn post(&mut self, to: &ConversationId, body: Vec<u8>) -> Result<u64, EngineError> {
        let conversation = to.conversation().ok_or(EngineError::Damaged("conversation"))?;
        let (recipient, kind) = (None, OutgoingKind::Message);
        let outgoing = OutgoingMessage { conversation, recipient, kind, body };
        self.depart(outgoing).map(|outgoing| outgoing.number)
    }

    /// Adds a copy of a ciphertext to the end of the outbox, and returns its number. `None` if
    /// there is no such ciphertext, or it belongs to a commit. The caller MUST be sure that the
    /// original was not received anywhere.
    ///
    /// # Errors
    /// [`EngineError`] if the store fails.
    pub fn post_again(&mut self, number: u64) -> Result<Option<u64>, EngineError> {
        let rows = self.transaction.outbox(number.saturating_sub(1), 1)?;
        let Some(row) = rows.into_iter().find(|row| row.seq == number) else { return Ok(None) };
        let Some(OutgoingKind::Message) = OutgoingKind::from_number(row.kind) else {
            return Ok(None);
        };
        let (kind, state) = OutgoingKind::Message.to_row();
        let pushed = self.transaction.push_outbox_as(
            row.conversation,
            row.recipient,
            kind,
            state,
            &row.body,
        );
        Ok(Some(pushed?))
    }
}
