//! Changes of a service's state.

/// A change of state, for a log. It names no person and no text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServiceEvent {
    /// Connected to the hub: what waits is sent and received.
    Connected,
    /// The connection is lost, or cannot be made. It is tried again.
    Disconnected {
        /// The cause in a line.
        cause: String,
    },
    /// The hub refuses this device. It is tried again.
    Refused {
        /// The cause in a line.
        cause: String,
    },
    /// A mailbox of another device is full, and frames for it wait here; or none is any more.
    MailboxFull(bool),
    /// Something went wrong with messages in the last minute: `inbox --problems` shows it.
    Problems {
        /// Messages that cannot be shown, and frames that cannot be sent.
        problems: u64,
        /// Messages that the hub has deleted or forgotten; at least one for each time.
        lost: u64,
    },
}
