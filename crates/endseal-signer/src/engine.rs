//! Decisions and answers: events in, events out, without sockets and clocks.
//!
//! Events that arrived together pass [`Engine::arrive`] as one batch and one transaction: `arrival`
//! takes an event to a request, `request` a request to a decision, `answer` executes and writes the
//! event that answers. Nothing of it leaves before the commit.

mod answer;
mod arrival;
mod batch;
mod command;
mod quota;
mod request;
#[cfg(test)]
mod tests;
mod view;
mod waiting;

pub(crate) use self::command::check_relays;
pub(crate) use self::view::hex;
pub(crate) use self::waiting::PATIENCE as PERSON;

use alloc::sync::Arc;
use core::mem;
use core::sync::atomic::Ordering::Relaxed;
use std::path::{Path, PathBuf};
use std::time::Instant;

use endseal_crypto::random::{OsRandom, Random as _, RandomError};
use endseal_crypto::secret::{Zeroizing, wipe};
use endseal_nostr::connect::{Incoming, Refusal};
use endseal_nostr::key::SigningKey;
use endseal_nostr::nip44::Cache;
use endseal_relay::auth::SignedEvent;

use self::answer::Sent;
use self::batch::Batch;
use self::quota::{Budget, Clock, Quotas, Verifications};
use self::waiting::Waiting;
use crate::error::StateError;
use crate::keys::SigningKeys;
use crate::metrics::Metrics;
use crate::records::app::{App, AppState, Flow};
use crate::records::line::{LogEntry, Matter};
use crate::records::settings::Settings;
use crate::signer_store::SignerStore;
use crate::state::AppRules;

/// Conversations that are kept between user keys and peers.
const USER_CONVERSATIONS: usize = 256;
/// Conversations that are kept between transport keys and clients.
const APP_CONVERSATIONS: usize = 128;

/// Most bytes of an event that carries an answer.
const MAX_EVENT: usize = 512 * 1024;

/// An event to be published at the relays of an app.
#[allow(missing_debug_implementations, reason = "it tells which apps there are")]
pub(crate) struct Outgoing {
    /// Transport key of the app.
    pub(crate) transport: [u8; 32],
    /// The event.
    pub(crate) event: SignedEvent,
}

/// A transport key, and the relays where requests to it arrive.
pub(crate) struct Subscription {
    pub(crate) transport: [u8; 32],
    pub(crate) relays: Vec<String>,
    /// True if the relays come from a client's URI.
    pub(crate) is_foreign: bool,
}

/// Result of a transaction.
struct Transacted {
    outgoing: Vec<Outgoing>,
    is_committed: bool,
}

/// The signer without its sockets.
pub(crate) struct Engine {
    directory: PathBuf,
    store: SignerStore,
    parts: Parts,
}

/// Everything but the store.
struct Parts {
    keys: Option<SigningKeys>,
    user_conversations: Box<Cache<USER_CONVERSATIONS>>,
    app_conversations: Box<Cache<APP_CONVERSATIONS>>,
    waiting: Waiting,
    clock: Clock,
    strangers: Budget,
    verifications: Verifications,
    sent: Sent,
    /// URL before the path of a page where a person decides.
    page: Option<String>,
    /// True if `nip17_unwrap_batch` is answered.
    unwrap_batch: bool,
    metrics: Arc<Metrics>,
    random: OsRandom,
    quotas: Quotas,
    /// Time of the last removal of what is old.
    pruned: u64,
    /// True if apps or their relays changed.
    has_new_subscriptions: bool,
}

impl Engine {
    pub(crate) fn new(directory: PathBuf, store: SignerStore, metrics: Arc<Metrics>) -> Self {
        let mut first = [0; 4];
        // Without randomness nothing is answered, so that nothing waits either.
        let _ = OsRandom.fill(&mut first);
        let first = u32::from_le_bytes(first);
        let parts = Parts {
            keys: None,
            user_conversations: Box::new(Cache::new()),
            app_conversations: Box::new(Cache::new()),
            waiting: Waiting::from(first),
            clock: Clock::System,
            strangers: Budget::default(),
            verifications: Verifications::default(),
            sent: Sent::default(),
            page: None,
            unwrap_batch: false,
            metrics,
            random: OsRandom,
            quotas: Quotas::default(),
            pruned: 0,
            has_new_subscriptions: true,
        };
        let engine = Self { directory, store, parts };
        engine.count_apps();
        engine
    }

    /// Answers events that arrived together, in one transaction. The events are wiped.
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
            // The one that failed was noted, unless there was no transaction at all.
            let first = if decided == 0 { 0 } else { decided + 1 };
            for event in events.iter_mut().skip(first) {
                outgoing.extend(self.refuse_unrecorded(now, event));
            }
        }
        events.iter_mut().for_each(|event| wipe(event));
        outgoing
    }

    /// Answers a request that cannot be recorded, so that its app does not wait.
    fn refuse_unrecorded(&mut self, now: u64, json: &mut [u8]) -> Option<Outgoing> {
        let Self { store, parts, .. } = self;
        let incoming = Incoming::read(json).ok()?;
        let app = store.state().app(incoming.recipient())?.app();
        let client = app.client().filter(|it| it.to_bytes() == *incoming.author())?;
        let verified = incoming.verify().ok()?;
        let conversation = answer::conversation(&mut parts.app_conversations, app, client);
        let request = verified.open(conversation).ok()?.request().ok()?;
        answer::refuse(app, request.id, Refusal::Unrecorded, parts, now)
    }

    /// Refuses requests that waited too long, and forgets what is old.
    pub(crate) fn tick(&mut self, now: u64) -> Vec<Outgoing> {
        self.parts.sent.prune();
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

    /// Refuses the requests that wait, as the signer ends.
    pub(crate) fn stop(&mut self, now: u64) -> Vec<Outgoing> {
        self.transact(now, |batch| batch.refuse_all()).outgoing
    }

    /// Answers that a relay refused are replaced by an error, if their size may be the cause.
    pub(crate) fn refused(&mut self, now: u64, event: &[u8; 32]) -> Vec<Outgoing> {
        self.parts.metrics.answers_refused.fetch_add(1, Relaxed);
        let Some((transport, request_id)) = self.parts.sent.take(event) else { return Vec::new() };
        self.refuse(now, &[(transport, request_id)], Refusal::TooLarge)
    }

    /// Events by which each transport key at a relay answers its challenge, but those of apps that
    /// ended: they have only errors to expect.
    pub(crate) fn authenticate(
        &mut self,
        relay: &endseal_relay::address::Address,
        keys: &[[u8; 32]],
        challenge: &str,
        now: u64,
    ) -> Vec<SignedEvent> {
        let Self { store, parts, .. } = self;
        let apps = keys.iter().filter_map(|key| store.state().app(key));
        apps.filter(|app| is_live(app))
            .filter_map(|app| {
                let mut aux = [0; 32];
                parts.random.fill(&mut aux).ok()?;
                Some(endseal_relay::auth::sign(challenge, relay, app.app().transport(), now, &aux))
            })
            .collect()
    }

    /// All transport keys with their relays, if they changed since the last call.
    pub(crate) fn new_subscriptions(&mut self) -> Option<Vec<Subscription>> {
        if !mem::take(&mut self.parts.has_new_subscriptions) {
            return None;
        }
        let own = self.relays();
        let of_app = |entry: &AppRules| {
            let app = entry.app();
            let named: Vec<_> = app.relays().iter().map(|it| it.as_str().to_owned()).collect();
            let is_foreign = matches!(app.flow(), Flow::NostrConnect);
            let transport = app.record_name();
            let mut all = Vec::new();
            all.push(Subscription { transport, relays: own.clone(), is_foreign: false });
            if !named.is_empty() && named != own {
                all.push(Subscription { transport, relays: named, is_foreign });
            }
            all
        };
        Some(self.store.state().apps().flat_map(of_app).collect())
    }

    /// First message to each client that was named by its own URI and made no request yet.
    pub(crate) fn greetings(&mut self) -> Vec<Outgoing> {
        mem::take(&mut self.parts.sent.greetings)
    }

    /// Relays of the signer.
    pub(crate) fn relays(&self) -> Vec<String> {
        relays(self.store.state().settings())
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(crate) fn set_unwrap_batch(&mut self, is_answered: bool) {
        self.parts.unwrap_batch = is_answered;
    }

    /// Sets the URL before the path of a page where a person decides.
    pub(crate) fn set_page(&mut self, page: Option<String>) {
        self.parts.page = page;
    }

    fn count_apps(&self) {
        let apps = self.store.state().apps().filter(|it| is_live(it)).count();
        self.parts.metrics.apps.store(apps as u64, Relaxed);
        self.parts.metrics.unlocked.store(self.parts.keys.is_some(), Relaxed);
        self.parts.metrics.waiting.store(self.parts.waiting.len() as u64, Relaxed);
    }

    /// Runs `work` in a transaction and returns the answers after its commit. If it fails, each
    /// request in it is answered by an error, and nothing of it happened.
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
        self.parts.sent.greetings.clear();
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
        let begun = Instant::now();
        match transaction.commit() {
            Ok(()) => {
                metrics.commit(begun.elapsed());
                Ok(outgoing)
            }
            Err(error) => Err((requests, error.into())),
        }
    }

    /// Answers requests by an error, without recording anything.
    fn refuse(
        &mut self,
        now: u64,
        requests: &[([u8; 32], String)],
        refusal: Refusal,
    ) -> Vec<Outgoing> {
        // The transport keys of a stale state are right all the same: no failed change made one.
        let Self { store, parts, .. } = self;
        let mut outgoing = Vec::new();
        for (transport, request_id) in requests {
            let Some(app) = store.state().app(transport) else { continue };
            outgoing.extend(answer::refuse(app.app(), request_id, refusal, parts, now));
        }
        outgoing
    }
}

/// The signing key of an app's user, if the signer is unlocked.
fn user_key<'k>(keys: &'k Option<SigningKeys>, app: &App) -> Option<&'k SigningKey> {
    keys.as_ref()?.get(app.user())
}

/// Returns true if the app was not ended, which its time alone does not.
fn is_live(entry: &AppRules) -> bool {
    matches!(entry.app().state(), AppState::Invited | AppState::Paired { .. })
}

fn relays(settings: &Settings) -> Vec<String> {
    settings.relays.iter().map(|it| it.as_str().to_owned()).collect()
}

/// A line of the log about an app.
fn entry_of(app: &App, matter: Matter, now: u64) -> LogEntry {
    let mut entry = LogEntry::new(matter, now);
    entry.app = app.number();
    entry.text = crate::BoundedText::cut(app.name.as_str());
    entry
}

/// 32 random bytes twice: for a nonce and for a signature.
fn fresh(random: &mut OsRandom) -> Result<([u8; 32], [u8; 32]), RandomError> {
    let mut bytes = [[0; 32]; 2];
    random.fill(bytes.as_flattened_mut())?;
    let [nonce, aux] = bytes;
    Ok((nonce, aux))
}

/// Bytes that are wiped.
fn buffer(len: usize) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(vec![0; len])
}
