//! Replies. Plaintexts are the secret of the message, one behind the other.

use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::secret::Zeroizing;
use endseal_keyring::device::{Address, DeviceId};
use serde::{Deserialize, Serialize};

use crate::messages::conversation_text;
use crate::messages::{
    Conversation, HistoryRow, Problem, Status, SyncReport, TextDelivery, Unread,
};
use crate::wire_text;

/// Plaintexts behind a reply.
pub(crate) type Secret = Zeroizing<Vec<u8>>;

/// Reply to a request that succeeded.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LocalReply {
    /// It is done.
    Done,
    /// Numbers of what waits.
    Status {
        status: Status,
        /// Connected to the hub.
        connected: bool,
    },
    /// Number of texts that were kept.
    Said(u64),
    /// Results of a visit.
    Report(SyncReport),
    /// Texts that were not read.
    Unread {
        rows: Vec<UnreadRow>,
        /// Number up to which it was looked at; `None` at the end.
        next: Option<u64>,
    },
    /// Rows of a conversation.
    History(Vec<HistoryEntry>),
    /// Problems.
    Problems(Vec<Problem>),
}

/// A text that was not read.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct UnreadRow {
    number: u64,
    #[serde(with = "conversation_text")]
    conversation: Conversation,
    writer: Writer,
    /// Length of the plaintext in bytes.
    len: usize,
}

/// A row of a conversation.
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

/// A device that wrote a text.
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

/// The next plaintext of a secret.
fn take(secret: &mut &[u8], len: usize) -> Option<Secret> {
    let (plaintext, rest) = secret.split_at_checked(len)?;
    *secret = rest;
    Some(Zeroizing::new(plaintext.to_vec()))
}

/// Plaintexts, one behind the other.
fn join<'a>(plaintexts: impl Iterator<Item = &'a Secret> + Clone) -> Secret {
    // Never reallocated, so that no copy stays behind.
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

/// Texts that were not read; `None` if the secret does not have them.
pub(super) fn unread_of(rows: &[UnreadRow], mut secret: &[u8]) -> Option<Vec<Unread>> {
    let unread = rows.iter().map(|row| {
        let plaintext = take(&mut secret, row.len)?;
        let writer = row.writer.address()?;
        Some(Unread { number: row.number, conversation: row.conversation, writer, plaintext })
    });
    unread.collect()
}

/// Rows of a conversation; `None` if the secret does not have them.
pub(super) fn history_of(entries: &[HistoryEntry], mut secret: &[u8]) -> Option<Vec<HistoryRow>> {
    let rows = entries.iter().map(|entry| {
        let HistoryEntry { number, is_sent, time, len, delivery, ref writer } = *entry;
        let plaintext = take(&mut secret, len)?;
        let row = HistoryRow::new(number, is_sent, writer.address()?, time, plaintext);
        Some(HistoryRow { delivery, ..row })
    });
    rows.collect()
}
