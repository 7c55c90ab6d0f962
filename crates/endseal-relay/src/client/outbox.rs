//! The events that are waiting to be sent to a relay.

use alloc::collections::VecDeque;
use core::mem;
use core::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::settings::{Limits, Timing};
use super::{LARGE, backoff};
use crate::auth::SignedEvent;
use crate::message;

/// An event in the form of a message.
#[derive(Clone, Debug)]
pub(super) struct Outgoing {
    pub(super) id: [u8; 32],
    pub(super) message: Bytes,
    queued: Instant,
    /// Number of times that the event was written.
    written: u32,
    /// Number of times that the relay refused the event for the moment.
    postponed: u32,
    /// Time before which a postponed event is not sent again.
    due: Instant,
    /// True if the relay refused the event once because authentication was missing.
    is_retry: bool,
}

/// Times that an event of at least [`LARGE`] bytes is written at most. If it is lost with its
/// connection each time, the relay may have ended the connection because of it.
const MAX_WRITTEN_LARGE: u32 = 2;

/// A relay's report about an event, and what follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reported {
    /// The report is final, or about an event that is not known.
    Final,
    /// The event is sent again after an authentication.
    AfterAuthentication,
    /// The event is sent again after some time.
    Postponed,
}

/// The reason why a relay refused an event, if the event may be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The relay requires an authentication.
    AuthRequired,
    /// The relay accepts no more events for the moment.
    RateLimited,
}

/// The events that wait, the event that is being written, and the events that may have to be sent
/// again.
#[derive(Debug)]
pub(super) struct Outbox {
    waiting: Queue,
    current: Option<Outgoing>,
    /// Events that were written but not reported on. They are sent again if the connection ends.
    /// Some relays report nothing, so events are removed from here after some time.
    sent: Queue,
    /// Events that were refused until there is an authentication.
    refused: Queue,
    /// Events that the relay refused for the moment.
    postponed: Queue,
    /// The ids of events that were dropped and not reported to the caller yet.
    dropped: Vec<[u8; 32]>,
}

impl Outbox {
    pub(super) fn new(limits: &Limits) -> Self {
        let queue = || Queue::new(limits.queued_events, limits.queued_bytes);
        Self {
            waiting: queue(),
            current: None,
            sent: queue(),
            refused: queue(),
            postponed: queue(),
            dropped: Vec::new(),
        }
    }

    /// Adds an event. Returns the ids of the events that were dropped for it.
    pub(super) fn add(&mut self, event: &SignedEvent) -> Vec<[u8; 32]> {
        let message = message::event(&event.json);
        let queued = Instant::now();
        self.waiting.insert(Outgoing {
            id: event.id,
            message,
            queued,
            written: 0,
            postponed: 0,
            due: queued,
            is_retry: false,
        })
    }

    /// Returns true if no event waits, is postponed or is being written.
    pub(super) fn is_empty(&self) -> bool {
        [&self.waiting, &self.postponed].iter().all(|queue| queue.items.is_empty())
            && self.current.is_none()
    }

    /// Takes the next event to write.
    pub(super) fn start(&mut self) -> Option<Outgoing> {
        let now = Instant::now();
        while let Some(event) = self.postponed.remove_if(|event| event.due <= now) {
            self.send_again(event);
        }
        if self.current.is_none() {
            self.current = self.waiting.pop();
        }
        self.current.clone()
    }

    /// Records that the current event has been written.
    pub(super) fn written(&mut self) {
        if let Some(mut event) = self.current.take() {
            event.written += 1;
            // Events that do not fit were written, but are not sent again.
            drop(self.sent.insert(event));
        }
    }

    /// Records that the connection ended. Events without a report are sent again on the next
    /// connection, and so are those that were refused for want of authentication. The exceptions
    /// are the event that is `suspect`, and large events that were written twice.
    pub(super) fn disconnected(&mut self, suspect: Option<[u8; 32]>) {
        let mut events = Vec::new();
        events.extend(self.sent.take_all());
        events.extend(self.current.take());
        events.extend(self.refused.take_all());
        for event in events {
            if Some(event.id) == suspect {
                // The caller learns of it by the suspicion.
            } else if event.message.len() >= LARGE && event.written >= MAX_WRITTEN_LARGE {
                self.dropped.push(event.id);
            } else {
                self.send_again(event);
            }
        }
    }

    /// Records a relay's report about an event. `refusal` is the reason of one that is not final.
    pub(super) fn reported(
        &mut self,
        id: &[u8; 32],
        refusal: Option<Refusal>,
        timing: &Timing,
    ) -> Reported {
        let Some(mut event) = self.sent.remove(id) else { return Reported::Final };
        match refusal {
            Some(Refusal::AuthRequired) if !event.is_retry => {
                event.is_retry = true;
                self.dropped.extend(self.refused.insert(event));
                Reported::AfterAuthentication
            }
            Some(Refusal::RateLimited) => {
                event.postponed += 1;
                event.due = Instant::now() + backoff::wait(event.postponed, timing);
                if event.due >= event.queued + timing.keep_unsent {
                    return Reported::Final;
                }
                self.dropped.extend(self.postponed.insert(event));
                Reported::Postponed
            }
            _ => Reported::Final,
        }
    }

    /// Records an authentication: the events that were refused without it are sent again.
    pub(super) fn authenticated(&mut self) {
        for event in self.refused.take_all() {
            self.send_again(event);
        }
    }

    /// Queues an event again, in the order of the first time.
    fn send_again(&mut self, event: Outgoing) {
        self.dropped.extend(self.waiting.insert(event));
    }

    /// Drops events that are too old. Returns the ids of those that were not sent.
    pub(super) fn expire(&mut self, age: Duration) -> Vec<[u8; 32]> {
        drop(self.sent.expire(age));
        let mut ids = mem::take(&mut self.dropped);
        for queue in [&mut self.waiting, &mut self.refused, &mut self.postponed] {
            ids.extend(queue.expire(age));
        }
        ids
    }

    /// Returns the time when the next event expires or is to be sent again.
    pub(super) fn next_time(&self, age: Duration) -> Option<Instant> {
        if !self.dropped.is_empty() {
            return Some(Instant::now());
        }
        let queues = [&self.waiting, &self.sent, &self.refused, &self.postponed];
        let expiries = queues.into_iter().flat_map(|queue| queue.items.front());
        let expiries = expiries.map(|event| event.queued + age);
        expiries.chain(self.postponed.items.iter().map(|event| event.due)).min()
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

    /// Adds an event behind those that were queued before it. Returns the ids of the events that
    /// were dropped from the front.
    fn insert(&mut self, event: Outgoing) -> Vec<[u8; 32]> {
        self.bytes += event.message.len();
        let behind = self.items.iter().rposition(|other| other.queued <= event.queued);
        self.items.insert(behind.map_or(0, |at| at + 1), event);
        let mut dropped = Vec::new();
        while self.items.len() > self.max_items || self.bytes > self.max_bytes {
            let Some(event) = self.pop() else { break };
            dropped.push(event.id);
        }
        dropped
    }

    fn pop(&mut self) -> Option<Outgoing> {
        let event = self.items.pop_front()?;
        self.bytes -= event.message.len();
        Some(event)
    }

    fn remove(&mut self, id: &[u8; 32]) -> Option<Outgoing> {
        self.remove_if(|event| event.id == *id)
    }

    /// Removes the first event for which `is_wanted` returns true.
    fn remove_if(&mut self, is_wanted: impl Fn(&Outgoing) -> bool) -> Option<Outgoing> {
        let at = self.items.iter().position(is_wanted)?;
        let event = self.items.remove(at)?;
        self.bytes -= event.message.len();
        Some(event)
    }

    fn take_all(&mut self) -> VecDeque<Outgoing> {
        self.bytes = 0;
        mem::take(&mut self.items)
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

    fn wrote(outbox: &mut Outbox, number: u8) {
        assert_eq!(started(outbox), Some(number));
        outbox.written();
    }

    fn report(outbox: &mut Outbox, number: u8, refusal: Option<Refusal>) -> Reported {
        outbox.reported(&[number; 32], refusal, &Timing::default())
    }

    #[test]
    fn an_event_without_a_report_survives_the_connection_unless_it_is_suspect() {
        let mut outbox = outbox();
        for number in 0..3 {
            drop(outbox.add(&event(number, 10)));
        }
        wrote(&mut outbox, 0);
        wrote(&mut outbox, 1);
        assert_eq!(report(&mut outbox, 1, None), Reported::Final);
        assert_eq!(started(&mut outbox), Some(2));
        outbox.disconnected(None);
        // In the order in which they were queued.
        wrote(&mut outbox, 0);
        assert_eq!(started(&mut outbox), Some(2));
        outbox.disconnected(Some([2; 32]));
        wrote(&mut outbox, 0);
        outbox.disconnected(Some([0; 32]));
        assert!(outbox.is_empty() && outbox.expire(Duration::MAX).is_empty());
    }

    #[test]
    fn a_large_event_is_lost_with_two_connections_at_most() {
        let limits = Limits { queued_bytes: 1 << 20, ..Limits::default() };
        let mut outbox = Outbox::new(&limits);
        drop(outbox.add(&event(1, LARGE)));
        for _ in 0..2 {
            wrote(&mut outbox, 1);
            assert!(outbox.expire(Duration::MAX).is_empty());
            outbox.disconnected(None);
        }
        assert!(outbox.is_empty());
        assert_eq!(outbox.expire(Duration::MAX), [[1; 32]]);
    }

    #[test]
    fn a_refused_event_is_sent_again_once() {
        let mut outbox = outbox();
        drop(outbox.add(&event(1, 10)));
        wrote(&mut outbox, 1);
        let refusal = Some(Refusal::AuthRequired);
        assert_eq!(report(&mut outbox, 1, refusal), Reported::AfterAuthentication);
        assert!(outbox.is_empty());
        outbox.authenticated();
        wrote(&mut outbox, 1);
        assert_eq!(report(&mut outbox, 1, refusal), Reported::Final);
        outbox.authenticated();
        assert!(outbox.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_postponed_event_is_sent_again_with_growing_delays() {
        let mut outbox = outbox();
        drop(outbox.add(&event(1, 10)));
        let (begin, keep) = (Instant::now(), Duration::from_secs(60));
        let mut delays = Vec::new();
        loop {
            wrote(&mut outbox, 1);
            let now = Instant::now();
            let reported = report(&mut outbox, 1, Some(Refusal::RateLimited));
            if reported == Reported::Final {
                break;
            }
            assert_eq!(reported, Reported::Postponed);
            assert!(!outbox.is_empty() && outbox.start().is_none());
            let due = outbox.next_time(keep).unwrap();
            delays.push(due - now);
            tokio::time::sleep_until(due).await;
            // The clock of the runtime advances by whole milliseconds.
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert!(delays.len() >= 5 && delays.is_sorted(), "{delays:?}");
        assert!(delays[0] <= Duration::from_secs(1));
        assert!((keep / 2..keep).contains(&begin.elapsed()), "{:?}", begin.elapsed());
        assert!(outbox.is_empty() && outbox.next_time(keep).is_none());
    }

    #[tokio::test]
    async fn unsent_events_expire() {
        let mut outbox = outbox();
        drop(outbox.add(&event(1, 10)));
        assert!(outbox.expire(Duration::from_secs(60)).is_empty());
        assert!(outbox.next_time(Duration::from_secs(60)).unwrap() > Instant::now());
        assert_eq!(outbox.expire(Duration::ZERO), [[1; 32]]);
        assert!(outbox.is_empty() && outbox.next_time(Duration::ZERO).is_none());
    }

    #[tokio::test]
    async fn a_sent_event_is_forgotten_without_a_report() {
        let mut outbox = outbox();
        drop(outbox.add(&event(1, 10)));
        wrote(&mut outbox, 1);
        assert!(outbox.next_time(Duration::ZERO).is_some());
        assert!(outbox.expire(Duration::ZERO).is_empty());
        assert!(outbox.next_time(Duration::ZERO).is_none());
        let refusal = Some(Refusal::RateLimited);
        assert_eq!(report(&mut outbox, 1, refusal), Reported::Final);
    }
}
