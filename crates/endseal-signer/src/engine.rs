//! Core of the signer: decides requests and writes responses, without sockets or clocks.
//!
//! Events that arrive together pass through [`Engine::arrive`] as one batch and one transaction.
//! `arrival` turns an event into a request, `request` decides it, and `answer` executes it and
//! writes the response event. No response is sent before the commit.

mod answer;
mod arrival;
mod batch;
mod command;
mod devices;
mod greeting;
mod ignored;
mod quota;
mod request;
#[cfg(test)]
mod tests;
mod view;
mod waiting;
mod waiting_view;
mod wishes;

pub(crate) use self::command::check_relays;
pub(crate) use self::devices::DeviceRequest;
pub(crate) use self::waiting::{PERSON, PERSON_WITH_PAGE};

use alloc::sync::Arc;
use core::mem;
use core::sync::atomic::Ordering::Relaxed;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use endseal_crypto::random::{OsRandom, Random as _, RandomError};
use endseal_crypto::secret::{Zeroizing, wipe};
use endseal_nostr::connect::{CallError, Incoming, Refusal, is_fresh};
use endseal_nostr::key::SigningKey;
use endseal_nostr::nip44::Cache;
use endseal_relay::address::Address;
use endseal_relay::auth::SignedEvent;

use self::answer::Sent;
use self::batch::Batch;
use self::devices::Devices;
use self::greeting::Greetings;
use self::ignored::IgnoredLines;
use self::quota::{Clock, Quotas, UnrecordedErrors, Verifications};
use self::waiting::Waiting;
use crate::error::StateError;
use crate::keys::SigningKeys;
use crate::metrics::{Ignored, Metrics, Outcome};
use crate::records::app::{App, AppState, Flow};
use crate::records::line::{LogEntry, Matter};
use crate::records::settings::Settings;
use crate::signer_store::SignerStore;
use crate::state::{AppRules, State};
use crate::text::{BoundedText, MAX_TEXT};

/// Maximum number of cached conversations between user keys and peers.
const USER_CONVERSATIONS: usize = 256;
/// Maximum number of cached conversations between transport keys and clients.
const APP_CONVERSATIONS: usize = 128;

/// Maximum size of a response event in bytes.
const MAX_EVENT: usize = 512 * 1024;

/// Event to be published at the relays of an app.
#[allow(missing_debug_implementations, reason = "it tells which apps there are")]
pub(crate) struct Outgoing {
    /// Transport key of the app.
    pub(crate) transport: [u8; 32],
    /// Event to publish.
    pub(crate) event: SignedEvent,
}

/// Transport key of an app, and the relays on which its requests arrive.
pub(crate) struct Subscription {
    pub(crate) transport: [u8; 32],
    pub(crate) relays: Vec<String>,
    /// True if the relays come from a client's URI, so they are untrusted.
    pub(crate) is_foreign: bool,
}

/// Result of a transaction: the events to send, and whether it was committed.
struct Transacted {
    outgoing: Vec<Outgoing>,
    is_committed: bool,
}

/// Signer without its sockets: the store and all state in memory.
pub(crate) struct Engine {
    directory: PathBuf,
    store: SignerStore,
    parts: Parts,
}

/// State in memory, apart from the store so that both can be borrowed at once.
struct Parts {
    keys: Option<SigningKeys>,
    user_conversations: Box<Cache<USER_CONVERSATIONS>>,
    app_conversations: Box<Cache<APP_CONVERSATIONS>>,
    waiting: Waiting,
    devices: Devices,
    clock: Clock,
    unknown_senders: Verifications,
    verifications: Verifications,
    sent: Sent,
    greetings: Greetings,
    ignored_lines: IgnoredLines,
    /// URL of the approval page up to its path, if there is one.
    page: Option<String>,
    /// True if the method `nip17_unwrap_batch` is enabled.
    unwrap_batch: bool,
    metrics: Arc<Metrics>,
    random: OsRandom,
    quotas: Quotas,
    unrecorded: UnrecordedErrors,
    /// Apps whose clients encrypt with NIP-04, of which the log has a warning.
    warned_legacy: HashSet<u32>,
    /// Time of the last removal of expired records, in seconds since 1970.
    pruned: u64,
    /// True if apps or their relays changed since the last call of `new_subscriptions`.
    has_new_subscriptions: bool,
}

impl Engine {
    pub(crate) fn new(directory: PathBuf, store: SignerStore, metrics: Arc<Metrics>) -> Self {
        let mut first = [0; 4];
        // If the system has no random bytes, no request is answered and none waits.
        let _ = OsRandom.fill(&mut first);
        let first = u32::from_le_bytes(first);
        let parts = Parts {
            keys: None,
            user_conversations: Box::new(Cache::new()),
            app_conversations: Box::new(Cache::new()),
            waiting: Waiting::from(first),
            devices: Devices::default(),
            clock: Clock::System,
            unknown_senders: Verifications::default(),
            verifications: Verifications::default(),
            sent: Sent::default(),
            greetings: Greetings::default(),
            ignored_lines: IgnoredLines::default(),
            page: None,
            unwrap_batch: false,
            metrics,
            random: OsRandom,
            quotas: Quotas::default(),
            unrecorded: UnrecordedErrors::default(),
            warned_legacy: HashSet::new(),
            pruned: 0,
            has_new_subscriptions: true,
        };
        let engine = Self { directory, store, parts };
        engine.count_apps();
        engine
    }

    /// Decides events that arrived together, in one transaction, and returns the responses. The
    /// events are wiped.
    pub(crate) fn arrive(&mut self, now: u64, events: &mut [Vec<u8>]) -> Vec<Outgoing> {
        let mut decided = 0;
        let transacted = self.transact(now, |batch| {
            for event in &mut *events {
                batch.arrive(event)?;
                decided += 1;
            }
            Ok(())
        });
        let mut outgoing = transacted.outgoing;
        if !transacted.is_committed {
            // The event that failed was noted and has its response, unless no transaction was
            // started.
            let first = if decided == 0 { 0 } else { decided + 1 };
            for event in events.iter_mut().skip(first) {
                outgoing.extend(self.refuse_unrecorded(now, event));
            }
        }
        events.iter_mut().for_each(|event| wipe(event));
        outgoing
    }

    /// Responds with an error to a request that cannot be recorded, so that its app does not wait.
    fn refuse_unrecorded(&mut self, now: u64, json: &mut [u8]) -> Option<Outgoing> {
        let Self { store, parts, .. } = self;
        let len = json.len();
        let incoming = Incoming::read(json).ok()?;
        let app = addressed(store.state(), incoming.recipient(), incoming.author(), now)?.app();
        let client = app.client().filter(|it| it.to_bytes() == *incoming.author())?;
        let (at, transport, id) = (parts.clock.now(), app.record_name(), *incoming.id());
        let is_answered = is_fresh(incoming.created_at(), now, store.state().settings().floor)
            && parts.verifications.take(&transport, len, at);
        let verified = incoming.verify().ok().filter(|_| is_answered)?;
        if !parts.unrecorded.take(&transport, &id, at) {
            return None;
        }
        let key = address_key(&parts.keys, app)?;
        let conversation = answer::conversation(&mut parts.app_conversations, key, client);
        let request = verified.open(conversation).ok()?.request().ok()?;
        answer::refuse(app, request.id, Refusal::Unrecorded, parts, now)
    }

    /// Refuses requests that waited too long, and removes expired records.
    pub(crate) fn tick(&mut self, now: u64) -> Vec<Outgoing> {
        self.parts.sent.prune();
        self.parts.greetings.prune(now);
        self.parts.ignored_lines.log_due(Instant::now());
        self.count_apps();
        if !self.parts.waiting.has_late(now) && !batch::is_prune_due(&self.parts, now) {
            return Vec::new();
        }
        let transacted = self.transact(now, |batch| {
            batch.time_out()?;
            batch.prune()
        });
        self.count_apps();
        transacted.outgoing
    }

    /// Refuses all waiting requests, because the signer is stopping.
    pub(crate) fn stop(&mut self, now: u64) -> Vec<Outgoing> {
        self.transact(now, |batch| batch.refuse_all()).outgoing
    }

    /// Handles a relay's refusal of a response. The response is replaced by an error if its size
    /// may be the reason: it is large, or the relay calls it invalid.
    pub(crate) fn refused(&mut self, now: u64, event: &[u8; 32], reason: &str) -> Vec<Outgoing> {
        self.parts.metrics.answers_refused.fetch_add(1, Relaxed);
        let Some((transport, request_id)) = self.parts.sent.take(event, reason) else {
            return Vec::new();
        };
        self.refuse(now, &[(transport, request_id)], Refusal::TooLarge)
    }

    /// Returns the events that authenticate the transport keys at a relay (NIP-42). Apps that have
    /// ended are left out: their requests only get errors. A user's key logs in to relays that the
    /// user has named alone: to the relay of a client's URI it would be a signature that no rule
    /// allows.
    pub(crate) fn authenticate(
        &mut self,
        relay: &Address,
        keys: &[[u8; 32]],
        challenge: &str,
        now: u64,
    ) -> Vec<SignedEvent> {
        let Self { store, parts, .. } = self;
        let Parts { keys: users, random, .. } = parts;
        let is_relay = |it: &BoundedText<MAX_TEXT>| {
            Address::parse_insecure(it.as_str()).is_ok_and(|it| it == *relay)
        };
        let is_own = store.state().settings().relays.iter().any(is_relay);
        let may = |app: &App| {
            let is_named = matches!(app.flow(), Flow::Bunker { .. });
            !app.is_at_user_key || is_own || is_named && app.relays().iter().any(is_relay)
        };
        let key = |address: &[u8; 32]| {
            let mut apps = store.state().apps().filter(|app| is_live(app));
            let app = apps.find(|it| it.app().address() == *address && may(it.app()))?;
            let mut aux = [0; 32];
            random.fill(&mut aux).ok()?;
            let key = address_key(users, app.app())?;
            Some(endseal_relay::auth::sign(challenge, relay, key, now, &aux))
        };
        keys.iter().filter_map(key).collect()
    }

    /// Returns all transport keys with their relays, or `None` if they did not change since the
    /// last call.
    pub(crate) fn new_subscriptions(&mut self) -> Option<Vec<Subscription>> {
        if !mem::take(&mut self.parts.has_new_subscriptions) {
            return None;
        }
        let own = self.relays();
        let of_app = |entry: &AppRules| {
            let app = entry.app();
            let named: Vec<_> = app.relays().iter().map(|it| it.as_str().to_owned()).collect();
            let is_foreign = matches!(app.flow(), Flow::NostrConnect);
            let transport = app.address();
            let mut all = Vec::new();
            all.push(Subscription { transport, relays: own.clone(), is_foreign: false });
            if !named.is_empty() && named != own {
                all.push(Subscription { transport, relays: named, is_foreign });
            }
            all
        };
        Some(self.store.state().apps().flat_map(of_app).collect())
    }

    /// Responds with an error to a request that is too long to be decided, so that its app does not
    /// wait. Other events of this length are counted. The event is wiped.
    pub(crate) fn refuse_long(&mut self, now: u64, json: &mut [u8]) -> Option<Outgoing> {
        let outgoing = self.try_refuse_long(now, json);
        wipe(json);
        if outgoing.is_none() {
            self.ignore_oversized(1);
        }
        outgoing
    }

    fn try_refuse_long(&mut self, now: u64, json: &mut [u8]) -> Option<Outgoing> {
        let Self { store, parts, .. } = self;
        let len = json.len();
        let incoming = Incoming::read_long(json).ok()?;
        let app = addressed(store.state(), incoming.recipient(), incoming.author(), now)?.app();
        let client = app.client().filter(|it| it.to_bytes() == *incoming.author())?;
        let (at, transport, id) = (parts.clock.now(), app.record_name(), *incoming.id());
        let is_answered = is_fresh(incoming.created_at(), now, store.state().settings().floor)
            && parts.verifications.take(&transport, len, at);
        let verified = incoming.verify().ok().filter(|_| is_answered)?;
        if !parts.unrecorded.take(&transport, &id, at) {
            return None;
        }
        let key = address_key(&parts.keys, app)?;
        let conversation = answer::conversation(&mut parts.app_conversations, key, client);
        let request = verified.open(conversation).ok()?.request().ok()?;
        parts.metrics.request(request.method.name(), Outcome::Failed);
        answer::refuse(app, request.id, CallError::Length.into(), parts, now)
    }

    /// Counts and logs messages that were not read because they are above the limit.
    pub(crate) fn ignore_oversized(&mut self, count: u64) {
        self.parts.ignore(Ignored::Size, None, count);
    }

    /// Returns the signer's own relays.
    pub(crate) fn relays(&self) -> Vec<String> {
        relays(self.store.state().settings())
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(crate) fn set_unwrap_batch(&mut self, is_answered: bool) {
        self.parts.unwrap_batch = is_answered;
    }

    /// Sets the URL of the approval page up to its path.
    pub(crate) fn set_page(&mut self, page: Option<String>) {
        self.parts.page = page;
    }

    fn count_apps(&self) {
        let apps = self.store.state().apps().filter(|it| is_live(it)).count();
        self.parts.metrics.apps.store(apps as u64, Relaxed);
        self.parts.metrics.unlocked.store(self.parts.keys.is_some(), Relaxed);
        self.parts.metrics.waiting.store(self.parts.waiting.len() as u64, Relaxed);
    }

    /// Runs `work` in a transaction and returns the responses after its commit. If it fails,
    /// each of its requests is answered with an error, and the state is loaded again.
    fn transact(
        &mut self,
        now: u64,
        work: impl FnOnce(&mut Batch<'_>) -> Result<(), StateError>,
    ) -> Transacted {
        let (requests, cause) = match self.try_transact(now, work) {
            Ok(outgoing) => return Transacted { outgoing, is_committed: true },
            Err(failed) => failed,
        };
        self.parts.waiting.roll_back();
        self.parts.metrics.commits_failed.fetch_add(1, Relaxed);
        tracing::error!(target: "signer", %cause, "a transaction failed");
        if let Err(cause) = self.store.recover() {
            tracing::error!(target: "signer", %cause, "the store cannot be read");
        }
        self.parts.waiting.forget_decided(self.store.state());
        let outgoing = self.refuse(now, &requests, Refusal::Unrecorded);
        Transacted { outgoing, is_committed: false }
    }

    #[allow(clippy::type_complexity, reason = "the requests that had no answer")]
    fn try_transact(
        &mut self,
        now: u64,
        work: impl FnOnce(&mut Batch<'_>) -> Result<(), StateError>,
    ) -> Result<Vec<Outgoing>, (Vec<([u8; 32], String)>, StateError)> {
        self.parts.waiting.begin();
        if self.store.is_stale() && self.store.recover().is_err() {
            return Err((Vec::new(), StateError::Stale));
        }
        let Self { store, parts, .. } = self;
        let transaction = store.begin().map_err(|error| (Vec::new(), error))?;
        let metrics = Arc::clone(&parts.metrics);
        let mut batch = Batch::new(transaction, parts, now);
        let worked = work(&mut batch);
        let (transaction, outgoing, requests) = batch.finish();
        if let Err(error) = worked {
            drop(transaction);
            return Err((requests, error));
        }
        let started = Instant::now();
        match transaction.commit() {
            Ok(()) => {
                metrics.commit(started.elapsed());
                Ok(outgoing)
            }
            Err(error) => Err((requests, error.into())),
        }
    }

    /// Responds to requests with an error, without recording anything.
    fn refuse(
        &mut self,
        now: u64,
        requests: &[([u8; 32], String)],
        refusal: Refusal,
    ) -> Vec<Outgoing> {
        // Transport keys are right even if the state is stale, because a failed change cannot have
        // added one.
        let Self { store, parts, .. } = self;
        let mut outgoing = Vec::new();
        for (transport, request_id) in requests {
            let Some(app) = store.state().app(transport) else { continue };
            outgoing.extend(answer::refuse(app.app(), request_id, refusal, parts, now));
        }
        outgoing
    }
}

/// Returns the signing key of an app's user, or `None` if it is on a device or the signer is
/// locked.
fn user_key<'k>(keys: &'k Option<SigningKeys>, app: &App) -> Option<&'k SigningKey> {
    keys.as_ref()?.get(app.user())
}

/// Returns true if the signer is unlocked and has the key of an app's user, here or on a device.
fn holds(keys: &Option<SigningKeys>, app: &App) -> bool {
    let keys = keys.as_ref();
    keys.is_some_and(|it| it.get(app.user()).is_some() || it.is_on_device(app.user()))
}

/// Returns the key by which the client of an app reaches the signer, or `None` if it is the user's
/// and the signer is locked.
fn address_key<'k>(keys: &'k Option<SigningKeys>, app: &'k App) -> Option<&'k SigningKey> {
    if app.is_at_user_key { user_key(keys, app) } else { Some(app.transport()) }
}

/// Returns the app to which an event is addressed. Several can have one address, the user's key:
/// the one of this author, else one that waits for a client.
fn addressed<'s>(
    state: &'s State,
    recipient: &[u8; 32],
    author: &[u8; 32],
    now: u64,
) -> Option<&'s AppRules> {
    if let Some(entry) = state.app(recipient)
        && !entry.app().is_at_user_key
    {
        return Some(entry);
    }
    let rank = |entry: &&AppRules| match entry.app().client() {
        Some(client) if client.to_bytes() == *author => 2 + u8::from(is_live(entry)),
        None if is_invited(entry.app(), now) => 1,
        _ => 0,
    };
    let at_key = state.apps().filter(|it| it.app().address() == *recipient);
    at_key.max_by_key(rank)
}

/// Returns true if the app waits for a client, and its invitation has not expired.
fn is_invited(app: &App, now: u64) -> bool {
    *app.state() == AppState::Invited && app.end().is_none_or(|end| now < end)
}

/// Returns true if the app was neither revoked nor logged out. An app that has only expired counts
/// as live.
fn is_live(entry: &AppRules) -> bool {
    matches!(entry.app().state(), AppState::Invited | AppState::Paired { .. })
}

fn relays(settings: &Settings) -> Vec<String> {
    settings.relays.iter().map(|it| it.as_str().to_owned()).collect()
}

/// Starts a log line about an app.
fn entry_of(app: &App, matter: Matter, now: u64) -> LogEntry {
    let mut entry = LogEntry::new(matter, now);
    entry.app = app.number();
    entry.text = BoundedText::cut(app.name.as_str());
    entry
}

/// Returns two random values of 32 bytes, one for a nonce and one for a signature.
fn fresh(random: &mut OsRandom) -> Result<([u8; 32], [u8; 32]), RandomError> {
    let mut bytes = [[0; 32]; 2];
    random.fill(bytes.as_flattened_mut())?;
    let [nonce, aux] = bytes;
    Ok((nonce, aux))
}

/// Allocates a buffer of zeros that is wiped when dropped.
fn buffer(len: usize) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(vec![0; len])
}
