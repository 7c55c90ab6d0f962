//! Connections to the relays of all apps.

use alloc::collections::{BTreeMap, BTreeSet};
use core::net::SocketAddr;
use core::time::Duration;
use std::time::Instant;

use base16ct::lower::encode_string as hex;
use endseal_nostr::connect::{KIND, MAX_EVENT, MAX_SKEW, MEMORY};
use endseal_relay::Proxy;
use endseal_relay::address::{Address, Reach};
use endseal_relay::client::{Notification, Relay, Settings};
use endseal_relay::message::Filter;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use super::relay_lines::{RelayLines, Said};
use crate::engine::{Outgoing, Subscription};

/// Size in bytes of a message around its event: `["EVENT",…]`.
const AROUND_EVENT: usize = 10;
/// Maximum size in bytes of a message that a relay may send: the longest event that is read.
pub(super) const MAX_MESSAGE: usize = MAX_EVENT + 128 * 1024;
/// Number of seconds before the current time from which a new subscription requests events. It is
/// above the age of requests that are executed, so that clients whose clocks are late get an error.
/// The ids of events are kept as long, so that relays that store them cause no further errors.
const OVERLAP: u64 = MEMORY;
const _: () = assert!(OVERLAP >= 2 * MAX_SKEW, "a client five minutes off gets its error");

/// Settings for connections to relays.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reaching {
    pub(super) proxy: Option<SocketAddr>,
    pub(super) allow_private: bool,
}

struct Connection {
    number: usize,
    address: Address,
    relay: Relay,
    keys: BTreeSet<[u8; 32]>,
    reach: Reach,
    /// Number of the latest subscription, and of the latest one that the relay confirmed.
    subscription: u64,
    confirmed: u64,
    is_connected: bool,
    /// The challenge of the relay on this connection (NIP-42), which keys that come later answer,
    /// too.
    challenge: Option<String>,
    /// True once the first attempt to connect has ended, with or without a connection.
    was_tried: bool,
    /// Reason why there is no connection; empty if there was no attempt.
    failure: String,
    lines: RelayLines,
}

/// State of the connection to a relay.
#[derive(Clone, Copy, Debug)]
pub(super) enum RelayState<'r> {
    /// The first attempt to connect has not ended.
    Connecting,
    Connected,
    /// There is no connection, for this reason.
    Failed(&'r str),
}

impl Connection {
    fn state(&self) -> RelayState<'_> {
        match (self.is_connected, self.was_tried) {
            (true, _) => RelayState::Connected,
            (false, true) => RelayState::Failed(&self.failure),
            (false, false) => RelayState::Connecting,
        }
    }

    /// Returns true if the relay may still confirm this subscription soon.
    fn is_expected(&self, subscription: u64) -> bool {
        self.confirmed < subscription && (self.is_connected || !self.was_tried)
    }
}

/// Subscription: the number of its connection, and its own number.
pub(super) type SubscriptionId = (usize, u64);

/// Keys that answer a challenge: the number of the connection, the challenge, and the keys.
pub(super) type LogIn = (usize, String, Vec<[u8; 32]>);

/// Connections by URL. All apps that use a relay share one connection.
pub(super) struct Relays {
    reaching: Reaching,
    events: mpsc::Sender<(usize, Notification)>,
    connections: BTreeMap<String, Connection>,
    next: usize,
}

impl Relays {
    pub(super) fn new(reaching: Reaching, events: mpsc::Sender<(usize, Notification)>) -> Self {
        Self { reaching, events, connections: BTreeMap::new(), next: 0 }
    }

    /// Connects to the relays of all apps and disconnects from all others. Returns the
    /// subscriptions with keys for which their relay has not been asked before, and the keys that
    /// have not logged in on a connection whose relay has asked for it.
    pub(super) fn subscribe(
        &mut self,
        subscriptions: &[Subscription],
        runtime: &Handle,
        now: u64,
    ) -> (Vec<SubscriptionId>, Vec<LogIn>) {
        let mut wanted: BTreeMap<String, (Address, BTreeSet<[u8; 32]>, Reach)> = BTreeMap::new();
        for subscription in subscriptions {
            for url in &subscription.relays {
                // The URLs were checked when they were recorded.
                let Ok(address) = Address::parse_insecure(url) else { continue };
                let is_public = subscription.is_foreign && !self.reaching.allow_private;
                let reach = if is_public { Reach::Public } else { Reach::Any };
                let entry = wanted
                    .entry(address.to_string())
                    .or_insert_with(|| (address, BTreeSet::new(), reach));
                entry.1.insert(subscription.transport);
                // A relay that the user chose may be private even if a client's URI names it, too.
                if reach == Reach::Any {
                    entry.2 = reach;
                }
            }
        }
        self.connections.retain(|url, it| wanted.get(url).is_some_and(|new| new.2 == it.reach));
        let (mut grown, mut log_ins) = (Vec::new(), Vec::new());
        for (url, (address, keys, reach)) in wanted {
            match self.connections.get_mut(&url) {
                Some(connection) if connection.keys == keys => {}
                Some(connection) => {
                    connection.subscription = connection.relay.subscribe(Some(filter(&keys, now)));
                    let new: Vec<_> = keys.difference(&connection.keys).copied().collect();
                    if !new.is_empty() {
                        grown.push((connection.number, connection.subscription));
                        let challenge = connection.challenge.clone();
                        log_ins.extend(challenge.map(|it| (connection.number, it, new)));
                    }
                    connection.keys = keys;
                }
                None => {
                    let connection = self.connect(address, keys, reach, runtime, now);
                    grown.push((connection.number, connection.subscription));
                    self.connections.insert(url, connection);
                }
            }
        }
        (grown, log_ins)
    }

    /// Records the challenge of a relay. Returns the keys that are subscribed there.
    pub(super) fn challenged(&mut self, number: usize, challenge: &str) -> Vec<[u8; 32]> {
        let connection = self.connections.values_mut().find(|it| it.number == number);
        let Some(connection) = connection else { return Vec::new() };
        connection.challenge = Some(challenge.to_owned());
        connection.keys.iter().copied().collect()
    }

    /// Records that a relay has confirmed a subscription and all earlier ones.
    pub(super) fn confirmed(&mut self, number: usize, subscription: u64) {
        if let Some(connection) = self.connections.values_mut().find(|it| it.number == number) {
            connection.confirmed = connection.confirmed.max(subscription);
        }
    }

    /// Returns true if one of these subscriptions may still be confirmed soon.
    pub(super) fn is_expected(&self, subscriptions: &[SubscriptionId]) -> bool {
        self.connections.values().any(|connection| {
            let mut own = subscriptions.iter().filter(|(number, _)| *number == connection.number);
            own.any(|(_, subscription)| connection.is_expected(*subscription))
        })
    }

    fn connect(
        &mut self,
        address: Address,
        keys: BTreeSet<[u8; 32]>,
        reach: Reach,
        runtime: &Handle,
        now: u64,
    ) -> Connection {
        let mut settings = Settings::new(address.clone());
        settings.reach = reach;
        settings.limits.message = MAX_MESSAGE;
        settings.timing.overlap = Duration::from_secs(OVERLAP);
        settings.proxy = self.reaching.proxy.map(|address| Proxy { address, isolation: None });
        let number = self.next;
        self.next += 1;
        let _guard = runtime.enter();
        let relay = Relay::start(settings, number, self.events.clone());
        let subscription = relay.subscribe(Some(filter(&keys, now)));
        Connection {
            number,
            address,
            relay,
            keys,
            reach,
            subscription,
            confirmed: 0,
            is_connected: false,
            challenge: None,
            was_tried: false,
            failure: String::new(),
            lines: RelayLines::default(),
        }
    }

    /// Publishes a response on all relays of its app. Returns false if it exceeds the limit of
    /// each.
    pub(super) fn publish(&self, outgoing: &Outgoing) -> bool {
        let len = (outgoing.event.json.len() + AROUND_EVENT) as u64;
        let mut relays =
            self.connections.values().filter(|it| it.keys.contains(&outgoing.transport));
        let mut fits = 0;
        let mut all = 0;
        for connection in relays.by_ref() {
            all += 1;
            if connection.relay.max_message_length().is_none_or(|max| len <= max) {
                fits += 1;
                // The queue drops old events first, which are too old for their clients.
                let _ = connection.relay.publish(&outgoing.event);
            }
        }
        all == 0 || fits > 0
    }

    /// Publishes an event on one relay.
    pub(super) fn publish_at(&self, number: usize, outgoing: &Outgoing) {
        if let Some(relay) = self.relay(number) {
            let _ = relay.publish(&outgoing.event);
        }
    }

    /// Returns the numbers of the connections to these relays, with their URLs.
    pub(super) fn numbers(&self, urls: &[String]) -> Vec<(usize, String)> {
        let number = |url: &String| {
            let address = Address::parse_insecure(url).ok()?;
            let connection = self.connections.get(&address.to_string())?;
            Some((connection.number, url.clone()))
        };
        urls.iter().filter_map(number).collect()
    }

    /// Returns the state of a connection.
    pub(super) fn state(&self, number: usize) -> RelayState<'_> {
        let connection = self.connections.values().find(|it| it.number == number);
        connection.map_or(RelayState::Failed("the relay is not used any more"), Connection::state)
    }

    /// Records that a relay is connected, or the reason why it is not. Returns the number of
    /// connected relays.
    pub(super) fn note(&mut self, number: usize, state: Result<(), String>) -> usize {
        if let Some(connection) = self.connections.values_mut().find(|it| it.number == number) {
            connection.is_connected = state.is_ok();
            connection.challenge = None;
            connection.was_tried = true;
            connection.failure = state.err().unwrap_or_default();
        }
        self.connections.values().filter(|it| it.is_connected).count()
    }

    /// Returns true if the relay with this URL is connected.
    pub(super) fn is_connected(&self, url: &str) -> bool {
        let url = Address::parse_insecure(url).map(|address| address.to_string());
        let connection = url.ok().and_then(|url| self.connections.get(&url));
        connection.is_some_and(|it| it.is_connected)
    }

    /// Counts messages of a relay. If they may be logged now, returns the relay's address and the
    /// number of messages that the log line represents.
    pub(super) fn line(&mut self, number: usize, said: Said, count: u64) -> Option<(String, u64)> {
        let connection = self.connections.values_mut().find(|it| it.number == number)?;
        let count = connection.lines.note(said, count, Instant::now())?;
        Some((connection.address.to_string(), count))
    }

    pub(super) fn len(&self) -> usize {
        self.connections.len()
    }

    pub(super) fn address(&self, number: usize) -> Option<&Address> {
        self.connections.values().find(|it| it.number == number).map(|it| &it.address)
    }

    pub(super) fn relay(&self, number: usize) -> Option<&Relay> {
        self.connections.values().find(|it| it.number == number).map(|it| &it.relay)
    }

    /// Sends the queued events and closes all connections, each within `grace`.
    pub(super) async fn stop(self, grace: Duration) {
        let mut stopping = tokio::task::JoinSet::new();
        for connection in self.connections.into_values() {
            stopping.spawn(connection.relay.stop(grace));
        }
        stopping.join_all().await;
    }
}

/// Returns the filter of requests to these keys.
fn filter(keys: &BTreeSet<[u8; 32]>, now: u64) -> Filter {
    let values = keys.iter().map(|key| hex(key)).collect();
    Filter {
        kinds: Some(vec![KIND]),
        tags: vec![('p', values)],
        since: Some(now.saturating_sub(OVERLAP)),
        ..Filter::default()
    }
}
