//! A cache before another provider, which is asked as rarely as possible.
//!
//! Keys that were opened stay in memory for a bounded time, so that a provider that is down stops
//! only requests for keys that it has not opened recently. Many requests for one key ask the
//! provider once. When a provider fails several times in a row, it is not asked for a while, and
//! requests fail at once.
//!
//! It is for providers that are far away or slow. A ring opens a key in less time than the cache
//! needs to find one.

use alloc::sync::{Arc, Weak};
use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::sync::{Mutex, MutexGuard, PoisonError};

use endseal_crypto::{hash, label};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use super::{
    Answer, ContentKey, KeyId, KeyProvider, ProviderError, ProviderKind, UNAVAILABLE_FOR, Wrapped,
};

mod breaker;
mod entries;

use breaker::{Admission, Breaker};
use entries::{Digest, Entries};

/// Bounds of a cache: keys, times and waiting requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "settings with defaults")]
pub struct CacheLimits {
    /// Keys at once. The one that was not used for longest goes first.
    pub entries: usize,
    /// Time for which a key is used after it was opened; it is kept in memory at most a quarter
    /// longer.
    pub ttl: Duration,
    /// Time that the provider has for an answer.
    pub timeout: Duration,
    /// Questions on their way at once; beyond, the provider counts as overloaded.
    pub questions: usize,
    /// Failures in a row after which the provider is left alone.
    pub failures: u32,
    /// Time for which it is left alone at first. Then one question is let through, and each failure
    /// of it doubles the time.
    pub pause: Duration,
    /// Time for which it is left alone at most.
    pub longest_pause: Duration,
}

impl Default for CacheLimits {
    fn default() -> Self {
        Self {
            entries: 10_000,
            ttl: Duration::from_secs(300),
            timeout: Duration::from_secs(5),
            questions: 1024,
            failures: 3,
            pause: Duration::from_secs(1),
            longest_pause: Duration::from_secs(30),
        }
    }
}

/// A provider behind a cache. Made in a tokio runtime, or used in one.
pub struct Cached(Arc<Inner>);

struct Inner {
    provider: Arc<dyn KeyProvider>,
    limits: CacheLimits,
    state: Mutex<State>,
    counters: CacheCounters,
}

struct State {
    entries: Entries,
    /// Requests that are under way, by the digest of their arguments.
    flights: std::collections::HashMap<Digest, watch::Receiver<Option<Outcome>>>,
    breaker: Breaker,
    swept: bool,
}

/// Answer to all callers that asked one question.
type Outcome = Result<Arc<ContentKey>, ProviderError>;

impl Cached {
    /// Puts a cache with these limits before `provider`.
    #[must_use]
    pub fn new(provider: Arc<dyn KeyProvider>, limits: CacheLimits) -> Self {
        let state = State {
            entries: Entries::new(limits.entries),
            flights: std::collections::HashMap::new(),
            breaker: Breaker::new(&limits),
            swept: false,
        };
        let counters = CacheCounters::default();
        Self(Arc::new(Inner { provider, limits, state: Mutex::new(state), counters }))
    }

    /// Returns the counters, which metrics read.
    #[must_use]
    pub fn counters(&self) -> &CacheCounters {
        &self.0.counters
    }

    /// Number of keys that are in memory now.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.0.lock().entries.len()
    }

    /// Returns true if the provider is left alone now.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.0.lock().breaker.is_open(Instant::now())
    }

    /// Forgets all keys. Questions that are on their way are answered, and remembered.
    pub fn clear(&self) {
        self.0.lock().entries = Entries::new(self.0.limits.entries);
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that can panic happens between two consistent states.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer if it is here, or where it will be.
    fn ask(
        self: &Arc<Self>,
        key_id: &KeyId,
        context: &[u8],
        wrapped: &[u8],
    ) -> Result<Arc<ContentKey>, Result<watch::Receiver<Option<Outcome>>, ProviderError>> {
        let digest = digest(key_id, context, wrapped);
        let now = Instant::now();
        let mut state = self.lock();
        if let Some(key) = state.entries.find(&digest, now) {
            count(&self.counters.hits);
            return Ok(key);
        }
        if let Some(flight) = state.flights.get(&digest) {
            count(&self.counters.joined);
            return Err(Ok(flight.clone()));
        }
        if state.flights.len() >= self.limits.questions {
            count(&self.counters.refused);
            return Err(Err(ProviderError::Unavailable { retry_after: UNAVAILABLE_FOR }));
        }
        let admission = match state.breaker.admit(now) {
            Ok(admission) => admission,
            Err(retry_after) => {
                count(&self.counters.refused);
                return Err(Err(ProviderError::Unavailable { retry_after }));
            }
        };
        count(&self.counters.asked);
        let (sender, receiver) = watch::channel(None);
        state.flights.insert(digest, receiver.clone());
        drop(state);
        // The request runs in a task of its own: the first caller may disconnect while others wait.
        let flight = Flight { inner: Arc::clone(self), digest, admission: Some(admission), sender };
        tokio::spawn(flight.run(key_id.clone(), context.into(), wrapped.into()));
        Err(Ok(receiver))
    }

    async fn in_time<T>(&self, answer: Answer<'_, T>) -> Result<T, ProviderError> {
        match timeout(self.limits.timeout, answer).await {
            Ok(outcome) => outcome,
            Err(_) => Err(ProviderError::Unavailable { retry_after: UNAVAILABLE_FOR }),
        }
    }

    /// Tells the breaker how a question ended.
    fn judge<T>(&self, admission: Admission, outcome: &Result<T, ProviderError>) {
        let failure = match outcome {
            Err(ProviderError::Unavailable { retry_after }) => Some(*retry_after),
            _ => None,
        };
        if failure.is_some() {
            count(&self.counters.failures);
        }
        self.lock().breaker.record(admission, failure, Instant::now());
    }

    fn remember(self: &Arc<Self>, digest: Digest, key: Arc<ContentKey>) {
        let mut state = self.lock();
        let evicted = state.entries.insert(digest, key, Instant::now() + self.limits.ttl);
        self.counters.evicted.fetch_add(evicted, Ordering::Relaxed);
        if !state.swept {
            state.swept = true;
            tokio::spawn(sweep(Arc::downgrade(self), self.limits.ttl));
        }
    }
}

/// A question on its way. Dropped before its end, as a runtime does that shuts down, it leaves
/// nothing.
struct Flight {
    inner: Arc<Inner>,
    digest: Digest,
    admission: Option<Admission>,
    sender: watch::Sender<Option<Outcome>>,
}

impl Flight {
    async fn run(mut self, key_id: KeyId, context: Box<[u8]>, wrapped: Box<[u8]>) {
        let answer = self.inner.provider.unwrap(&key_id, &context, &wrapped);
        let outcome = self.inner.in_time(answer).await.map(Arc::new);
        if let Some(admission) = self.admission.take() {
            self.inner.judge(admission, &outcome);
        }
        if let Ok(key) = &outcome {
            self.inner.remember(self.digest, Arc::clone(key));
        }
        // All waiting callers may have disconnected.
        let _no_one = self.sender.send(Some(outcome));
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        let mut state = self.inner.lock();
        state.flights.remove(&self.digest);
        if let Some(admission) = self.admission.take() {
            state.breaker.give_up(admission);
        }
    }
}

impl KeyProvider for Cached {
    fn kind(&self) -> ProviderKind {
        self.0.provider.kind()
    }

    fn wrapping_key_id(&self) -> KeyId {
        self.0.provider.wrapping_key_id()
    }

    fn knows(&self, key_id: &KeyId) -> bool {
        self.0.provider.knows(key_id)
    }

    fn is_as_new(&self, key_id: &str, wrapped: &[u8], sample: &Wrapped) -> bool {
        self.0.provider.is_as_new(key_id, wrapped, sample)
    }

    fn wrap<'a>(&'a self, context: &'a [u8], key: &'a ContentKey) -> Answer<'a, Wrapped> {
        Box::pin(async move {
            let inner = &self.0;
            let admitted = inner.lock().breaker.admit(Instant::now());
            let admission = admitted.map_err(|retry_after| {
                count(&inner.counters.refused);
                ProviderError::Unavailable { retry_after }
            })?;
            let mut trial = Trial { inner, admission: Some(admission) };
            let outcome = inner.in_time(inner.provider.wrap(context, key)).await;
            if let Some(admission) = trial.admission.take() {
                inner.judge(admission, &outcome);
            }
            let wrapped = outcome?;
            // A key that was just used to write is often needed soon to read.
            let digest = digest(&wrapped.key_id, context, &wrapped.bytes);
            inner.remember(digest, Arc::new(ContentKey::from_bytes(key.expose_secret())));
            Ok(wrapped)
        })
    }

    fn unwrap<'a>(
        &'a self,
        key_id: &'a KeyId,
        context: &'a [u8],
        wrapped: &'a [u8],
    ) -> Answer<'a, ContentKey> {
        Box::pin(async move {
            let key = match self.0.ask(key_id, context, wrapped) {
                Ok(key) => key,
                Err(refused_or_on_its_way) => {
                    let mut flight = refused_or_on_its_way?;
                    let outcome = flight.wait_for(Option::is_some).await;
                    let outcome = outcome.ok().and_then(|outcome| outcome.clone());
                    let gone = ProviderError::Unavailable { retry_after: UNAVAILABLE_FOR };
                    outcome.ok_or(gone)??
                }
            };
            Ok(ContentKey::from_bytes(key.expose_secret()))
        })
    }
}

impl fmt::Debug for Cached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cached").field("kind", &self.kind()).finish_non_exhaustive()
    }
}

/// A wrap on its way. Dropped before its end it leaves the breaker as it was.
struct Trial<'a> {
    inner: &'a Inner,
    admission: Option<Admission>,
}

impl Drop for Trial<'_> {
    fn drop(&mut self) {
        if let Some(admission) = self.admission.take() {
            self.inner.lock().breaker.give_up(admission);
        }
    }
}

/// `BLAKE3-derive(label, |key id| || key id || |context| || context || wrapped)`: what is found in
/// the cache was asked for with exactly these bytes.
fn digest(key_id: &KeyId, context: &[u8], wrapped: &[u8]) -> Digest {
    let id = key_id.as_str().as_bytes();
    let (id_len, context_len) =
        ((id.len() as u64).to_be_bytes(), (context.len() as u64).to_be_bytes());
    hash::derive(label::S3_KEY_CACHE, &[&id_len, id, &context_len, context, wrapped])
}

/// Runs while there are keys in memory, so that they are wiped in time when requests stay away.
async fn sweep(cache: Weak<Inner>, ttl: Duration) {
    loop {
        sleep((ttl / 4).max(Duration::from_millis(10))).await;
        let Some(inner) = cache.upgrade() else { return };
        let mut state = inner.lock();
        state.entries.drop_expired(Instant::now());
        if state.entries.len() == 0 {
            state.swept = false;
            return;
        }
    }
}

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counters of a cache, which only grow.
        #[derive(Debug, Default)]
        pub struct CacheCounters {
            $($name: AtomicU64,)*
        }

        impl CacheCounters {
            $($(#[$doc])*
            #[must_use]
            pub fn $name(&self) -> u64 {
                self.$name.load(Ordering::Relaxed)
            })*
        }
    };
}

counters! {
    /// Keys that were in memory.
    hits,
    /// Keys that the provider was asked to open.
    asked,
    /// Keys that another request was asking for already.
    joined,
    /// Questions that the provider did not answer: not reachable, or not in time.
    failures,
    /// Questions that were not put because the provider is left alone, or has too many.
    refused,
    /// Keys that were removed because the cache was full.
    evicted,
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
