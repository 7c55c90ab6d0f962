//! Greetings to clients that connect by their own URI, at the relays of the URI.

use alloc::collections::BTreeMap;
use core::time::Duration;
use std::time::Instant;

use tokio::sync::oneshot;

use super::relays::{RelayState, Relays};
use crate::control::{CommandError, GreetedRelay, Reply};
use crate::engine::Engine;

/// First and longest interval of greetings on a connection. It doubles with each greeting.
const FIRST_INTERVAL: Duration = Duration::from_secs(1);
const LONGEST_INTERVAL: Duration = Duration::from_secs(10);
/// Relays need not report on an event. After this time without a report it counts as taken.
const UNREPORTED: Duration = Duration::from_secs(2);
/// Maximum time until the reply to a command.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// Maximum number of remembered events of one greeting.
const MAX_EVENTS: usize = 64;

type Outcome = Result<Reply, CommandError>;

/// Greeting of one client until its first request.
struct Greeting {
    transport: [u8; 32],
    since: Instant,
    /// Relays by the numbers of their connections.
    relays: BTreeMap<usize, Greeted>,
    /// Ids of the events, oldest first.
    events: Vec<[u8; 32]>,
    /// Reply to the command, until each relay has reported.
    reply: Option<(Reply, oneshot::Sender<Outcome>)>,
}

/// Relay at which a client is greeted.
struct Greeted {
    url: String,
    /// Time of the last greeting on this connection.
    sent: Option<Instant>,
    /// Time from the last greeting to the next one.
    interval: Duration,
    /// The relay's report about the first greeting that it reported on: its reason if it refused.
    report: Option<Result<(), String>>,
}

/// Greetings of all clients that have not sent a request.
#[derive(Default)]
pub(super) struct GreetingList(Vec<Greeting>);

impl GreetingList {
    /// Adds the client of an app. The command that added the app is replied to once each relay has
    /// taken the greeting or failed, or after ten seconds.
    pub(super) fn add(
        &mut self,
        transport: [u8; 32],
        reply: Reply,
        sender: oneshot::Sender<Outcome>,
    ) {
        self.0.push(Greeting {
            transport,
            since: Instant::now(),
            relays: BTreeMap::new(),
            events: Vec::new(),
            reply: Some((reply, sender)),
        });
    }

    /// Sends the greetings that are due: at relays that were connected since the last one, or after
    /// one to ten seconds. Greetings that are not needed any more are removed.
    pub(super) fn send(&mut self, engine: &mut Engine, relays: &Relays, now: u64) {
        let at = Instant::now();
        self.0.retain_mut(|greeting| {
            if !greeting.is_due(relays, at) {
                return true;
            }
            let Some((outgoing, urls)) = engine.greet(now, &greeting.transport) else {
                greeting.finish();
                return false;
            };
            for (number, url) in relays.numbers(&urls) {
                let greeted = greeting.relays.entry(number).or_insert_with(|| Greeted::new(url));
                if greeted.is_due(relays.state(number), at) {
                    relays.publish_at(number, &outgoing);
                    greeted.sent_at(at);
                }
            }
            if greeting.events.len() == MAX_EVENTS {
                greeting.events.remove(0);
            }
            greeting.events.push(outgoing.event.id);
            true
        });
    }

    /// Records that a connection ended: its relay is greeted again on the next one.
    pub(super) fn disconnected(&mut self, number: usize) {
        let relays = self.0.iter_mut().filter_map(|greeting| greeting.relays.get_mut(&number));
        relays.for_each(|greeted| (greeted.sent, greeted.interval) = (None, FIRST_INTERVAL));
    }

    /// Records a relay's report about an event. Returns true if the event is a greeting.
    pub(super) fn reported(
        &mut self,
        number: usize,
        event: &[u8; 32],
        report: Result<(), String>,
    ) -> bool {
        let Some(greeting) = self.0.iter_mut().find(|it| it.events.contains(event)) else {
            return false;
        };
        if let Some(greeted) = greeting.relays.get_mut(&number) {
            greeted.report.get_or_insert(report);
        }
        true
    }

    /// Replies to the commands whose relays have all reported or failed.
    pub(super) fn reply(&mut self, relays: &Relays) {
        for greeting in &mut self.0 {
            if greeting.reply.is_some() && greeting.is_decided(relays) {
                greeting.collect(relays);
                greeting.finish();
            }
        }
    }

    /// Replies to all commands, because the signer stops.
    pub(super) fn stop(&mut self) {
        self.0.iter_mut().for_each(Greeting::finish);
    }
}

impl Greeting {
    fn is_due(&self, relays: &Relays, at: Instant) -> bool {
        let mut known = self.relays.iter();
        self.relays.is_empty() || known.any(|(number, it)| it.is_due(relays.state(*number), at))
    }

    fn is_decided(&self, relays: &Relays) -> bool {
        let is_decided = |(number, greeted): (&usize, &Greeted)| {
            greeted.report.is_some()
                || match (relays.state(*number), greeted.sent) {
                    (RelayState::Connected, Some(sent)) => sent.elapsed() >= UNREPORTED,
                    (RelayState::Failed(_), _) => true,
                    _ => false,
                }
        };
        self.since.elapsed() >= LONGEST_WAIT
            || !self.relays.is_empty() && self.relays.iter().all(is_decided)
    }

    /// Writes the reports of the relays into the reply.
    fn collect(&mut self, relays: &Relays) {
        let Some((Reply::Invited { greeted, .. }, _)) = &mut self.reply else { return };
        // Those that cannot be used are in the reply already.
        greeted.extend(self.relays.iter().map(|(number, it)| {
            let failure = match (&it.report, relays.state(*number), it.sent) {
                (Some(Ok(())), ..) | (None, RelayState::Connected, Some(_)) => None,
                (Some(Err(reason)), ..) => Some(reason.clone()),
                (None, RelayState::Failed(reason), _) => Some(reason.to_owned()),
                (None, ..) => Some("the relay is not connected yet".to_owned()),
            };
            GreetedRelay { relay: it.url.clone(), failure }
        }));
    }

    fn finish(&mut self) {
        if let Some((reply, sender)) = self.reply.take() {
            // The caller may have disconnected.
            let _ = sender.send(Ok(reply));
        }
    }
}

impl Greeted {
    fn new(url: String) -> Self {
        Self { url, sent: None, interval: FIRST_INTERVAL, report: None }
    }

    fn is_due(&self, state: RelayState<'_>, at: Instant) -> bool {
        let is_connected = matches!(state, RelayState::Connected);
        is_connected && self.sent.is_none_or(|sent| at.duration_since(sent) >= self.interval)
    }

    fn sent_at(&mut self, at: Instant) {
        if self.sent.is_some() {
            self.interval = (self.interval * 2).min(LONGEST_INTERVAL);
        }
        self.sent = Some(at);
    }
}
