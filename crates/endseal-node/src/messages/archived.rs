//! Conversations in an archive (docs/spec/archive.md): unread texts, and those records of the store
//! that are the person's and not the device's.

use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::secret::Zeroizing;
use endseal_keyring::device::Address;
use endseal_keyring::roster::GroupId;
use endseal_session::{Engine, EngineError};

use super::address_bytes::{ADDRESS_LEN, address, address_bytes};
use super::conversation::Conversation;
use super::device_name;
use super::history::HistoryRow;
use super::inbox::Unread;
use super::records::{
    ARRIVED, CONFIRMED, COUNTER, DEVICE_CHANGE, DEVICE_NAME, GROUP, HIDDEN_TEAM, HISTORY, MEMBERS,
    NEW_MEMBER, NOTED, PERSON, PROBLEM, REQUEST, RULE, SAID, SERIES, Transaction, UNSENT,
};
use super::resend::resend_missing;
use super::rule::StoredRule;
use super::text_id::TextId;
use super::waiting::Waiting;

/// Records that are read from the store at once.
const PAGE: usize = 64;
/// Kinds of records that belong to the person. Those of the device (sessions, frames, numbers at
/// the hub, receipts that are due) stay with it.
const KINDS: [u16; 16] = [
    COUNTER,
    PERSON,
    HISTORY,
    UNSENT,
    PROBLEM,
    HIDDEN_TEAM,
    ARRIVED,
    SAID,
    CONFIRMED,
    SERIES,
    DEVICE_CHANGE,
    DEVICE_NAME,
    RULE,
    REQUEST,
    MEMBERS,
    NEW_MEMBER,
];

/// An item of the store in an archive.
#[derive(Clone, Copy)]
pub(crate) enum ArchivedItem<'a> {
    /// An unread text. The value is the address of its writer (36) || tag and bytes of the
    /// conversation || length of the message id (1) || message id || plaintext.
    Unread {
        /// Number in the inbox, which is another one after a restoration.
        number: u64,
        value: &'a [u8],
    },
    /// A record of the node.
    Record { kind: u16, name: &'a [u8], value: &'a [u8] },
}

impl ArchivedItem<'_> {
    /// Returns true if the item is a text of a conversation.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self, Self::Unread { .. } | Self::Record { kind: HISTORY, .. })
    }
}

/// Kinds of [`KINDS`] by which a device sends what it has written. In a link they stay with it.
const OF_SENDER: [u16; 3] = [UNSENT, SAID, SERIES];

/// Calls `work` with every item. `waiting` are the rows of [`texts_in_outbox`]: their ciphertexts
/// stay with the device, so that they count as unsent. It is `None` for a link, whose writer goes
/// on sending.
///
/// [`texts_in_outbox`]: super::texts_in_outbox
pub(crate) fn each_archived<E: From<EngineError>>(
    transaction: &Transaction<'_, '_>,
    waiting: Option<&[(u64, Conversation)]>,
    work: &mut dyn FnMut(ArchivedItem<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut after = 0;
    loop {
        let page = transaction.inbox(after, PAGE)?;
        let Some(last) = page.last() else { break };
        after = last.number;
        for received in page {
            let (number, id) = (received.number, received.id.clone());
            let unread = Unread::of(transaction, received)?;
            if let Some(value) = unread.and_then(|unread| encode(&unread, &id)) {
                work(ArchivedItem::Unread { number, value: &value })?;
            }
        }
    }
    let kinds = KINDS.into_iter().filter(|it| waiting.is_some() || !OF_SENDER.contains(it));
    for kind in kinds {
        let mut after = Vec::new();
        // The name of the counter is empty, and no page has it.
        if let Some(value) = transaction.record(kind, &[])? {
            work(ArchivedItem::Record { kind, name: &[], value: &value })?;
        }
        loop {
            let page = transaction.records_after(kind, &after, PAGE)?;
            let Some((last, _)) = page.last() else { break };
            after.clone_from(last);
            for (name, value) in &page {
                match kind {
                    HISTORY if waiting.is_none() => {
                        let elsewhere = HistoryRow::elsewhere(value);
                        work(ArchivedItem::Record { kind, name, value: &elsewhere })?;
                    }
                    _ => work(ArchivedItem::Record { kind, name, value })?,
                }
            }
        }
        if kind == UNSENT {
            for (row, to) in waiting.unwrap_or_default() {
                let name = &row.to_be_bytes();
                let waiting = Waiting { to: *to, has_left: true };
                work(ArchivedItem::Record { kind, name, value: &waiting.to_bytes() })?;
            }
        }
    }
    Ok(())
}

fn encode(unread: &Unread, id: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let Unread { conversation, writer, plaintext, .. } = unread;
    let mut value = Zeroizing::new(Vec::with_capacity(140 + plaintext.len()));
    value.extend_from_slice(&address_bytes(writer));
    value.push(conversation.tag());
    value.extend_from_slice(conversation.as_bytes());
    value.push(u8::try_from(id.len()).ok()?);
    value.extend_from_slice(id);
    value.extend_from_slice(plaintext);
    Some(value)
}

/// Parts of an unread text: its writer, conversation, message id and plaintext.
fn decode(value: &[u8]) -> Option<(Address, Conversation, &[u8], &[u8])> {
    let (writer, rest) = value.split_first_chunk::<ADDRESS_LEN>()?;
    let (&tag, rest) = rest.split_first()?;
    let (conversation, rest) = match tag {
        1 => {
            let (identity, rest) = rest.split_first_chunk::<{ PublicKey::LEN }>()?;
            (Conversation::Person(PublicKey::from_bytes(identity).ok()?), rest)
        }
        2 => {
            let (id, rest) = rest.split_first_chunk::<{ GroupId::LEN }>()?;
            (Conversation::Group(GroupId::from_bytes(*id)), rest)
        }
        _ => return None,
    };
    let (&len, rest) = rest.split_first()?;
    let (id, plaintext) = rest.split_at_checked(usize::from(len))?;
    Some((address(writer)?, conversation, id, plaintext))
}

/// Returns true if an item of an archive can be restored.
pub(crate) fn is_archived_item(item: &ArchivedItem<'_>) -> bool {
    match item {
        ArchivedItem::Unread { value, .. } => decode(value).is_some(),
        ArchivedItem::Record { kind: HISTORY, name, value } => {
            HistoryRow::read(name, value).is_some()
        }
        ArchivedItem::Record { kind: DEVICE_NAME, name, value } => {
            device_name::is_record(name, value)
        }
        ArchivedItem::Record { kind: RULE, value, .. } => StoredRule::read(value).is_some(),
        ArchivedItem::Record { kind, .. } => KINDS.contains(kind),
    }
}

/// Writes an item into the store of a new device.
pub(crate) fn restore_archived(
    transaction: &mut Transaction<'_, '_>,
    item: ArchivedItem<'_>,
) -> Result<(), EngineError> {
    match item {
        ArchivedItem::Record { kind, name, value } => transaction.put_record(kind, name, value),
        ArchivedItem::Unread { value, .. } => {
            let (writer, conversation, id, plaintext) =
                decode(value).ok_or(EngineError::Damaged("unread text"))?;
            let plaintext = Zeroizing::new(plaintext.to_vec());
            if let Conversation::Group(team) = &conversation {
                transaction.put_record(GROUP, team.as_bytes(), &conversation.name())?;
            }
            transaction.deliver(&conversation.id(), id, writer, plaintext).map(|_| ())
        }
    }
}

/// Prepares the store of a new device whose items were restored. If it takes the place of the one
/// that wrote them, texts that no device has confirmed are unsent again under their ids, and later
/// ones get ids of a new series.
pub(crate) fn settle_restored(engine: &mut Engine, takes_place: bool) -> Result<(), EngineError> {
    let own = engine.address().identity;
    engine.transaction(|transaction: &mut Transaction<'_, '_>| {
        // The unread texts are noted in the records that were restored.
        let mut last = 0;
        while let Some(next) = transaction.inbox(last, PAGE)?.last() {
            last = next.number;
        }
        transaction.put_record(NOTED, &[], &last.to_le_bytes())?;
        if !takes_place {
            return Ok(());
        }
        TextId::end_series(transaction)?;
        resend_missing(transaction, &own)
    })
}
