//! Groups of which members must learn that they are replaced, beside the one that the sending group
//! announces (docs/spec/node.md, "Groups of a conversation").

use endseal_session::EngineError;

use super::conversation::Conversation;
use super::payload::HubGroupId;
use super::records::{self, REPLACED, Transaction};

/// Limit on such groups of a conversation. One beyond it is announced when it is noticed again.
const MAX: usize = 16;

/// A group that is to be announced as replaced.
pub(super) struct Replaced {
    pub(super) conversation: Conversation,
    pub(super) group: HubGroupId,
    /// Number of the notice in the outbox, 0 if it is due.
    pub(super) sequence: u64,
}

impl Replaced {
    /// Returns those of a conversation.
    pub(super) fn of(
        transaction: &Transaction<'_, '_>,
        conversation: &Conversation,
    ) -> Result<Vec<Self>, EngineError> {
        let prefix = conversation.name();
        let page = transaction.records_after(REPLACED, &prefix, MAX)?;
        let read = |(name, value): &(Vec<u8>, _)| {
            let (conversation, value): (_, &[u8]) = (*conversation, AsRef::as_ref(value));
            let group = name.strip_prefix(&prefix[..])?.try_into().ok()?;
            Some(Self { conversation, group, sequence: records::number(value)? })
        };
        let of_conversation = page.iter().take_while(|(name, _)| name.starts_with(&prefix));
        let all = of_conversation.map(read).collect::<Option<_>>();
        all.ok_or(EngineError::Damaged("replaced group"))
    }

    pub(super) fn put(&self, transaction: &Transaction<'_, '_>) -> Result<(), EngineError> {
        transaction.put_record(REPLACED, &self.name(), &self.sequence.to_le_bytes())
    }

    pub(super) fn remove(&self, transaction: &Transaction<'_, '_>) -> Result<(), EngineError> {
        transaction.remove_record(REPLACED, &self.name()).map(drop)
    }

    fn name(&self) -> Vec<u8> {
        [&self.conversation.name()[..], &self.group].concat()
    }

    /// Returns the one whose notice has a number in the outbox.
    pub(super) fn in_outbox(
        transaction: &Transaction<'_, '_>,
        conversation: &Conversation,
        sequence: u64,
    ) -> Result<Option<Self>, EngineError> {
        Ok(Self::of(transaction, conversation)?.into_iter().find(|it| it.sequence == sequence))
    }
}

/// Notes that a group is to be announced as replaced.
pub(super) fn note(
    transaction: &Transaction<'_, '_>,
    conversation: &Conversation,
    group: &HubGroupId,
) -> Result<(), EngineError> {
    let known = Replaced::of(transaction, conversation)?;
    if known.len() < MAX && known.iter().all(|it| it.group != *group) {
        Replaced { conversation: *conversation, group: *group, sequence: 0 }.put(transaction)?;
    }
    Ok(())
}

/// Notes that the notice with a number in the outbox was taken back.
pub(super) fn make_due(
    transaction: &Transaction<'_, '_>,
    conversation: &Conversation,
    sequence: u64,
) -> Result<(), EngineError> {
    match Replaced::in_outbox(transaction, conversation, sequence)? {
        Some(replaced) => Replaced { sequence: 0, ..replaced }.put(transaction),
        None => Ok(()),
    }
}

/// Returns true if a group of a conversation is to be announced.
pub(super) fn is_due(
    transaction: &Transaction<'_, '_>,
    conversation: &Conversation,
) -> Result<bool, EngineError> {
    Ok(Replaced::of(transaction, conversation)?.iter().any(|it| it.sequence == 0))
}
