//! Replies of the local API. Plaintexts are not in the JSON: they follow as the secret of the
//! message, concatenated.

use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::secret::Zeroizing;
use endseal_keyring::device::{Address, DeviceId};
use serde::{Deserialize, Serialize};

use crate::messages::conversation_text;
use crate::messages::{
    Conversation, DeviceChange, Devices, HistoryRow, Problem, Status, SyncReport, TextDelivery,
    Unread,
};
use crate::wire_text;

/// Concatenated plaintexts that follow a reply.
pub(crate) type Secret = Zeroizing<Vec<u8>>;

/// Reply to a request that succeeded.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LocalReply {
    /// The request succeeded and has no result.
    Done,
    /// Counts of waiting messages.
    Status {
        status: Status,
        /// True if the process is connected to the hub.
        connected: bool,
    },
    /// Number of texts that were stored.
    Said(u64),
    /// Results of a sync with the hub.
    Report(SyncReport),
    /// Unread messages, and the position after them.
    Unread {
        rows: Vec<UnreadRow>,
        /// Number up to which the inbox was searched; `None` at its end.
        next: Option<u64>,
    },
    /// Rows of a conversation.
    History(Vec<HistoryEntry>),
    /// Stored problems, the oldest first.
    Problems(Vec<Problem>),
    /// Devices of a person.
    Devices(Devices),
    /// Changes of devices.
    DeviceChanges(Vec<DeviceChange>),
}

/// An unread message, without its plaintext.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct UnreadRow {
    number: u64,
    #[serde(with = "conversation_text")]
    conversation: Conversation,
    writer: Writer,
    /// Length of the plaintext in bytes.
    len: usize,
}

/// A row of a conversation, without its plaintext.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct HistoryEntry {
    number: u64,
    is_sent: bool,
    writer: Writer,
    time: u64,
    /// Length of the plaintext in bytes.
    len: usize,
    delivery: Option<TextDelivery>,
}

/// The device that wrote a text.
#[derive(Debug, Serialize, Deserialize)]
struct Writer {
    #[serde(with = "wire_text::identity")]
    identity: PublicKey,
    device: u32,
}

impl Writer {
    fn of(address: Address) -> Self {
        Self { identity: address.identity, device: address.device.number() }
    }

    fn address(&self) -> Option<Address> {
        let device = DeviceId::new(self.device)?;
        Some(Address { identity: self.identity, device })
    }
}

/// Splits the next plaintext of `len` bytes off a secret.
fn take(secret: &mut &[u8], len: usize) -> Option<Secret> {
    let (plaintext, rest) = secret.split_at_checked(len)?;
    *secret = rest;
    Some(Zeroizing::new(plaintext.to_vec()))
}

/// Concatenates plaintexts.
fn join<'a>(plaintexts: impl Iterator<Item = &'a Secret> + Clone) -> Secret {
    // The buffer is never reallocated, so that no copy stays in memory.
    let mut secret =
        Zeroizing::new(Vec::with_capacity(plaintexts.clone().map(|it| it.len()).sum()));
    plaintexts.for_each(|it| secret.extend_from_slice(it));
    secret
}

impl LocalReply {
    pub(crate) fn unread(texts: &[Unread], next: Option<u64>) -> (Self, Secret) {
        let rows = texts.iter().map(|it| UnreadRow {
            number: it.number,
            conversation: it.conversation,
            writer: Writer::of(it.writer),
            len: it.plaintext.len(),
        });
        let secret = join(texts.iter().map(|it| &it.plaintext));
        (Self::Unread { rows: rows.collect(), next }, secret)
    }

    pub(crate) fn history(rows: &[HistoryRow]) -> (Self, Secret) {
        let entries = rows.iter().map(|it| HistoryEntry {
            number: it.number,
            is_sent: it.is_sent,
            writer: Writer::of(it.writer),
            time: it.time,
            len: it.plaintext.len(),
            delivery: it.delivery,
        });
        let secret = join(rows.iter().map(|it| &it.plaintext));
        (Self::History(entries.collect()), secret)
    }
}

/// Combines unread messages with their plaintexts. Returns `None` if the secret is too short.
pub(super) fn unread_of(rows: &[UnreadRow], mut secret: &[u8]) -> Option<Vec<Unread>> {
    let unread = rows.iter().map(|row| {
        let plaintext = take(&mut secret, row.len)?;
        let writer = row.writer.address()?;
        Some(Unread { number: row.number, conversation: row.conversation, writer, plaintext })
    });
    unread.collect()
}

/// Combines rows of a conversation with their plaintexts. Returns `None` if the secret is too
/// short.
pub(super) fn history_of(entries: &[HistoryEntry], mut secret: &[u8]) -> Option<Vec<HistoryRow>> {
    let rows = entries.iter().map(|entry| {
        let HistoryEntry { number, is_sent, time, len, delivery, ref writer } = *entry;
        let plaintext = take(&mut secret, len)?;
        let row = HistoryRow::new(number, is_sent, writer.address()?, time, plaintext);
        Some(HistoryRow { delivery, ..row })
    });
    rows.collect()
}
