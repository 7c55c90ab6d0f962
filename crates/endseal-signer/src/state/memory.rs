//! Events and requests that are remembered, either from log lines or, for events of unlogged
//! requests, only in memory.

use std::collections::HashMap;

use crate::records::line::{LogEntry, LogVerdict, Matter};

/// Remembered events and decisions, each with the number of its log line.
#[derive(Default)]
pub(crate) struct Memory {
    events: HashMap<[u8; 32], Seen>,
    /// Number of events of each app, by the number of the app.
    of_apps: HashMap<u32, usize>,
    requests: HashMap<(u32, [u8; 32]), Decision>,
}

/// Event that was seen.
struct Seen {
    created_at: u64,
    /// Number of the app.
    app: u32,
    /// Number of the log line that records it. Without one, a restart forgets the event.
    line: Option<u64>,
}

/// Decision on a request, which also applies if the request is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decision {
    /// Verdict on the request.
    pub verdict: LogVerdict,
    /// Time of the decision in seconds since 1970.
    pub time: u64,
    /// Number of the log line that records it.
    pub line: u64,
}

/// Numbers of removed events and requests, and the greatest `created_at` of the removed events.
pub(super) struct Forgotten {
    pub(super) events: usize,
    pub(super) requests: usize,
    pub(super) last: Option<u64>,
}

impl Memory {
    pub(super) fn has_event(&self, id: &[u8; 32]) -> bool {
        self.events.contains_key(id)
    }

    pub(super) fn events(&self) -> impl ExactSizeIterator<Item = (&[u8; 32], u64)> {
        self.events.iter().map(|(id, seen)| (id, seen.created_at))
    }

    pub(super) fn request(&self, app: u32, digest: &[u8; 32]) -> Option<&Decision> {
        self.requests.get(&(app, *digest))
    }

    pub(super) fn requests(&self) -> impl ExactSizeIterator<Item = (&(u32, [u8; 32]), &Decision)> {
        self.requests.iter()
    }

    /// Returns the number of events of an app.
    pub(super) fn of_app(&self, app: u32) -> usize {
        self.of_apps.get(&app).copied().unwrap_or_default()
    }

    /// Remembers an event that has no log line yet.
    pub(super) fn note(&mut self, id: [u8; 32], created_at: u64, app: u32) {
        self.insert(id, Seen { created_at, app, line: None });
    }

    fn insert(&mut self, id: [u8; 32], seen: Seen) {
        *self.of_apps.entry(seen.app).or_default() += 1;
        if let Some(before) = self.events.insert(id, seen) {
            self.subtract(before.app);
        }
    }

    fn subtract(&mut self, app: u32) {
        if let Some(count) = self.of_apps.get_mut(&app) {
            *count = count.saturating_sub(1);
        }
    }

    /// Remembers the event and the decision that log line `number` records. The event is skipped if
    /// it is not newer than `floor`. It is also skipped if its request waits for a person: after a
    /// restart, a repetition must prompt the person again.
    pub(super) fn learn(&mut self, number: u64, entry: &LogEntry, floor: u64) {
        let waits = entry.verdict == LogVerdict::Asks;
        if entry.carrier != [0; 32] && entry.created_at > floor && !waits {
            let line = Some(number);
            self.insert(entry.carrier, Seen { created_at: entry.created_at, app: entry.app, line });
        }
        if entry.matter == Matter::Request && entry.request != [0; 32] {
            let decision = Decision { verdict: entry.verdict, time: entry.time, line: number };
            self.requests.insert((entry.app, entry.request), decision);
        }
    }

    /// Removes events by their `created_at` and requests by the time of their decision.
    pub(super) fn forget(&mut self, is_old: impl Fn(u64) -> bool) -> Forgotten {
        let (events, requests) = (self.events.len(), self.requests.len());
        let mut last = None;
        self.of_apps.clear();
        self.events.retain(|_, seen| {
            let is_old = is_old(seen.created_at);
            if is_old {
                last = last.max(Some(seen.created_at));
            } else {
                *self.of_apps.entry(seen.app).or_default() += 1;
            }
            !is_old
        });
        self.requests.retain(|_, decision| !is_old(decision.time));
        let events = events - self.events.len();
        Forgotten { events, requests: requests - self.requests.len(), last }
    }

    /// Removes requests by the time of their decision.
    pub(super) fn forget_decisions(&mut self, is_old: impl Fn(u64) -> bool) {
        self.requests.retain(|_, decision| !is_old(decision.time));
    }

    /// Returns the number of the first log line that records a remembered event or request.
    pub(super) fn first_line(&self) -> Option<u64> {
        let events = self.events.values().filter_map(|seen| seen.line);
        events.chain(self.requests.values().map(|decision| decision.line)).min()
    }
}
