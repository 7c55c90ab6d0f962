//! The state that the handle and the task share.

use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::outbox::Outbox;
use super::settings::Limits;
use crate::auth::SignedEvent;
use crate::message::Filter;

pub(super) struct Shared {
    state: Mutex<State>,
    changed: Notify,
    /// The relay's `max_message_length`, or 0 while it is unknown.
    max_message_length: AtomicU64,
}

pub(super) struct State {
    pub(super) filter: Option<Filter>,
    /// Incremented with each change of the filter.
    pub(super) filter_version: u64,
    pub(super) outbox: Outbox,
    /// A challenge and the signed events that answer it.
    pub(super) answers: Option<(String, Vec<SignedEvent>)>,
    pub(super) is_stopping: bool,
}

impl Shared {
    pub(super) fn new(limits: &Limits) -> Self {
        let outbox = Outbox::new(limits);
        let state =
            State { filter: None, filter_version: 0, outbox, answers: None, is_stopping: false };
        Self {
            state: Mutex::new(state),
            changed: Notify::new(),
            max_message_length: AtomicU64::new(0),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // A poisoned lock is safe to use: no code that holds it leaves the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the next change. Returns at once if there was a change since the last call.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Waits until the task has to stop.
    pub(super) async fn stopped(&self) {
        while !self.state().is_stopping {
            self.changed().await;
        }
    }

    /// Sets the filter and returns its version.
    pub(super) fn subscribe(&self, filter: Option<Filter>) -> u64 {
        let mut state = self.state();
        state.filter = filter;
        state.filter_version += 1;
        let version = state.filter_version;
        drop(state);
        self.changed.notify_one();
        version
    }

    pub(super) fn publish(&self, event: &SignedEvent) -> Vec<[u8; 32]> {
        let dropped = self.state().outbox.add(event);
        self.changed.notify_one();
        dropped
    }

    pub(super) fn authenticate(&self, challenge: &str, events: Vec<SignedEvent>) {
        let mut state = self.state();
        match &mut state.answers {
            Some((pending, all)) if pending == challenge => all.extend(events),
            answers => *answers = Some((challenge.to_owned(), events)),
        }
        drop(state);
        self.changed.notify_one();
    }

    pub(super) fn stop(&self) {
        self.state().is_stopping = true;
        self.changed.notify_one();
    }

    pub(super) fn max_message_length(&self) -> Option<u64> {
        Some(self.max_message_length.load(Ordering::Relaxed)).filter(|length| *length > 0)
    }

    pub(super) fn set_max_message_length(&self, length: u64) {
        self.max_message_length.store(length, Ordering::Relaxed);
    }
}
