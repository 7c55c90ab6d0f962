//! Store operations of the engine within one transaction.

use alloc::vec::Vec;
use core::marker::PhantomData;

use endseal_keyring::device::{Address, Certificate};
use endseal_store::{
    AddressRef, ConversationRef, Messages, NewMessage, ReadTransaction, WriteTransaction,
};

use super::changeset::Changeset;
use super::conversation::Conversation;
use super::conversation_state::{Loaded, Parked, RemoteDevice, Seen, SessionSlot};
use super::notice;
use super::outgoing_message::OutgoingMessage;
use super::records;
use super::references::References;
use super::store_request::{Answer, Load, Question, Write};
use crate::group::GroupDevice;
use crate::{EngineError, Ratchet, SessionTag};

/// Reads and writes the states of sessions, groups and messages in one transaction.
pub(super) struct StoreSession<'t, 's, R> {
    transaction: &'t WriteTransaction<'s>,
    messages: Messages<'t>,
    references: &'t mut References,
    groups: &'t GroupDevice,
    ratchet: PhantomData<R>,
}

impl<'t, 's, R: Ratchet> StoreSession<'t, 's, R> {
    pub(super) fn new(
        transaction: &'t WriteTransaction<'s>,
        references: &'t mut References,
        groups: &'t GroupDevice,
    ) -> Result<Self, EngineError> {
        let messages = transaction.messages()?;
        Ok(Self { transaction, messages, references, groups, ratchet: PhantomData })
    }

    /// Reads the states and ids that a block needs.
    pub(super) fn answer(&mut self, question: Question<'_>) -> Result<Answer<R>, EngineError> {
        let mut loaded = Vec::with_capacity(question.loads.len());
        for load in question.loads {
            loaded.push(match load {
                Load::Device(address) => {
                    let conversation = Conversation::person(address.identity.as_bytes());
                    // A damaged row makes the messages of its conversation fail, but not the batch.
                    let remote_device = match self.remote_device(address) {
                        Ok(remote_device) => Loaded::RemoteDevice(Box::new(remote_device)),
                        Err(EngineError::Damaged(_)) => Loaded::DamagedPartner(address.device),
                        Err(error) => return Err(error),
                    };
                    (conversation, remote_device)
                }
                Load::Group(conversation) => {
                    let id = conversation.group_id().unwrap_or_default();
                    let group = match records::group(self.transaction, self.groups, id) {
                        Ok(group) => Loaded::Group(group),
                        Err(EngineError::Damaged(_)) => Loaded::DamagedGroup,
                        Err(error) => return Err(error),
                    };
                    (conversation, group)
                }
                Load::Parked(conversation) => {
                    let parked = self.parked(&conversation)?;
                    (conversation, Loaded::Parked(parked))
                }
            });
        }
        let mut seen = Vec::with_capacity(question.ids.len());
        for (conversation, ids) in question.ids {
            seen.push(
                match self.references.find_conversation(self.transaction, &conversation)? {
                    Some(reference) => self.messages.seen_many(reference, &ids)?,
                    None => alloc::vec![None; ids.len()],
                },
            );
        }
        Ok(Answer { loaded, seen })
    }

    /// Writes the results of a block. Returns the numbers of the deliveries, in order.
    pub(super) fn write(&mut self, mut writes: Vec<Write<'_>>) -> Result<Vec<u64>, EngineError> {
        for write in &mut writes {
            if let Write::Deliver { delivery, .. } = write
                && !delivery.added.is_empty()
            {
                let superseded = self.superseded(&delivery.added)?;
                notice::name_superseded(&mut delivery.plaintext, &superseded);
            }
        }
        let mut due = Vec::with_capacity(writes.len());
        let mut recent = Recent::default();
        for write in &writes {
            match write {
                Write::Deliver { conversation, id, delivery } => due.push(NewMessage {
                    conversation: self.conversation(&mut recent, conversation)?,
                    message: id,
                    sender: self.sender(&mut recent, delivery.sender)?,
                    kind: delivery.kind,
                    digest: &delivery.digest,
                    plaintext: &delivery.plaintext,
                }),
                Write::Park { conversation, row } => {
                    let reference = self.conversation(&mut recent, conversation)?;
                    self.messages.park(reference, row)?;
                }
                Write::Unpark { conversation, id } => {
                    let reference = self.conversation(&mut recent, conversation)?;
                    self.messages.unpark(reference, id)?;
                }
                Write::Decide { conversation, accepted } => {
                    let reference = self.conversation(&mut recent, conversation)?;
                    self.transaction.decide_outbox(reference, *accepted)?;
                    let name = conversation.name();
                    records::decide_key_packages(self.transaction, name, *accepted)?;
                }
            }
        }
        // Without a delivery the inbox does not change.
        if due.is_empty() {
            return Ok(Vec::new());
        }
        Ok(self.messages.deliver_many(&due)?.collect())
    }

    fn conversation<'w>(
        &mut self,
        recent: &mut Recent<'w>,
        conversation: &'w Conversation,
    ) -> Result<ConversationRef, EngineError> {
        let known = recent.conversations.iter().find(|(it, _)| it.is_copy_of(conversation));
        if let Some((_, reference)) = known {
            return Ok(*reference);
        }
        let reference = self.references.conversation(self.transaction, conversation)?;
        if recent.conversations.len() < RECENT {
            recent.conversations.push((conversation, reference));
        }
        Ok(reference)
    }

    fn sender(
        &mut self,
        recent: &mut Recent<'_>,
        sender: Address,
    ) -> Result<AddressRef, EngineError> {
        if let Some((_, reference)) = recent.senders.iter().find(|(it, _)| *it == sender) {
            return Ok(*reference);
        }
        let reference = self.references.address(self.transaction, sender)?;
        if recent.senders.len() < RECENT {
            recent.senders.push((sender, reference));
        }
        Ok(reference)
    }

    /// Writes all changed states, each once.
    pub(super) fn save(&mut self, states: &Changeset) -> Result<(), EngineError> {
        let transaction = self.transaction;
        if let Some(account) = &states.account {
            transaction.put_record(records::ACCOUNT, &[], account)?;
        }
        for (address, certificate) in &states.certificates {
            let reference = self.references.address(transaction, *address)?;
            transaction.set_certificate(reference, certificate)?;
        }
        for (address, tag) in &states.dropped {
            let reference = self.references.address(transaction, *address)?;
            transaction.remove_session(reference, tag)?;
        }
        if !states.forgotten.is_empty() {
            let next = transaction.last_number()?.saturating_add(1);
            for (address, dropped) in &states.forgotten {
                records::put_forgotten(transaction, address, dropped, next)?;
            }
        }
        for address in &states.ending {
            transaction.put_record(records::ENDING, &records::of_address(address), &[])?;
        }
        for (address, session) in &states.sessions {
            let reference = self.references.address(transaction, *address)?;
            transaction.put_session(reference, session)?;
        }
        for group in &states.groups {
            records::put_group(transaction, group)?;
        }
        if let Some((queue, position)) = &states.cursor {
            transaction.set_cursor(queue, position)?;
        }
        Ok(())
    }

    /// Adds a ciphertext to the outbox, and returns its number.
    pub(super) fn depart(&mut self, outgoing: &OutgoingMessage) -> Result<u64, EngineError> {
        let conversation =
            self.references.conversation(self.transaction, &outgoing.conversation)?;
        let recipient = match outgoing.recipient {
            Some(address) => Some(self.references.address(self.transaction, address)?),
            None => None,
        };
        let (kind, state) = outgoing.kind.to_row();
        let body = &outgoing.body;
        Ok(self.transaction.push_outbox_as(conversation, recipient, kind, state, body)?)
    }

    /// Adds a row for an address, which makes its identity known.
    pub(super) fn know(&mut self, address: Address) -> Result<(), EngineError> {
        self.references.address(self.transaction, address).map(drop)
    }

    /// Loads a device with its sessions. Without a row, it returns one without sessions.
    pub(super) fn remote_device(
        &mut self,
        address: Address,
    ) -> Result<RemoteDevice<R>, EngineError> {
        load_partner(self.transaction, self.references, address)
    }

    /// Loads the readable rows of a device, and drops its sessions that cannot be decoded; returns
    /// their number. A certificate that cannot be decoded is deleted: the next one counts as the
    /// first.
    pub(super) fn salvage(
        &mut self,
        address: Address,
    ) -> Result<(RemoteDevice<R>, usize), EngineError> {
        let transaction = self.transaction;
        let reference = self.references.address(transaction, address)?;
        let mut remote_device = RemoteDevice::new(address, true);
        if let Some(bytes) =
            transaction.record(records::FORGOTTEN, &records::of_address(&address))?
        {
            let (dropped, rest) = records::forgotten(&bytes);
            remote_device.forgotten = dropped;
            remote_device.forgotten_changed = !rest.is_empty();
        }
        let row = transaction.address(reference)?;
        if let Some(bytes) = row.and_then(|row| row.certificate) {
            match Certificate::from_bytes(&bytes) {
                Ok(seen) if seen.address() == address => {
                    remote_device.seen = Some(Seen::Decoded(seen));
                }
                _ => transaction.remove_certificate(reference)?,
            }
        }
        let mut lost = 0;
        for row in transaction.sessions_of(reference)? {
            match SessionSlot::load(&row) {
                Some(entry) => remote_device.sessions.push(entry),
                None => {
                    lost += 1;
                    remote_device.forget(SessionTag::from_bytes(&row.tag));
                }
            }
        }
        Ok((remote_device, lost))
    }

    /// Returns the addresses that have shown a certificate which supersedes the given one.
    pub(super) fn superseded(
        &mut self,
        members: &[(Address, [u8; Certificate::LEN])],
    ) -> Result<Vec<Address>, EngineError> {
        let mut superseded = Vec::new();
        for (address, certificate) in members {
            let Some(reference) = self.references.find_address(self.transaction, *address)? else {
                continue;
            };
            let row = self.transaction.address(reference)?;
            if let Some(seen) = row.and_then(|row| row.certificate)
                && seen != certificate
            {
                // An unreadable certificate must not make the notice fail, so its device is
                // skipped.
                let certificates = Certificate::from_bytes(certificate).ok();
                let certificates = certificates.zip(Certificate::from_bytes(&seen).ok());
                if certificates.is_some_and(|(own, seen)| own.is_superseded_by(&seen)) {
                    superseded.push(*address);
                }
            }
        }
        Ok(superseded)
    }

    /// Loads the parked messages of a conversation.
    fn parked(&mut self, conversation: &Conversation) -> Result<Vec<Parked>, EngineError> {
        let found = self.references.find_conversation(self.transaction, conversation)?;
        let Some(reference) = found else { return Ok(Vec::new()) };
        let rows = self.messages.parked(reference)?;
        Ok(rows.into_iter().map(Parked::from_row).collect())
    }

    /// Ends the pending commit of a group in the outbox.
    pub(super) fn decide(
        &mut self,
        conversation: &Conversation,
        accepted: bool,
    ) -> Result<(), EngineError> {
        let found = self.references.find_conversation(self.transaction, conversation)?;
        if let Some(reference) = found {
            self.transaction.decide_outbox(reference, accepted)?;
            records::decide_key_packages(self.transaction, conversation.name(), accepted)?;
        }
        Ok(())
    }

    /// Deletes the parked messages of a conversation, and returns their number.
    pub(super) fn unpark_all(&mut self, conversation: &Conversation) -> Result<usize, EngineError> {
        match self.references.find_conversation(self.transaction, conversation)? {
            Some(reference) => Ok(self.transaction.unpark_all(reference)?),
            None => Ok(0),
        }
    }

    /// Deletes a group: its state, past epochs and parked messages, and in the outbox the pending
    /// commit with its welcomes. Returns false if there was no group.
    pub(super) fn forget_group(
        &mut self,
        conversation: &Conversation,
    ) -> Result<bool, EngineError> {
        let id = conversation.group_id().unwrap_or_default();
        let found = self.references.find_conversation(self.transaction, conversation)?;
        if let Some(reference) = found {
            self.transaction.unpark_all(reference)?;
            self.transaction.decide_outbox(reference, false)?;
            records::decide_key_packages(self.transaction, conversation.name(), false)?;
        }
        self.transaction.remove_record(records::GROUP_TREE, id)?;
        Ok(self.transaction.remove_group(id)?)
    }
}

/// Loads a device with its sessions. Without a row, it returns one without sessions.
pub(super) fn load_partner<R: Ratchet>(
    transaction: &ReadTransaction<'_>,
    references: &mut References,
    address: Address,
) -> Result<RemoteDevice<R>, EngineError> {
    let found = references.find_address(transaction, address)?;
    let Some(reference) = found else {
        let is_known = transaction.knows_identity(address.identity.as_bytes())?;
        return Ok(RemoteDevice::new(address, is_known));
    };
    let mut remote_device = RemoteDevice::new(address, true);
    if let Some(bytes) = transaction.record(records::FORGOTTEN, &records::of_address(&address))? {
        let (dropped, rest) = records::forgotten(&bytes);
        if !rest.is_empty() {
            return Err(EngineError::Damaged("forgotten sessions"));
        }
        remote_device.forgotten = dropped;
    }
    if let Some(row) = transaction.address(reference)?
        && let Some(bytes) = row.certificate
    {
        let bytes = bytes.as_slice().try_into();
        remote_device.seen =
            Some(Seen::Stored(bytes.map_err(|_| EngineError::Damaged("certificate"))?));
    }
    for row in transaction.sessions_of(reference)? {
        let entry = SessionSlot::load(&row).ok_or(EngineError::Damaged("session"))?;
        remote_device.sessions.push(entry);
    }
    Ok(remote_device)
}

/// References that a block has looked up. Most blocks have few conversations, so comparing with
/// some of them is cheaper than hashing.
#[derive(Default)]
struct Recent<'w> {
    conversations: Vec<(&'w Conversation, ConversationRef)>,
    senders: Vec<(Address, AddressRef)>,
}

/// Number of references that are compared.
const RECENT: usize = 8;
