//! Results of a sync with the hub.

use endseal_crypto::ed25519::PublicKey;
use endseal_keyring::device::Address;
use endseal_keyring::roster::GroupId;
use serde::{Deserialize, Serialize};

use super::arrivals::{Noted, TextsOf};
use super::conversation::Conversation;
use super::conversation_text;
use super::departure::Departure;
use super::device_change::DeviceChange;
use super::hidden_team::TeamRequest;
use super::hub_move::HubMove;
use super::team_change::TeamChange;
use crate::wire_text;

/// Results of a sync, even of one that failed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SyncReport {
    /// Messages that were delivered to the inbox.
    pub received: u64,
    /// Messages that arrived and cannot be opened yet.
    pub parked: u64,
    /// Texts that were encrypted.
    pub encrypted: u64,
    /// Texts whose receiving devices are all gone. They are encrypted again for the current
    /// devices.
    pub returned: u64,
    /// Frames of texts that the hub has accepted.
    pub sent: u64,
    /// Receipts and notices that arrived, and those that the hub has accepted.
    pub receipts: u64,
    /// Problems that were stored.
    pub problems: u64,
    /// Gaps in the mailbox: frames that the hub has deleted.
    pub gaps: Vec<Lost>,
    /// Groups, persons and devices to which nothing was encrypted.
    pub skipped: Vec<Skipped>,
    /// True if a mailbox is full, so that texts wait on this device.
    pub mailbox_full: bool,
    /// Set if the hub has lost frames, because its database is an older copy: the time of its last
    /// acknowledgement, in milliseconds since 1970.
    pub hub_forgot: Option<u64>,
    /// Changes of the hub's address.
    #[serde(default)]
    pub hub_moves: Vec<HubMove>,
    /// Milliseconds by which the clock of this device is behind that of the hub; negative if it is
    /// ahead, and 0 if they agree.
    #[serde(default)]
    pub clock_behind: i64,
    /// True if the hub has another record of this person of the same epoch: the change that this
    /// device made of the devices is not in force.
    pub record_conflict: bool,
    /// Devices that persons have newly, or have no more.
    pub device_changes: Vec<DeviceChange>,
    /// Teams whose texts wait, because their owners are no contacts.
    #[serde(default)]
    pub teams: Vec<TeamRequest>,
    /// Conversations of which this device is no member any more.
    #[serde(default)]
    pub left: Vec<ReportedConversation>,
    /// Teams that were changed on this device and by others at the same time: the change that was
    /// made here is not in force.
    #[serde(default)]
    pub replaced: Vec<ReportedConversation>,
    /// Members who have left teams, and whom the rosters still have.
    #[serde(default)]
    pub departures: Vec<Departure>,
    /// Changes of teams that came into force, and that this device did not make.
    #[serde(default)]
    pub team_changes: Vec<TeamChange>,
    /// Texts of unknown senders, which wait until the user accepts them.
    pub requests: Vec<PersonTexts>,
    /// Texts of unknown senders that were dropped, because there was no room.
    pub no_room: Vec<PersonTexts>,
    /// Texts of blocked persons that were dropped.
    pub blocked: Vec<PersonTexts>,
}

impl SyncReport {
    /// Adds the results of a later step of the sync.
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
        self.hub_moves.extend(other.hub_moves);
        if other.clock_behind != 0 {
            self.clock_behind = other.clock_behind;
        }
        self.record_conflict |= other.record_conflict;
        self.device_changes.extend(other.device_changes);
        add_new(&mut self.teams, other.teams);
        add_new(&mut self.left, other.left);
        add_new(&mut self.replaced, other.replaced);
        add_new(&mut self.departures, other.departures);
        self.team_changes.extend(other.team_changes);
        PersonTexts::add_all(&mut self.requests, other.requests);
        PersonTexts::add_all(&mut self.no_room, other.no_room);
        PersonTexts::add_all(&mut self.blocked, other.blocked);
    }

    /// Adds what was taken out of the inbox. `received` counted all of it before.
    pub(super) fn add_noted(&mut self, noted: Noted) {
        let Noted {
            receipts,
            others,
            blocked,
            requests,
            no_room,
            teams,
            left,
            departures,
            replaced,
            team_changes,
        } = noted;
        self.team_changes.extend(team_changes);
        add_new(&mut self.teams, teams);
        add_new(&mut self.departures, departures);
        let reported = |conversation| ReportedConversation { conversation };
        add_new(&mut self.left, left.into_iter().map(reported));
        self.add_replaced(replaced);
        self.received = self.received.saturating_sub(receipts + others);
        self.receipts += receipts;
        let rows =
            |of: TextsOf| of.into_iter().map(|(person, texts)| PersonTexts { person, texts });
        PersonTexts::add_all(&mut self.requests, rows(requests));
        PersonTexts::add_all(&mut self.no_room, rows(no_room));
        PersonTexts::add_all(&mut self.blocked, rows(blocked));
    }
}

impl SyncReport {
    /// Adds teams whose changes were made here and did not come into force.
    pub(super) fn add_replaced(&mut self, teams: Vec<GroupId>) {
        let teams = teams.into_iter().map(Conversation::Group);
        add_new(
            &mut self.replaced,
            teams.map(|conversation| ReportedConversation { conversation }),
        );
    }
}

fn add_new<T: PartialEq>(to: &mut Vec<T>, others: impl IntoIterator<Item = T>) {
    for other in others {
        if !to.contains(&other) {
            to.push(other);
        }
    }
}

/// A conversation of which something is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ReportedConversation {
    /// The person or team.
    #[serde(with = "conversation_text")]
    pub conversation: Conversation,
}

/// A number of texts of a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PersonTexts {
    /// Identity of the person.
    #[serde(with = "wire_text::identity")]
    pub person: PublicKey,
    /// Number of texts.
    pub texts: u64,
}

impl PersonTexts {
    fn add_all(to: &mut Vec<Self>, others: impl IntoIterator<Item = Self>) {
        for other in others {
            match to.iter_mut().find(|it| it.person == other.person) {
                Some(known) => known.texts = known.texts.saturating_add(other.texts),
                None => to.push(other),
            }
        }
    }
}

/// Frames that were deleted before this device received them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Lost {
    /// Number of frames; 0 if the hub does not know it.
    pub count: u64,
    /// True if the frames were too old; false if the hub was restored from an older copy.
    pub is_expired: bool,
}

/// A group, a person or a device to which nothing was encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Skipped {
    /// The group or person.
    #[serde(with = "conversation_text")]
    pub to: Conversation,
    /// The device, if only this device was skipped.
    #[serde(with = "wire_text::device")]
    pub device: Option<Address>,
    /// Reason why nothing was encrypted.
    pub reason: SkippedReason,
}

/// Reason why nothing was encrypted to a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(rename_all = "snake_case")]
pub enum SkippedReason {
    /// The hub does not know the person.
    Unknown,
    /// The person has no device that is registered at the hub.
    NoDevice,
    /// The hub has no prekey of the device.
    NoPrekey,
    /// No message can be made in the group of the conversation.
    NoSession,
    /// Commits of the group are missing that the hub has.
    Behind,
    /// The mailbox of the device is full, so that it cannot be added. What is sent now does not
    /// reach it.
    Full,
    /// The hub's answer was not signed by the person, or is older than the stored record.
    Directory,
    /// The rosters of the group are missing or cannot be read.
    Group,
    /// This identity is not a member of the group.
    NotMember,
}
