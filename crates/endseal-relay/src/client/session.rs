//! One connection from its handshake to its end.

use alloc::collections::VecDeque;
use core::future::poll_fn;
use core::ops::Range;
use core::pin::Pin;
use core::task::Poll;
use core::time::Duration;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use endseal_nostr::json::Text;
use futures_util::{Sink as _, SinkExt as _, Stream as _, StreamExt as _};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_websockets::{CloseCode, Message, Payload};

use super::notification::{Disconnect, Notification};
use super::outbox::{Refusal, Reported};
use super::settings::Settings;
use super::shared::Shared;
use super::{LARGE, MAX_CHALLENGES, backoff};
use crate::connect::{Skipped, Socket};
use crate::message::{self, RelayMessage, printable};

/// The prefix of reasons that report a missing authentication (NIP-42).
const AUTH_REQUIRED: &str = "auth-required:";

/// The prefix of reasons that report too many messages (NIP-01).
const RATE_LIMITED: &str = "rate-limited:";

/// Maximum time for sending the close message.
const GOODBYE: Duration = Duration::from_secs(1);

/// Why and when a connection ended.
pub(super) struct Ended {
    pub(super) reason: Disconnect,
    pub(super) suspect: Option<[u8; 32]>,
    /// The time of the last frame, in seconds since 1970.
    pub(super) last_seen: Option<u64>,
}

/// The caller dropped the receiver of the channel.
pub(super) struct Gone;

/// Reports events that were dropped.
pub(super) async fn report(
    unsent: Vec<[u8; 32]>,
    number: usize,
    notifications: &mpsc::Sender<(usize, Notification)>,
) -> Result<(), Gone> {
    for id in unsent {
        notifications.send((number, Notification::Unsent(id))).await.map_err(|_| Gone)?;
    }
    Ok(())
}

/// The state of a connection, from its handshake to its end.
pub(super) struct Session<'s> {
    socket: Socket,
    settings: &'s Settings,
    shared: &'s Shared,
    last_seen: Option<u64>,
    /// Control messages. They are sent before events.
    control: VecDeque<Message>,
    writing: Option<Writing>,
    /// True while a pong is queued in the socket. Nothing is read until it is written, as pongs
    /// would pile up otherwise.
    owes_pong: bool,
    last_frame: Instant,
    /// Number of bytes of skipped messages up to the last check for silence.
    dropped: u64,
    next_ping: Instant,
    /// The time since which the socket has accepted no data.
    stalled_since: Option<Instant>,
    filter_version: u64,
    /// The subscriptions that were requested from the relay, oldest first. There are at most two.
    subscriptions: Vec<Subscription>,
    /// The filter whose subscription the relay ended.
    refused_version: Option<u64>,
    request_at: Option<Instant>,
    closed: u32,
    /// The latest challenge, which keys may answer one after the other.
    challenge: Option<String>,
    challenges: u32,
    /// The ids of answers to the challenge that the relay has not reported on yet.
    unconfirmed: Vec<[u8; 32]>,
    confirmed_at: Option<Instant>,
    is_authenticated: bool,
    /// The last large event, and the time when it was written.
    large: Option<([u8; 32], Option<Instant>)>,
}

/// A subscription. It stays until the relay has confirmed its successor, so that no event is
/// missed.
struct Subscription {
    /// The version of the filter that was subscribed to.
    version: u64,
    /// The version again, as an id for the relay. It tells the relay nothing about the program.
    id: String,
}

enum Writing {
    Control,
    Event,
}

enum Step {
    Written,
    Received(Message),
    Skipped(Skipped),
    Ended(Disconnect),
}

impl<'s> Session<'s> {
    pub(super) fn new(
        socket: Socket,
        settings: &'s Settings,
        shared: &'s Shared,
        last_seen: Option<u64>,
    ) -> Self {
        let now = Instant::now();
        Self {
            socket,
            settings,
            shared,
            last_seen,
            control: VecDeque::new(),
            writing: None,
            owes_pong: false,
            last_frame: now,
            dropped: 0,
            next_ping: now + settings.timing.ping,
            stalled_since: None,
            // Filters that were set have a higher version than this.
            filter_version: 0,
            subscriptions: Vec::new(),
            refused_version: None,
            request_at: None,
            closed: 0,
            challenge: None,
            challenges: 0,
            unconfirmed: Vec::new(),
            confirmed_at: None,
            is_authenticated: false,
            large: None,
        }
    }

    pub(super) async fn run(
        mut self,
        number: usize,
        notifications: &mpsc::Sender<(usize, Notification)>,
    ) -> Ended {
        let mut permit = None;
        let reason = loop {
            self.collect();
            if self.is_finished() {
                break self.close().await;
            }
            self.start_writing();
            let shared = self.shared;
            let timer = self.next_timer(permit.is_some());
            tokio::select! {
                () = shared.changed() => {}
                () = notifications.closed() => break Disconnect::Stopped,
                granted = notifications.reserve(), if permit.is_none() => {
                    let Ok(granted) = granted else { break Disconnect::Stopped };
                    permit = Some(granted);
                    // The relay was not silent while the client read nothing.
                    self.last_frame = Instant::now();
                }
                step = self.step(permit.is_some()) => match step {
                    Step::Written => self.written(),
                    Step::Skipped(Skipped { count, bytes }) => {
                        self.frame_arrived();
                        if let Some(permit) = permit.take() {
                            permit.send((number, Notification::Skipped { count, bytes }));
                        }
                    }
                    Step::Received(received) => match self.received(received) {
                        Ok(None) => {}
                        Ok(Some(notification)) => {
                            if let Some(permit) = permit.take() {
                                permit.send((number, notification));
                            }
                        }
                        Err(reason) => break reason,
                    },
                    Step::Ended(reason) => break reason,
                },
                () = sleep_until(timer) => {
                    if let Err(reason) = self.time_passed(permit.is_some()) {
                        break reason;
                    }
                    let keep_unsent = self.settings.timing.keep_unsent;
                    let unsent = self.shared.state().outbox.expire(keep_unsent);
                    if !unsent.is_empty() {
                        // The channel may have no space except for the reserved permit.
                        permit = None;
                    }
                    if report(unsent, number, notifications).await.is_err() {
                        break Disconnect::Stopped;
                    }
                }
            }
        };
        let limit = self.settings.timing.suspect;
        let suspect = self.large.filter(|(_, at)| at.is_none_or(|at| at.elapsed() < limit));
        Ended { reason, suspect: suspect.map(|(id, _)| id), last_seen: self.last_seen }
    }

    /// Adopts the changes that were made through the handle.
    fn collect(&mut self) {
        let mut state = self.shared.state();
        if state.filter_version != self.filter_version {
            self.filter_version = state.filter_version;
            self.request_at = Some(Instant::now());
        }
        if let Some((challenge, events)) = state.answers.take()
            && self.challenge.as_ref() == Some(&challenge)
        {
            self.unconfirmed.extend(events.iter().map(|event| event.id));
            self.confirmed_at = Some(Instant::now() + self.settings.timing.confirm);
            let message = |json: &Bytes| Message::text(message::auth(json));
            self.control.extend(events.iter().map(|event| message(&event.json)));
        }
        drop(state);
        if self.request_at.is_some_and(|at| at <= Instant::now()) {
            self.request_at = None;
            self.request();
        }
    }

    /// Subscribes with the current filter, or ends the subscription if there is no filter.
    fn request(&mut self) {
        let filter = self.shared.state().filter.clone();
        let Some(mut filter) = filter else { return self.unsubscribe(0..self.subscriptions.len()) };
        let now = unix_time();
        let overlap = self.settings.timing.overlap.as_secs();
        filter.since = match (self.last_seen, filter.since) {
            (None, Some(since)) => Some(since),
            (None, None) => Some(now.saturating_sub(overlap)),
            // If the clock was set back, new events must not be filtered out.
            (Some(seen), _) => Some(seen.min(now).saturating_sub(overlap)),
        };
        let version = self.filter_version;
        if self.refused_version == Some(version) {
            // Some relays allow only one subscription.
            self.unsubscribe(0..self.subscriptions.len());
        }
        let id = version.to_string();
        self.control.push_back(Message::text(message::request(&id, &[filter])));
        if self.subscriptions.iter().all(|it| it.version != version) {
            self.subscriptions.push(Subscription { version, id });
        }
        // The oldest subscription may be the confirmed one.
        self.unsubscribe(1..self.subscriptions.len().saturating_sub(1).max(1));
    }

    /// Ends the subscriptions at these indexes.
    fn unsubscribe(&mut self, range: Range<usize>) {
        for Subscription { id, .. } in self.subscriptions.drain(range) {
            self.control.push_back(Message::text(message::close(&id)));
        }
    }

    /// Returns the index of a subscription that was requested from the relay.
    fn position(&self, subscription: Text<'_>) -> Option<usize> {
        self.subscriptions.iter().position(|it| subscription.is(&it.id))
    }

    fn is_finished(&self) -> bool {
        let state = self.shared.state();
        state.is_stopping
            && state.outbox.is_empty()
            && self.control.is_empty()
            && self.writing.is_none()
    }

    async fn close(&mut self) -> Disconnect {
        let goodbye = async {
            let message = Message::close(Some(CloseCode::NORMAL_CLOSURE), "");
            // Dropping a socket with unread messages resets the connection, and the relay may then
            // lose the messages that were sent last.
            if self.socket.send(message).await.is_ok() {
                while let Some(Ok(_)) = self.socket.next().await {}
            }
        };
        let _ = timeout(GOODBYE, goodbye).await;
        Disconnect::Stopped
    }

    fn start_writing(&mut self) {
        if self.writing.is_some() {
            return;
        }
        let message = if let Some(message) = self.control.pop_front() {
            self.writing = Some(Writing::Control);
            message
        } else {
            let Some(event) = self.shared.state().outbox.start() else { return };
            if event.message.len() >= LARGE {
                self.large = Some((event.id, None));
            }
            self.writing = Some(Writing::Event);
            Message::text(Payload::from(event.message))
        };
        self.stalled_since.get_or_insert_with(Instant::now);
        // If the socket is closed, its next operation fails too.
        let _ = Pin::new(&mut self.socket).start_send(message);
    }

    /// Waits until everything is written or a message has arrived.
    async fn step(&mut self, may_read: bool) -> Step {
        let writes = self.writing.is_some() || self.owes_pong;
        let reads = may_read && !self.owes_pong;
        poll_fn(|cx| {
            let mut socket = Pin::new(&mut self.socket);
            if writes && let Poll::Ready(flushed) = socket.as_mut().poll_flush(cx) {
                return Poll::Ready(match flushed {
                    Ok(()) => Step::Written,
                    Err(error) => Step::Ended(error.into()),
                });
            }
            if !reads {
                return Poll::Pending;
            }
            let received = socket.as_mut().poll_next(cx);
            // Messages may have been skipped before one that arrived.
            if received.is_pending() {
                let skipped = socket.get_mut().get_mut().take_skipped();
                return skipped
                    .map_or(Poll::Pending, |skipped| Poll::Ready(Step::Skipped(skipped)));
            }
            received.map(|received| match received {
                Some(Ok(message)) => Step::Received(message),
                Some(Err(error)) => Step::Ended(error.into()),
                None => Step::Ended(Disconnect::Closed(None)),
            })
        })
        .await
    }

    fn written(&mut self) {
        self.owes_pong = false;
        self.stalled_since = None;
        if let Some(Writing::Event) = self.writing.take() {
            self.shared.state().outbox.written();
            if let Some((_, at @ None)) = &mut self.large {
                *at = Some(Instant::now());
            }
        }
    }

    fn frame_arrived(&mut self) {
        self.last_frame = Instant::now();
        self.last_seen = Some(unix_time());
    }

    fn received(&mut self, received: Message) -> Result<Option<Notification>, Disconnect> {
        self.frame_arrived();
        if let Some((code, _)) = received.as_close() {
            let code = u16::from(code);
            let is_given = code != u16::from(CloseCode::NO_STATUS_RECEIVED);
            return Err(Disconnect::Closed(is_given.then_some(code)));
        }
        if received.is_ping() {
            self.owes_pong = true;
            self.stalled_since.get_or_insert(self.last_frame);
        }
        if !received.is_text() {
            return Ok(None);
        }
        let frame = Bytes::from(received.into_payload());
        match RelayMessage::parse(&frame) {
            Ok(message) => Ok(self.answer(&frame, message)),
            Err(error) => {
                tracing::debug!(relay = %self.settings.address, %error, "a message is malformed");
                Ok(None)
            }
        }
    }

    fn answer(&mut self, frame: &Bytes, message: RelayMessage<'_>) -> Option<Notification> {
        match message {
            RelayMessage::Event { subscription, event } => self
                .position(subscription)
                .map(|_| Notification::Event(frame.slice_ref(event.as_bytes()))),
            RelayMessage::Result { id, accepted, reason } => {
                let reason = printable(reason);
                self.result(id, accepted, reason)
            }
            RelayMessage::Notice(text) => Some(Notification::Notice(printable(text))),
            RelayMessage::Closed { subscription, reason } => {
                let ended = self.subscriptions.remove(self.position(subscription)?);
                if ended.version == self.filter_version {
                    self.subscription_closed(&printable(reason));
                }
                None
            }
            RelayMessage::Challenge(challenge) => {
                self.challenges += 1;
                if self.challenges > MAX_CHALLENGES {
                    return None;
                }
                let challenge = challenge.to_string();
                self.challenge = Some(challenge.clone());
                // Answers to the one before count no more.
                self.unconfirmed.clear();
                Some(Notification::Challenge(challenge))
            }
            RelayMessage::EndOfStored(subscription) => {
                let position = self.position(subscription)?;
                let version = self.subscriptions[position].version;
                self.unsubscribe(0..position);
                Some(Notification::Subscribed(version))
            }
            RelayMessage::Unknown => None,
        }
    }

    fn result(&mut self, id: [u8; 32], accepted: bool, reason: String) -> Option<Notification> {
        if self.large.is_some_and(|(large, _)| large == id) {
            self.large = None;
        }
        if let Some(at) = self.unconfirmed.iter().position(|unconfirmed| *unconfirmed == id) {
            self.unconfirmed.swap_remove(at);
            if self.unconfirmed.is_empty() && self.confirmed_at.is_some() {
                self.authenticated();
            }
        } else {
            let refusal = match accepted {
                false if reason.starts_with(AUTH_REQUIRED) => Some(Refusal::AuthRequired),
                false if reason.starts_with(RATE_LIMITED) => Some(Refusal::RateLimited),
                _ => None,
            };
            let mut state = self.shared.state();
            match state.outbox.reported(&id, refusal, &self.settings.timing) {
                Reported::AfterAuthentication => {
                    if self.is_authenticated {
                        state.outbox.authenticated();
                    }
                    return None;
                }
                Reported::Postponed => return Some(Notification::Postponed { id, reason }),
                Reported::Final => {}
            }
        }
        Some(Notification::Result { id, accepted, reason })
    }

    /// Handles the end of an authentication: all answers to the challenge were reported on, or the
    /// time for the reports has passed.
    fn authenticated(&mut self) {
        self.confirmed_at = None;
        self.is_authenticated = true;
        self.shared.state().outbox.authenticated();
        if self.shared.state().filter.is_some() {
            self.request_at = Some(Instant::now());
        }
    }

    fn subscription_closed(&mut self, reason: &str) {
        self.closed += 1;
        self.refused_version = Some(self.filter_version);
        // An authentication triggers the request itself. The long wait is for relays that send no
        // challenge.
        let waits_for_auth = reason.starts_with(AUTH_REQUIRED) && !self.is_authenticated;
        let timing = &self.settings.timing;
        let wait =
            if waits_for_auth { timing.longest_wait } else { backoff::wait(self.closed, timing) };
        self.request_at = Some(Instant::now() + wait);
    }

    fn next_timer(&self, may_read: bool) -> Instant {
        let silence = self.settings.timing.silence;
        let keep_unsent = self.settings.timing.keep_unsent;
        let others = [
            may_read.then_some(self.last_frame + silence),
            self.stalled_since.map(|since| since + silence),
            self.request_at,
            self.confirmed_at,
            self.shared.state().outbox.next_time(keep_unsent),
        ];
        others.into_iter().flatten().fold(self.next_ping, Instant::min)
    }

    fn time_passed(&mut self, may_read: bool) -> Result<(), Disconnect> {
        let now = Instant::now();
        let timing = &self.settings.timing;
        if self.stalled_since.is_some_and(|since| since + timing.silence <= now) {
            return Err(Disconnect::Stalled);
        }
        let dropped = self.socket.get_ref().dropped();
        if dropped != self.dropped {
            // A relay that is still sending a message that is skipped is not silent.
            self.dropped = dropped;
            self.last_frame = now;
        }
        if may_read && !self.owes_pong && self.last_frame + timing.silence <= now {
            return Err(Disconnect::Silent);
        }
        if self.confirmed_at.is_some_and(|at| at <= now) {
            self.authenticated();
        }
        if self.next_ping <= now {
            self.next_ping = now + self.settings.timing.ping;
            self.control.push_back(Message::ping(Bytes::new()));
        }
        Ok(())
    }
}

fn unix_time() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
