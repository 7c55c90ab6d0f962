//! Notes that other devices are to get: receipts, read marks and rules (docs/spec/node.md).

use core::num::NonZeroU32;

use endseal_crypto::ed25519::PublicKey;
use endseal_keyring::PersonRecord;
use endseal_keyring::device::{Address, DeviceId};
use endseal_session::EngineError;

use super::address_bytes::ADDRESS_LEN;
use super::conversation::Conversation;
use super::records::{self, DUE, RULE, RULES_SENT, Transaction};
use super::text_id::SERIES_LEN;

/// A note that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Due {
    /// Device that gets it.
    pub(super) to: Address,
    pub(super) subject: Subject,
}

/// Subject of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Subject {
    /// Texts of a conversation have arrived, which the device that gets the note wrote, or of
    /// `read_of` were read: then it is another device of this person.
    Texts { conversation: Conversation, series: [u8; SERIES_LEN], read_of: Option<PublicKey> },
    /// Rules about persons, for another device of this person.
    Rules,
}

impl Due {
    /// Returns the conversation in which the note is sent. Rules are sent in the one with oneself:
    /// members of a group can compute the keys of its notes.
    pub(super) fn conversation(&self) -> Conversation {
        match self.subject {
            Subject::Texts { conversation, .. } => conversation,
            Subject::Rules => Conversation::Person(self.to.identity),
        }
    }

    /// Notes that a device gets a receipt for a series: name device (36) || series (8), value
    /// conversation. Of a read mark the name goes on with the start of the writer (16), and the
    /// value begins with the writer (32). Of rules the name is the device, and the value empty.
    pub(super) fn put(&self, transaction: &Transaction<'_, '_>) -> Result<(), EngineError> {
        transaction.put_record(DUE, &self.name(), &self.value())
    }

    pub(super) fn remove(&self, transaction: &Transaction<'_, '_>) -> Result<(), EngineError> {
        transaction.remove_record(DUE, &self.name()).map(drop)
    }

    /// Returns up to `most` notes that are due.
    pub(super) fn page(
        transaction: &Transaction<'_, '_>,
        most: usize,
    ) -> Result<Vec<Self>, EngineError> {
        let page = transaction.records_after(DUE, &[], most)?;
        let due = page.iter().map(|(name, value)| Self::read(name, value));
        due.collect::<Option<_>>().ok_or(EngineError::Damaged("due"))
    }

    fn name(&self) -> Vec<u8> {
        let device = records::device_name(&self.to);
        match &self.subject {
            Subject::Rules => device.to_vec(),
            Subject::Texts { series, read_of, .. } => {
                let writer = read_of.as_ref().map_or(&[][..], |it| &it.as_bytes()[..16]);
                [&device[..], series, writer].concat()
            }
        }
    }

    fn value(&self) -> Vec<u8> {
        match &self.subject {
            Subject::Rules => Vec::new(),
            Subject::Texts { conversation, read_of, .. } => {
                let writer = read_of.as_ref().map_or(&[][..], |it| it.as_bytes());
                [writer, &conversation.name()].concat()
            }
        }
    }

    fn read(name: &[u8], value: &[u8]) -> Option<Self> {
        let (device, rest) = name.split_at_checked(ADDRESS_LEN)?;
        let to = records::device_in_name(device)?;
        if rest.is_empty() {
            return value.is_empty().then_some(Self { to, subject: Subject::Rules });
        }
        let (series, writer) = rest.split_first_chunk()?;
        let (read_of, conversation) = match writer {
            [] => (None, value),
            _ => {
                let (writer, conversation) = value.split_first_chunk()?;
                (Some(PublicKey::from_bytes(writer).ok()?), conversation)
            }
        };
        let conversation = Conversation::in_name(conversation)?;
        Some(Self { to, subject: Subject::Texts { conversation, series: *series, read_of } })
    }

    /// Encodes the record of a note in the outbox: length of the name (1) || name || value.
    pub(super) fn to_bytes(self) -> Vec<u8> {
        let name = self.name();
        let len = u8::try_from(name.len()).unwrap_or_default();
        [&[len], &name[..], &self.value()].concat()
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (len, rest) = bytes.split_first()?;
        let (name, value) = rest.split_at_checked(usize::from(*len))?;
        Self::read(name, value)
    }
}

/// Returns true if rules wait for another device of this person.
pub(super) fn has_rules(transaction: &Transaction<'_, '_>) -> Result<bool, EngineError> {
    const PAGE: usize = 64;
    Ok(Due::page(transaction, PAGE)?.iter().any(|due| due.subject == Subject::Rules))
}

/// Notes that a device of this person is to get the rules. `own` is this identity.
pub(super) fn note_rules(
    transaction: &Transaction<'_, '_>,
    own: &PublicKey,
    device: NonZeroU32,
) -> Result<(), EngineError> {
    let to = Address { identity: *own, device: DeviceId::from(device) };
    Due { to, subject: Subject::Rules }.put(transaction)
}

/// Notes that all devices of a record of this person are to get the rules, if there are any.
pub(super) fn note_rules_of(
    transaction: &Transaction<'_, '_>,
    record: &PersonRecord,
) -> Result<(), EngineError> {
    if transaction.records_after(RULE, &[], 1)?.is_empty() {
        return Ok(());
    }
    for (number, _) in record.devices() {
        note_rules(transaction, record.identity().ed25519(), number)?;
    }
    Ok(())
}

/// Notes that the devices that a record of this person has newly are to get the rules, if there are
/// any.
pub(super) fn note_new_devices(
    transaction: &Transaction<'_, '_>,
    before: &PersonRecord,
    after: &PersonRecord,
) -> Result<(), EngineError> {
    if transaction.records_after(RULE, &[], 1)?.is_empty() {
        return Ok(());
    }
    for (number, _) in after.devices().filter(|(number, _)| before.device(*number).is_none()) {
        note_rules(transaction, after.identity().ed25519(), number)?;
    }
    Ok(())
}

/// Notes once a day that all devices of this person are to get the rules: one may have been lost.
pub(super) fn note_rules_daily(
    transaction: &Transaction<'_, '_>,
    record: &PersonRecord,
) -> Result<(), EngineError> {
    const DAY: u64 = 24 * 60 * 60 * 1_000;
    let (now, last) = (records::now(), records::counter(transaction, RULES_SENT)?);
    // The clock may have been ahead.
    if now.abs_diff(last) < DAY {
        return Ok(());
    }
    transaction.put_record(RULES_SENT, &[], &now.to_le_bytes())?;
    note_rules_of(transaction, record)
}
