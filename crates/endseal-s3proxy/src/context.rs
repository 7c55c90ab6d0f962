//! State that all requests share, and the context of one request.

use core::sync::atomic::{AtomicU64, Ordering};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use endseal_kms::{Cached, KeyProvider};
use endseal_s3_folder::FolderServer;
use endseal_s3_protocol::sigv4::{Payload, Rules, Verifier};
use endseal_s3_protocol::{Operation, S3Error, Target};
use http::{HeaderMap, HeaderValue, Method};

use crate::access::{Client, Clients};
use crate::bucket::{BucketRule, Buckets};
use crate::completions_in_progress::CompletionsInProgress;
use crate::config::{Balancers, Config, Limits};
use crate::credentials::BackendSigner;
use crate::observability::Metrics;
use crate::parallel_parts::ParallelParts;
use crate::transfer::{Leftover, RequestBody};
use crate::upstream;

/// Proxy with the state that all requests share. Several proxies can run in one process.
#[allow(missing_debug_implementations, reason = "it holds secret access keys")]
pub struct Proxy {
    pub(crate) backend: upstream::Client,
    /// The same server, for requests that are made while the response to another one is held.
    pub(crate) beside: upstream::Client,
    pub(crate) provider: Arc<dyn KeyProvider>,
    pub(crate) buckets: Buckets,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) verifier: Verifier<Clients>,
    pub(crate) clients: Clients,
    pub(crate) signer: BackendSigner,
    pub(crate) domains: Vec<String>,
    /// True if clients connect with TLS.
    pub(crate) has_tls: bool,
    /// Region that clients use in their signatures.
    pub(crate) region: String,
    pub(crate) trailers: bool,
    /// Uploads whose parts are sent to the backend at the same time.
    pub(crate) parallel_parts: ParallelParts,
    pub(crate) limits: Limits,
    /// Balancers that state the addresses of clients.
    pub(crate) balancers: Option<Arc<Balancers>>,
    pub(crate) completions: Arc<CompletionsInProgress>,
    /// Cache of the key provider, for metrics.
    pub(crate) cache: Option<Arc<Cached>>,
    /// Path and server of the folder, if the backend is a folder.
    pub(crate) folder: Option<(PathBuf, Arc<FolderServer>)>,
    /// Random-like start value and counter, which make the ids of requests unique.
    pub(crate) request_ids: (u64, AtomicU64),
}

/// Request of a client that was authenticated and has the needed permissions.
pub(crate) struct RequestContext {
    pub(crate) method: Method,
    pub(crate) target: Target,
    pub(crate) headers: HeaderMap,
    pub(crate) payload: Payload,
    pub(crate) operation: Operation,
    pub(crate) signer: BackendSigner,
    /// Body of the request. The handler that reads it takes it out.
    pub(crate) body: Option<Box<RequestBody>>,
    pub(crate) client: Arc<Client>,
}

impl Proxy {
    /// Creates a proxy from a configuration, a key provider and a client of the backend. It signs
    /// with `access_key`; use [`start`](Self::start) for a proxy with a chain of credentials.
    #[must_use]
    pub fn new(config: &Config, provider: Arc<dyn KeyProvider>, backend: upstream::Client) -> Self {
        let clients = Clients::new(&config.clients, &config.backend.region);
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let start = since.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX));
        Self {
            beside: backend.beside(),
            backend,
            provider,
            buckets: config.buckets.clone(),
            metrics: Arc::default(),
            verifier: Verifier::new(clients.clone(), Rules::default()),
            clients,
            signer: BackendSigner::Fixed(Arc::new(config.backend.signer())),
            domains: config.domains.clone(),
            has_tls: config.tls.is_some(),
            region: config.backend.region.clone(),
            trailers: config.backend.trailers,
            parallel_parts: ParallelParts::new(&config.backend, &config.limits),
            limits: config.limits.clone(),
            balancers: config.balancers.clone().map(Arc::new),
            completions: Arc::default(),
            cache: None,
            folder: None,
            request_ids: (start ^ u64::from(std::process::id()).rotate_left(32), AtomicU64::new(0)),
        }
    }

    /// Returns the limits of connections and times.
    #[must_use]
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns the metrics of the proxy.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Returns true if the backend accepts checksum trailers.
    pub(crate) const fn has_trailers(&self) -> bool {
        self.trailers
    }

    /// Returns the rule of a bucket.
    pub(crate) fn rule(&self, bucket: &str) -> &BucketRule {
        self.buckets.rule(bucket)
    }

    /// Returns the verifier of forms, the clients, and the signer for clients without credentials
    /// of their own at the backend.
    pub(crate) const fn form_access(&self) -> (&Verifier<Clients>, &Clients, &BackendSigner) {
        (&self.verifier, &self.clients, &self.signer)
    }

    /// Returns the signer of requests that the proxy makes on its own behalf.
    pub(crate) const fn own_signer(&self) -> &BackendSigner {
        &self.signer
    }

    pub(crate) fn refused(&self, error: S3Error) -> S3Error {
        self.metrics.refused.fetch_add(1, Ordering::Relaxed);
        error
    }
}

/// Properties of a request that are known so far, for its log line.
pub(crate) struct AccessLog {
    pub(crate) target: Option<Target>,
    pub(crate) operation: Operation,
    pub(crate) client: Option<Arc<Client>>,
    pub(crate) copy_source: Option<HeaderValue>,
    pub(crate) leftover: Leftover,
}

impl Default for AccessLog {
    fn default() -> Self {
        Self {
            target: None,
            operation: Operation::Other,
            client: None,
            copy_source: None,
            leftover: Leftover::default(),
        }
    }
}
