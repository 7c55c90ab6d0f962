//! Events that a service reports.

use crate::messages::HubMove;

/// A change of state, for a log. It contains no person and no text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServiceEvent {
    /// The service is connected to the hub. The initial sync is complete, or the hub temporarily
    /// accepts no frames.
    Connected,
    /// The connection was lost or cannot be made. The service tries again.
    Disconnected {
        /// Reason in one line.
        cause: String,
    },
    /// The hub refused this device. The service tries again.
    Refused {
        /// Reason in one line.
        cause: String,
    },
    /// True if a remote mailbox is full, so that frames for it wait here; false when no mailbox is
    /// full any more.
    MailboxFull(bool),
    /// Texts of unknown senders and of blocked persons arrived.
    Unasked {
        /// Number of texts that wait as requests; `inbox --requests` shows them.
        requests: u64,
        /// Number of texts of unknown senders that were dropped, because there was no room.
        no_room: u64,
        /// Number of texts of blocked persons that were dropped.
        blocked: u64,
    },
    /// Texts of teams wait, because their owners are no contacts, this device is no member of
    /// conversations any more, or others changed teams.
    Membership {
        /// Number of teams whose texts wait; `sync` names them.
        teams: u64,
        /// Number of conversations that this device has left.
        left: u64,
        /// Number of members who have left teams.
        departures: u64,
        /// Number of teams that others changed at the same time as this person.
        replaced: u64,
        /// Number of changes of teams that others made; `sync` names them.
        changes: u64,
    },
    /// The hub's address changes, or the hub told an address that was refused.
    HubMove(HubMove),
    /// Messages failed since the last report; `inbox --problems` shows them.
    Problems {
        /// Number of messages that cannot be shown, and of frames that cannot be sent.
        problems: u64,
        /// Number of messages that the hub has deleted or lost; each loss counts at least one.
        lost: u64,
    },
}
