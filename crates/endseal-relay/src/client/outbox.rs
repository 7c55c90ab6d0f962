//! The events that are waiting to be sent to a relay.

use alloc::collections::VecDeque;
use core::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::settings::Limits;
use crate::auth::SignedEvent;
use crate::message;

/// An event in the form of a message.
#[derive(Clone, Debug)]
pub(super) struct Outgoing {
    pub(super) id: [u8; 32],
    pub(super) message: Bytes,
    queued: Instant,
    /// True if the relay refused the event once because authentication was missing.
    is_retry: bool,
}

/// The events that wait, the event that is being written, and the events that may have to be sent
/// again after an authentication.
#[derive(Debug)]
pub(super) struct Outbox {
    waiting: Queue,
    current: Option<Outgoing>,
    /// Events that were written but not reported on. Some relays report nothing, so events are
    /// removed from here after some time.
    sent: Queue,
    /// Events that were refused until there is an authentication.
    refused: Queue,
}

impl Outbox {
    pub(super) fn new(limits: &Limits) -> Self {
        let queue = || Queue::new(limits.queued_events, limits.queued_bytes);
        Self { waiting: queue(), current: None, sent: queue(), refused: queue() }
    }

    /// Adds an event. Returns the ids of the events that were dropped for it.
    pub(super) fn add(&mut self, event: &SignedEvent) -> Vec<[u8; 32]> {
        let message = message::event(&event.json);
        let queued = Instant::now();
        self.waiting.push(Outgoing { id: event.id, message, queued, is_retry: false })
    }

    /// Returns true if no event waits or is being written.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.items.is_empty() && self.current.is_none()
    }

    /// Takes the next event to write.
    pub(super) fn start(&mut self) -> Option<Outgoing> {
        if self.current.is_none() {
            self.current = self.waiting.pop();
        }
        self.current.clone()
    }

    /// Records that the current event has been written.
    pub(super) fn written(&mut self) {
        if let Some(event) = self.current.take() {
            drop(self.sent.push(event));
        }
    }

    /// Records that the connection ended. The current event, unless it is `suspect`, and the events
    /// that were refused for want of authentication are sent again on the next connection.
    pub(super) fn disconnected(&mut self, suspect: Option<[u8; 32]>) {
        let refused = core::mem::take(&mut self.refused.items);
        self.refused.bytes = 0;
        let current = self.current.take().filter(|event| Some(event.id) != suspect);
        for event in current.into_iter().chain(refused).rev() {
            self.waiting.push_front(event);
        }
        self.sent.clear();
    }

    /// Records a relay's report. Returns true if the event will be sent again after an
    /// authentication.
    pub(super) fn reported(&mut self, id: &[u8; 32], needs_auth: bool) -> bool {
        let Some(mut event) = self.sent.remove(id) else { return false };
        if !needs_auth || event.is_retry {
            return false;
        }
        event.is_retry = true;
        drop(self.refused.push(event));
        true
    }

    /// Records an authentication: the events that were refused without it are sent again.
    pub(super) fn authenticated(&mut self) {
        while let Some(event) = self.refused.pop() {
            drop(self.waiting.push(event));
        }
    }

    /// Drops events that are too old. Returns the ids of those that were not sent.
    pub(super) fn expire(&mut self, age: Duration) -> Vec<[u8; 32]> {
        drop(self.sent.expire(age));
        let mut ids = self.waiting.expire(age);
        ids.extend(self.refused.expire(age));
        ids
    }

    /// Returns the time when the next event expires.
    pub(super) fn expires(&self, age: Duration) -> Option<Instant> {
        let first = [&self.waiting, &self.sent, &self.refused].map(|queue| queue.items.front());
        first.into_iter().flatten().map(|event| event.queued + age).min()
    }
}

/// A queue of events with limits on their number and their total length.
#[derive(Debug)]
struct Queue {
    items: VecDeque<Outgoing>,
    bytes: usize,
    max_items: usize,
    max_bytes: usize,
}

impl Queue {
    fn new(max_items: usize, max_bytes: usize) -> Self {
        Self { items: VecDeque::new(), bytes: 0, max_items, max_bytes }
    }

    /// Adds an event at the end. Returns the ids of the events that were dropped from the front.
    fn push(&mut self, event: Outgoing) -> Vec<[u8; 32]> {
        self.bytes += event.message.len();
        self.items.push_back(event);
        let mut dropped = Vec::new();
        while self.items.len() > self.max_items || self.bytes > self.max_bytes {
            let Some(event) = self.pop() else { break };
            dropped.push(event.id);
        }
        dropped
    }

    /// Puts back events that were taken from the front of a queue with the same limits.
    fn push_front(&mut self, event: Outgoing) {
        self.bytes += event.message.len();
        self.items.push_front(event);
    }

    fn pop(&mut self) -> Option<Outgoing> {
        let event = self.items.pop_front()?;
        self.bytes -= event.message.len();
        Some(event)
    }

    fn remove(&mut self, id: &[u8; 32]) -> Option<Outgoing> {
        let at = self.items.iter().position(|event| event.id == *id)?;
        let event = self.items.remove(at)?;
        self.bytes -= event.message.len();
        Some(event)
    }

    fn clear(&mut self) {
        self.items.clear();
        self.bytes = 0;
    }

    fn expire(&mut self, age: Duration) -> Vec<[u8; 32]> {
        let mut ids = Vec::new();
        while self.items.front().is_some_and(|event| event.queued.elapsed() >= age) {
            ids.extend(self.pop().map(|event| event.id));
        }
        ids
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(number: u8, len: usize) -> SignedEvent {
        SignedEvent { id: [number; 32], json: vec![b'x'; len].into() }
    }

    fn outbox() -> Outbox {
        Outbox::new(&Limits { queued_events: 3, queued_bytes: 1_000, ..Limits::default() })
    }

    fn started(outbox: &mut Outbox) -> Option<u8> {
        outbox.start().map(|event| event.id[0])
    }

    #[test]
    fn the_oldest_is_dropped_when_full() {
        let mut outbox = outbox();
        for number in 0..3 {
            assert!(outbox.add(&event(number, 10)).is_empty());
        }
        assert_eq!(outbox.add(&event(3, 10)), [[0; 32]]);
        assert_eq!(outbox.add(&event(4, 980)), [[1; 32], [2; 32], [3; 32]]);
        assert_eq!(outbox.add(&event(5, 1_000)), [[4; 32], [5; 32]]);
        assert!(outbox.is_empty());
    }

    #[test]
    fn an_event_in_writing_survives_the_connection_unless_it_is_suspect() {
        let mut outbox = outbox();
        for number in 0..2 {
            drop(outbox.add(&event(number, 10)));
        }
        assert_eq!(started(&mut outbox), Some(0));
        outbox.disconnected(None);
        assert_eq!(started(&mut outbox), Some(0));
        outbox.disconnected(Some([0; 32]));
        assert_eq!(started(&mut outbox), Some(1));
        outbox.written();
        outbox.disconnected(None);
        assert!(outbox.is_empty());
    }

    #[test]
    fn a_refused_event_is_sent_again_once() {
        let mut outbox = outbox();
        drop(outbox.add(&event(1, 10)));
        assert_eq!(started(&mut outbox), Some(1));
        outbox.written();
        assert!(outbox.reported(&[1; 32], true));
        assert!(outbox.is_empty());
        outbox.authenticated();
        assert_eq!(started(&mut outbox), Some(1));
        outbox.written();
        assert!(!outbox.reported(&[1; 32], true));
        outbox.authenticated();
        assert!(outbox.is_empty());
    }

    #[tokio::test]
    async fn unsent_events_expire() {
        let mut outbox = outbox();
        drop(outbox.add(&event(1, 10)));
        assert!(outbox.expire(Duration::from_secs(60)).is_empty());
        assert!(outbox.expires(Duration::from_secs(60)).unwrap() > Instant::now());
        assert_eq!(outbox.expire(Duration::ZERO), [[1; 32]]);
        assert!(outbox.is_empty() && outbox.expires(Duration::ZERO).is_none());
    }

    #[tokio::test]
    async fn a_sent_event_is_forgotten_without_a_report() {
        let mut outbox = outbox();
        drop(outbox.add(&event(1, 10)));
        assert_eq!(started(&mut outbox), Some(1));
        outbox.written();
        assert!(outbox.expires(Duration::ZERO).is_some());
        assert!(outbox.expire(Duration::ZERO).is_empty());
        assert!(outbox.expires(Duration::ZERO).is_none() && !outbox.reported(&[1; 32], true));
    }
}
