//! Stored events.

use alloc::collections::VecDeque;

use bytes::Bytes;
use endseal_nostr::event::Event;
use endseal_relay::message::Filter;

use crate::settings::Limits;

/// Treatment of a kind (NIP-01).
enum Class {
    Regular,
    Replaceable,
    Addressable,
    Ephemeral,
}

impl Class {
    fn of(kind: u16) -> Self {
        match kind {
            0 | 3 | 10_000..20_000 => Self::Replaceable,
            20_000..30_000 => Self::Ephemeral,
            30_000..40_000 => Self::Addressable,
            _ => Self::Regular,
        }
    }
}

/// An event and what it is found by.
struct Stored {
    id: [u8; 32],
    pubkey: [u8; 32],
    created_at: u64,
    kind: u16,
    json: Bytes,
}

/// Stored events in the order of their arrival, within bounds.
pub(crate) struct Store {
    events: VecDeque<Stored>,
    bytes: usize,
    max_events: usize,
    max_bytes: usize,
}

/// Result of [`Store::add`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Added {
    /// It is new, stored or ephemeral.
    New,
    /// It is stored already.
    Known,
    /// A newer one replaces it.
    Replaced,
}

impl Store {
    pub(crate) fn new(limits: &Limits) -> Self {
        let (max_events, max_bytes) = (limits.stored_events, limits.stored_bytes);
        Self { events: VecDeque::new(), bytes: 0, max_events, max_bytes }
    }

    /// Stores a verified event, unless it is ephemeral. `json` is its JSON.
    pub(crate) fn add(&mut self, event: &Event<'_>, json: &Bytes) -> Added {
        let class = Class::of(event.kind);
        if let Class::Ephemeral = class {
            return Added::New;
        }
        if self.events.iter().any(|stored| stored.id == event.id) {
            return Added::Known;
        }
        let address = |event: &Event<'_>| event.tags.value("d").map(|d| d.to_string());
        let older = self.events.iter().position(|stored| {
            let has_address = || {
                Event::parse(&stored.json).is_ok_and(|stored| address(&stored) == address(event))
            };
            stored.pubkey == event.pubkey
                && stored.kind == event.kind
                && match class {
                    Class::Regular | Class::Ephemeral => false,
                    Class::Replaceable => true,
                    Class::Addressable => has_address(),
                }
        });
        if let Some(at) = older {
            let stored = &self.events[at];
            // Of two of the same second the one with the lower id stays.
            let is_newer = (event.created_at, stored.id) > (stored.created_at, event.id);
            if !is_newer {
                return Added::Replaced;
            }
            self.bytes -= stored.json.len();
            self.events.remove(at);
        }
        self.bytes += json.len();
        self.events.push_back(Stored {
            id: event.id,
            pubkey: event.pubkey,
            created_at: event.created_at,
            kind: event.kind,
            // A copy: the frame around it is not kept.
            json: Bytes::copy_from_slice(json),
        });
        while self.events.len() > self.max_events || self.bytes > self.max_bytes {
            let Some(oldest) = self.events.pop_front() else { break };
            self.bytes -= oldest.json.len();
        }
        Added::New
    }

    /// Events that match one of the filters, the newest first, each once. Each filter adds its
    /// `limit` at most, all together `most`.
    pub(crate) fn find(&self, filters: &[Filter], most: usize) -> Vec<Bytes> {
        let mut found: Vec<&Stored> = Vec::new();
        for filter in filters {
            let mut matching: Vec<_> = self
                .events
                .iter()
                .filter(|stored| {
                    Event::parse(&stored.json).is_ok_and(|event| filter.matches(&event))
                })
                .collect();
            matching.sort_by_key(|stored| (core::cmp::Reverse(stored.created_at), stored.id));
            let limit = filter.limit.and_then(|limit| usize::try_from(limit).ok());
            matching.truncate(limit.unwrap_or(most).min(most));
            found.extend(matching);
        }
        found.sort_by_key(|stored| (core::cmp::Reverse(stored.created_at), stored.id));
        found.dedup_by_key(|stored| stored.id);
        found.truncate(most);
        found.into_iter().map(|stored| stored.json.clone()).collect()
    }
}
