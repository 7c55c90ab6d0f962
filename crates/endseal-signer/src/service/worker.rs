//! Event loop of the engine's thread.

#[cfg(test)]
mod tests;

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use core::sync::atomic::Ordering::Relaxed;
use core::time::Duration;
use core::{future, mem};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use endseal_nostr::connect::MAX_EVENT;
use endseal_relay::client::Notification;
use tokio::runtime::{Builder, Handle};
use tokio::sync::{mpsc, oneshot};
use tokio::task::yield_now;
use tokio::time::{MissedTickBehavior, interval};

use super::GRACE;
use super::devices::{DeviceNotice, DevicePorts};
use super::greetings::GreetingList;
use super::handle::Call;
use super::relay_lines::Said;
use super::relays::{Reaching, Relays, SubscriptionId};
use crate::control::{Command, CommandError, Reply};
use crate::engine::{Engine, Outgoing};
use crate::log::Verification;
use crate::metrics::Metrics;

/// Relays need not confirm a subscription. After this time a connection is treated as subscribed.
const UNSAID: Duration = Duration::from_secs(2);
/// Maximum number of events in one transaction, and their maximum size in bytes.
const BATCH: usize = 256;
const BATCH_BYTES: usize = 4 << 20;

/// Reason of a response that is longer than its relays announce to accept.
const TOO_LARGE: &str = "invalid: too large";

/// Command that was executed, and whose reply waits until relays have confirmed the subscription.
struct Subscribing {
    subscriptions: Vec<SubscriptionId>,
    since: Instant,
    /// App whose client is greeted then.
    greeting: Option<[u8; 32]>,
    outcome: Result<Reply, CommandError>,
    reply: oneshot::Sender<Result<Reply, CommandError>>,
}

/// Engine with its relay connections.
pub(super) struct Worker {
    devices: DevicePorts,
    engine: Engine,
    metrics: Arc<Metrics>,
    relays: Relays,
    /// Signals the first subscribed relay, or that there is no relay to connect to.
    first: Option<oneshot::Sender<()>>,
    first_connection: Option<Instant>,
    /// Commands whose apps' relays have not confirmed yet, in the order of their arrival.
    subscribing: Vec<Subscribing>,
    /// Clients that connect by their own URI, and have not sent a request.
    greetings: GreetingList,
    /// Commands that verify the log. Requests are processed between two pages.
    verifying: VecDeque<(Verification, oneshot::Sender<Result<Reply, CommandError>>)>,
}

impl Worker {
    pub(super) fn new(
        engine: Engine,
        metrics: Arc<Metrics>,
        reaching: Reaching,
        events: mpsc::Sender<(usize, Notification)>,
        first: oneshot::Sender<()>,
        devices: DevicePorts,
    ) -> Self {
        Self {
            devices,
            engine,
            metrics,
            relays: Relays::new(reaching, events),
            first: Some(first),
            first_connection: None,
            subscribing: Vec::new(),
            greetings: GreetingList::default(),
            verifying: VecDeque::new(),
        }
    }

    /// Runs until `stopped` completes or is dropped. Connections are made on the runtime `sockets`.
    pub(super) fn run(
        mut self,
        sockets: &Handle,
        mut events: mpsc::Receiver<(usize, Notification)>,
        mut calls: mpsc::Receiver<Call>,
        mut notices: mpsc::UnboundedReceiver<(usize, DeviceNotice)>,
        mut stopped: oneshot::Receiver<()>,
    ) {
        let Ok(runtime) = Builder::new_current_thread().enable_time().build() else { return };
        runtime.block_on(async move {
            let mut second = interval(Duration::from_secs(1));
            second.set_missed_tick_behavior(MissedTickBehavior::Delay);
            self.subscribe(sockets);
            if self.relays.len() == 0 {
                // No app exists, so there is no relay to wait for.
                self.started();
            }
            loop {
                tokio::select! {
                    _ = &mut stopped => break,
                    Some(call) = calls.recv() => self.command(call, sockets),
                    Some(event) = events.recv() => self.receive(event, &mut events),
                    Some((port, notice)) = notices.recv() => self.device(port, notice),
                    () = future::ready(()), if !self.verifying.is_empty() => self.verify_page(),
                    _ = second.tick() => {
                        // Some relays never confirm a subscription.
                        if self.first_connection.is_some_and(|it| it.elapsed() > UNSAID) {
                            self.started();
                        }
                        let outgoing = self.engine.tick(now());
                        self.publish(outgoing);
                        self.greet();
                    }
                }
                self.devices.pump(now(), &mut self.engine);
                self.subscribe(sockets);
                self.reply_subscribed();
                self.greetings.reply(&self.relays);
                if !self.verifying.is_empty() {
                    // The timer advances only while this task yields.
                    yield_now().await;
                }
            }
            for command in mem::take(&mut self.subscribing) {
                self.reply(command);
            }
            self.greetings.stop();
            let outgoing = self.engine.stop(now());
            self.publish(outgoing);
            self.relays.stop(GRACE).await;
            // Dropping the engine closes the store; committed changes are safe in any case.
        });
    }

    fn device(&mut self, port: usize, notice: DeviceNotice) {
        let answer = self.devices.notice(port, notice, &mut self.engine);
        if let Some((number, answer)) = answer {
            let outgoing = self.engine.device_answered(now(), number, &answer);
            self.publish(outgoing);
        }
    }

    fn command(&mut self, call: Call, sockets: &Handle) {
        if call.reply.is_closed() {
            return;
        }
        if matches!(call.request.command, Command::Verify) {
            return self.verifying.push_back((Verification::new(None), call.reply));
        }
        let (mut reply, outgoing) = self.engine.command(now(), call.request);
        if let Ok(Reply::Status(status)) = &mut reply {
            let relays = status.relays.iter().chain(status.app_relays.iter().map(|it| &it.relay));
            status.connected =
                relays.filter(|url| self.relays.is_connected(url)).cloned().collect();
        }
        self.publish(outgoing);
        let subscriptions = self.subscribe(sockets);
        self.subscribing.push(Subscribing {
            subscriptions,
            since: Instant::now(),
            greeting: self.engine.new_greeting(),
            outcome: reply,
            reply: call.reply,
        });
        self.reply_subscribed();
    }

    /// Replies to the commands whose relays have confirmed, or have not confirmed in time.
    fn reply_subscribed(&mut self) {
        let is_expected = |it: &Subscribing| {
            it.since.elapsed() <= UNSAID && self.relays.is_expected(&it.subscriptions)
        };
        let (subscribing, ready): (Vec<_>, Vec<_>) =
            mem::take(&mut self.subscribing).into_iter().partition(is_expected);
        self.subscribing = subscribing;
        for command in ready {
            self.reply(command);
        }
    }

    fn reply(&mut self, command: Subscribing) {
        match (command.outcome, command.greeting) {
            (Ok(reply), Some(transport)) => {
                self.greetings.add(transport, reply, command.reply);
                self.greet();
            }
            (outcome, _) => {
                // The caller may have disconnected.
                let _ = command.reply.send(outcome);
            }
        }
    }

    fn greet(&mut self) {
        self.greetings.send(&mut self.engine, &self.relays, now());
    }

    /// Verifies the next page of the log for the oldest command whose caller is still connected.
    fn verify_page(&mut self) {
        self.verifying.retain(|(_, reply)| !reply.is_closed());
        let Some((mut verification, reply)) = self.verifying.pop_front() else { return };
        match self.engine.verify_page(&mut verification) {
            Some(outcome) => {
                let _ = reply.send(outcome);
            }
            None => self.verifying.push_front((verification, reply)),
        }
    }

    /// Takes all queued notifications up to the batch limits, and processes their events together.
    fn receive(
        &mut self,
        first: (usize, Notification),
        events: &mut mpsc::Receiver<(usize, Notification)>,
    ) {
        let (mut arrived, mut bytes) = (Vec::new(), 0);
        let mut next = Some(first);
        while let Some((number, notification)) = next {
            match notification {
                Notification::Event(json) if json.len() <= MAX_EVENT => {
                    bytes += json.len();
                    arrived.push(json.to_vec());
                }
                other => self.notice(number, other),
            }
            next = if arrived.len() < BATCH && bytes < BATCH_BYTES {
                events.try_recv().ok()
            } else {
                None
            };
        }
        if !arrived.is_empty() {
            let outgoing = self.engine.arrive(now(), &mut arrived);
            self.publish(outgoing);
        }
    }

    fn notice(&mut self, number: usize, notification: Notification) {
        match notification {
            Notification::Connected => {
                self.connected(number, Ok(()));
                self.first_connection.get_or_insert_with(Instant::now);
            }
            Notification::Subscribed(subscription) => {
                self.relays.confirmed(number, subscription);
                self.started();
                self.greet();
            }
            Notification::Disconnected { reason, suspect } => {
                self.metrics.disconnects.fetch_add(1, Relaxed);
                self.connected(number, Err(reason.to_string()));
                self.greetings.disconnected(number);
                let relay = self.relays.address(number).map(ToString::to_string);
                let relay = relay.unwrap_or_default();
                tracing::warn!(target: "relay", relay, cause = %reason, "disconnected");
                if let Some(event) = suspect {
                    self.refused(&event, &reason.to_string());
                }
            }
            Notification::Result { id, accepted: true, .. } => {
                self.greetings.reported(number, &id, Ok(()));
            }
            Notification::Result { id, accepted: false, reason } => {
                if let Some((relay, count)) = self.relays.line(number, Said::Refusal, 1) {
                    tracing::warn!(target: "relay", relay, reason, count, "an answer was refused");
                }
                if !self.greetings.reported(number, &id, Err(reason.clone())) {
                    self.refused(&id, &reason);
                }
            }
            Notification::Postponed { reason, .. } => {
                if let Some((relay, count)) = self.relays.line(number, Said::Postponement, 1) {
                    tracing::warn!(target: "relay", relay, reason, count, "an answer is sent again");
                }
            }
            Notification::Unsent(_) => {
                self.metrics.answers_unsent.fetch_add(1, Relaxed);
                if let Some((relay, count)) = self.relays.line(number, Said::Unsent, 1) {
                    tracing::warn!(target: "relay", relay, count, "an answer was not sent in time");
                }
            }
            Notification::Event(json) => {
                let outgoing = self.engine.refuse_long(now(), &mut json.to_vec());
                self.publish(outgoing.into_iter().collect());
            }
            Notification::Skipped { count, bytes } => {
                self.engine.ignore_oversized(count);
                if let Some((relay, count)) = self.relays.line(number, Said::Skipped, count) {
                    tracing::warn!(target: "relay", relay, count, bytes, "a message was skipped");
                }
            }
            Notification::Challenge(challenge) => {
                let keys = self.relays.challenged(number, &challenge);
                self.log_in(number, &challenge, &keys);
            }
            Notification::Notice(text) => {
                if let Some((relay, count)) = self.relays.line(number, Said::Notice, 1) {
                    tracing::info!(target: "relay", relay, text, count, "notice");
                }
            }
            _ => {}
        }
    }

    fn started(&mut self) {
        if let Some(first) = self.first.take() {
            // The signer may have started before, after its timeout.
            let _ = first.send(());
        }
    }

    fn connected(&mut self, number: usize, state: Result<(), String>) {
        let connected = self.relays.note(number, state);
        self.metrics.relays_connected.store(connected as u64, Relaxed);
    }

    fn refused(&mut self, event: &[u8; 32], reason: &str) {
        for outgoing in self.engine.refused(now(), event, reason) {
            let _ = self.relays.publish(&outgoing);
        }
    }

    fn log_in(&mut self, number: usize, challenge: &str, keys: &[[u8; 32]]) {
        let Some(address) = self.relays.address(number) else { return };
        let events = self.engine.authenticate(address, keys, challenge, now());
        if let Some(relay) = self.relays.relay(number) {
            relay.authenticate(challenge, events);
        }
    }

    fn publish(&mut self, outgoing: Vec<Outgoing>) {
        for outgoing in outgoing {
            if !self.relays.publish(&outgoing) {
                self.refused(&outgoing.event.id, TOO_LARGE);
            }
        }
    }

    /// Updates the subscriptions after apps have changed. Returns those with new keys.
    fn subscribe(&mut self, sockets: &Handle) -> Vec<SubscriptionId> {
        let mut grown = Vec::new();
        if let Some(subscriptions) = self.engine.new_subscriptions() {
            let log_ins;
            (grown, log_ins) = self.relays.subscribe(&subscriptions, sockets, now());
            for (number, challenge, keys) in log_ins {
                self.log_in(number, &challenge, &keys);
            }
            self.metrics.relays.store(self.relays.len() as u64, Relaxed);
            if self.relays.len() == 0
                && let Some(first) = self.first.take()
            {
                // No app exists, so there is no relay to wait for.
                let _ = first.send(());
            }
        }
        grown
    }
}

/// Returns the system time in seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
