//! Results of a visit at the hub.

use endseal_keyring::device::Address;
use serde::{Deserialize, Serialize};

use super::conversation::Conversation;
use super::conversation_text;
use crate::wire_text;

/// Results of a visit, also of one that failed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SyncReport {
    /// Messages that arrived in the inbox.
    pub received: u64,
    /// Messages that arrived and cannot be opened yet.
    pub parked: u64,
    /// Texts that were encrypted.
    pub encrypted: u64,
    /// Texts whose devices are all gone: they are encrypted again for others.
    pub returned: u64,
    /// Frames of texts that the hub has taken.
    pub sent: u64,
    /// Receipts that arrived, and that the hub has taken.
    pub receipts: u64,
    /// Problems that were noted.
    pub problems: u64,
    /// Frames that the hub has deleted.
    pub gaps: Vec<Lost>,
    /// Groups, persons and devices to which nothing was encrypted.
    pub skipped: Vec<Skipped>,
    /// True if a mailbox is full, so that texts wait here.
    pub mailbox_full: bool,
    /// When the hub acknowledged the last frame that it has forgotten, in milliseconds since 1970:
    /// its database is one of earlier.
    pub hub_forgot: Option<u64>,
}

impl SyncReport {
    /// Adds the results of a later part of the visit.
    pub(super) fn add(&mut self, other: Self) {
        self.received += other.received;
        self.parked += other.parked;
        self.encrypted += other.encrypted;
        self.returned += other.returned;
        self.sent += other.sent;
        self.receipts += other.receipts;
        self.problems += other.problems;
        self.gaps.extend(other.gaps);
        self.skipped.extend(other.skipped);
        self.mailbox_full = other.mailbox_full;
        self.hub_forgot = self.hub_forgot.or(other.hub_forgot);
    }
}

/// Frames that were deleted before this device had them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Lost {
    /// Number of them, 0 if the hub does not know.
    pub count: u64,
    /// True if they were too old; otherwise the hub lost its memory.
    pub is_expired: bool,
}

/// A group, a person, or one of their devices, to which nothing was encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Skipped {
    /// The group or person.
    #[serde(with = "conversation_text")]
    pub to: Conversation,
    /// The device, if it is one.
    #[serde(with = "wire_text::device")]
    pub device: Option<Address>,
    /// Why.
    pub reason: SkippedReason,
}

/// Reason why nothing was encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(rename_all = "snake_case")]
pub enum SkippedReason {
    /// The hub does not know the person.
    Unknown,
    /// The person has no device at the hub.
    NoDevice,
    /// The hub has no prekey of the device.
    NoPrekey,
    /// The session with the device does not send any more.
    NoSession,
    /// The answer of the hub is not signed by the person, or is older than what is known.
    Directory,
    /// The rosters of the group are missing, or cannot be read.
    Group,
    /// This person is no member of the group.
    NotMember,
}
