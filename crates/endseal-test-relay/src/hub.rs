//! State that all connections share: who subscribed to what, what is stored, and the faults.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use endseal_nostr::event::Event;
use endseal_relay::message::{self, Filter};
use tokio::sync::mpsc;

use crate::faults::{Faults, Lie};
use crate::settings::Settings;
use crate::store::{Added, Store};

/// Kind of messages of remote signing (NIP-46).
const REMOTE_SIGNING: u16 = 24_133;

pub(crate) struct Hub {
    settings: Settings,
    state: Mutex<State>,
}

struct State {
    clients: BTreeMap<u64, Client>,
    next_client: u64,
    store: Store,
    faults: Arc<Faults>,
    accepted: u64,
}

struct Client {
    queue: Queue,
    subscriptions: BTreeMap<String, Vec<Filter>>,
    keys: Vec<[u8; 32]>,
    /// An event that is sent behind the next one.
    held: Option<Bytes>,
}

/// Messages to a client, within bounds.
struct Queue {
    sender: mpsc::Sender<Bytes>,
    bytes: Arc<AtomicUsize>,
    max_bytes: usize,
}

impl Queue {
    /// Returns false if it is full.
    fn push(&self, message: Bytes) -> bool {
        let len = message.len();
        let before = self.bytes.fetch_add(len, Ordering::Relaxed);
        before.saturating_add(len) <= self.max_bytes && self.sender.try_send(message).is_ok()
    }
}

/// Receiving end of the queue of a client. It ends if the client reads too slowly.
pub(crate) struct Messages {
    receiver: mpsc::Receiver<Bytes>,
    bytes: Arc<AtomicUsize>,
}

impl Messages {
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        self.receiver.recv().await.inspect(|message| self.taken(message))
    }

    pub(crate) fn try_next(&mut self) -> Option<Bytes> {
        self.receiver.try_recv().ok().inspect(|message| self.taken(message))
    }

    fn taken(&self, message: &Bytes) {
        self.bytes.fetch_sub(message.len(), Ordering::Relaxed);
    }
}

impl Hub {
    pub(crate) fn new(settings: Settings) -> Self {
        let store = Store::new(&settings.limits);
        let state = State {
            clients: BTreeMap::new(),
            next_client: 0,
            store,
            faults: Arc::default(),
            accepted: 0,
        };
        Self { settings, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No code that holds the lock leaves the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn faults(&self) -> Arc<Faults> {
        Arc::clone(&self.state().faults)
    }

    pub(crate) fn set_faults(&self, faults: Faults) {
        self.state().faults = Arc::new(faults);
    }

    pub(crate) fn connections(&self) -> usize {
        self.state().clients.len()
    }

    pub(crate) fn subscriptions(&self) -> usize {
        self.state().clients.values().map(|client| client.subscriptions.len()).sum()
    }

    pub(crate) fn accepted(&self) -> u64 {
        self.state().accepted
    }

    /// Adds a client; it is removed when the first of the two is dropped.
    pub(crate) fn add(self: &Arc<Self>) -> (Member, Messages) {
        let limits = &self.settings.limits;
        let (sender, receiver) = mpsc::channel(limits.queued_events);
        let bytes = Arc::new(AtomicUsize::new(0));
        let queue = Queue { sender, bytes: Arc::clone(&bytes), max_bytes: limits.queued_bytes };
        let mut state = self.state();
        let number = state.next_client;
        state.next_client += 1;
        let subscriptions = BTreeMap::new();
        state.clients.insert(number, Client { queue, subscriptions, keys: Vec::new(), held: None });
        (Member { hub: Arc::clone(self), number }, Messages { receiver, bytes })
    }

    /// Stores and forwards a verified event. Returns false if it was known.
    pub(crate) fn publish(&self, event: &Event<'_>, json: &Bytes) -> bool {
        let mut state = self.state();
        let state = &mut *state;
        match state.store.add(event, json) {
            Added::New => {}
            Added::Known | Added::Replaced => return false,
        }
        state.accepted += 1;
        let faults = Arc::clone(&state.faults);
        if faults.drop_every.is_some_and(|number| state.accepted.is_multiple_of(number)) {
            return true;
        }
        let json = faults.alter.map_or_else(|| json.clone(), |lie| altered(event, lie));
        let must_authenticate = self.settings.auth && event.kind == REMOTE_SIGNING;
        state.clients.retain(|_, client| {
            if must_authenticate && !client.may_read(event) {
                return true;
            }
            client.deliver(event, &json, &faults)
        });
        true
    }
}

impl Client {
    /// Returns true if the client authenticated a key that the event is for.
    fn may_read(&self, event: &Event<'_>) -> bool {
        event.tags.iter().filter(|tag| tag.is("p")).any(|tag| {
            let key = tag.values().nth(1).map(|value| value.to_string());
            let key = key.and_then(|key| endseal_nostr::hex::array(&key));
            key.is_some_and(|key| self.keys.contains(&key))
        })
    }

    /// Returns false if the client reads too slowly.
    fn deliver(&mut self, event: &Event<'_>, json: &Bytes, faults: &Faults) -> bool {
        for (id, filters) in &self.subscriptions {
            if !filters.iter().any(|filter| filter.matches(event)) {
                continue;
            }
            let message = message::deliver(id, json);
            if faults.swap && self.held.is_none() {
                self.held = Some(message);
                continue;
            }
            let times = if faults.repeat { 2 } else { 1 };
            let messages = core::iter::repeat_n(message, times).chain(self.held.take());
            for message in messages {
                if !self.queue.push(message) {
                    return false;
                }
            }
        }
        true
    }
}

/// JSON of another event with the same id.
fn altered(event: &Event<'_>, lie: Lie) -> Bytes {
    let mut event = *event;
    let content = event.content.to_string() + "!";
    match lie {
        Lie::Signature => event.sig[40] ^= 1,
        Lie::Content => event.content = content.as_str().into(),
    }
    let mut json = Vec::new();
    event.write_to(&mut json);
    json.into()
}

/// A client of the hub.
pub(crate) struct Member {
    hub: Arc<Hub>,
    number: u64,
}

impl Member {
    /// Replaces a subscription; returns stored events. None if there are too many subscriptions.
    pub(crate) fn subscribe(&self, id: &str, filters: Vec<Filter>) -> Option<Vec<Bytes>> {
        let limits = &self.hub.settings.limits;
        let mut state = self.hub.state();
        let stored = state.store.find(&filters, limits.answers);
        let subscriptions = &mut state.clients.get_mut(&self.number)?.subscriptions;
        if subscriptions.len() >= limits.subscriptions && !subscriptions.contains_key(id) {
            return None;
        }
        subscriptions.insert(id.to_owned(), filters);
        Some(stored)
    }

    pub(crate) fn unsubscribe(&self, id: &str) {
        if let Some(client) = self.hub.state().clients.get_mut(&self.number) {
            client.subscriptions.remove(id);
        }
    }

    /// Adds an authenticated key.
    pub(crate) fn authenticated(&self, key: [u8; 32]) {
        if let Some(client) = self.hub.state().clients.get_mut(&self.number)
            && !client.keys.contains(&key)
        {
            client.keys.push(key);
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.hub.state().clients.remove(&self.number);
    }
}
