//! The state that requests share, and the context of one.

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
use crate::config::{Config, Limits};
use crate::credentials::BackendSigner;
use crate::observability::Metrics;
use crate::transfer::{Leftover, RequestBody};
use crate::upstream;

/// A proxy: everything that requests share. It holds nothing that a second one would need.
#[allow(missing_debug_implementations, reason = "it holds secret access keys")]
pub struct Proxy {
    pub(crate) backend: upstream::Client,
    pub(crate) provider: Arc<dyn KeyProvider>,
    pub(crate) buckets: Buckets,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) verifier: Verifier<Clients>,
    pub(crate) clients: Clients,
    pub(crate) signer: BackendSigner,
    pub(crate) domains: Vec<String>,
    /// The region that clients sign for.
    pub(crate) region: String,
    pub(crate) trailers: bool,
    pub(crate) limits: Limits,
    /// The provider's cache, for metrics.
    pub(crate) cache: Option<Arc<Cached>>,
    /// The backend, if it is a folder, and the folder.
    pub(crate) folder: Option<(PathBuf, Arc<FolderServer>)>,
    /// Distinguishes requests of this process, and processes from each other.
    pub(crate) request_ids: (u64, AtomicU64),
}

/// A request whose sender is known and may send it.
pub(crate) struct RequestContext {
    pub(crate) method: Method,
    pub(crate) target: Target,
    pub(crate) headers: HeaderMap,
    pub(crate) payload: Payload,
    pub(crate) operation: Operation,
    pub(crate) signer: BackendSigner,
    /// Taken by who reads it.
    pub(crate) body: Option<Box<RequestBody>>,
    pub(crate) client: Arc<Client>,
}

impl Proxy {
    /// A proxy with this configuration, key provider and client of the backend. It signs with
    /// `access_key`; [`start`](Self::start) makes one that asks a chain of credentials.
    #[must_use]
    pub fn new(config: &Config, provider: Arc<dyn KeyProvider>, backend: upstream::Client) -> Self {
        let clients = Clients::new(&config.clients, &config.backend.region);
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let start = since.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX));
        Self {
            backend,
            provider,
            buckets: config.buckets.clone(),
            metrics: Arc::default(),
            verifier: Verifier::new(clients.clone(), Rules::default()),
            clients,
            signer: BackendSigner::Fixed(Arc::new(config.backend.signer())),
            domains: config.domains.clone(),
            region: config.backend.region.clone(),
            trailers: config.backend.trailers,
            limits: config.limits.clone(),
            cache: None,
            folder: None,
            request_ids: (start ^ u64::from(std::process::id()).rotate_left(32), AtomicU64::new(0)),
        }
    }

    /// The bounds of its connections.
    #[must_use]
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Its counters.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Returns true if the backend takes checksums behind a body.
    pub(crate) const fn has_trailers(&self) -> bool {
        self.trailers
    }

    /// The rule of a bucket.
    pub(crate) fn rule(&self, bucket: &str) -> &BucketRule {
        self.buckets.rule(bucket)
    }

    /// The verifier of forms, the clients who may send one, and what signs for those without
    /// credentials of their own.
    pub(crate) const fn form_access(&self) -> (&Verifier<Clients>, &Clients, &BackendSigner) {
        (&self.verifier, &self.clients, &self.signer)
    }

    /// The signer of requests that no client sends.
    pub(crate) const fn own_signer(&self) -> &BackendSigner {
        &self.signer
    }

    pub(crate) fn refused(&self, error: S3Error) -> S3Error {
        self.metrics.refused.fetch_add(1, Ordering::Relaxed);
        error
    }
}

/// The part of a request that is known so far, for the log.
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
