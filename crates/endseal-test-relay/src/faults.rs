//! Faults of the relay, an aid for tests: each is what a relay in use does sometimes.

use core::time::Duration;

/// Faults of the relay. The default has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "tests make them")]
pub struct Faults {
    /// Forwards all events but each of this number; 1 forwards none.
    pub drop_every: Option<u64>,
    /// Forwards each event twice.
    pub repeat: bool,
    /// Holds an event of a connection back and sends it behind the next one.
    pub swap: bool,
    /// Forwards something else than it received.
    pub alter: Option<Lie>,
    /// Reports no fate of events and authentications.
    pub no_result: bool,
    /// Time from the arrival of a subscription until events are forwarded to it.
    pub delay_subscriptions: Option<Duration>,
    /// Reports no end of stored events.
    pub no_end_of_stored: bool,
    /// Refuses all events with this reason.
    pub refuse: Option<String>,
    /// Refuses events of this length in bytes or more with `invalid:`.
    pub refuse_longer: Option<usize>,
    /// Ends a connection without a report when it sends an event of this length or more.
    pub close_longer: Option<usize>,
    /// Ends a connection after it sent this number of events.
    pub close_after: Option<u64>,
    /// Ends each subscription at once with this reason.
    pub close_subscriptions: Option<String>,
    /// Asks each connection for authentication, and refuses events and requests until then.
    pub demand_auth: bool,
}

/// A lie about an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lie {
    /// Another signature.
    Signature,
    /// Another content, with the id and the signature of the original.
    Content,
}
