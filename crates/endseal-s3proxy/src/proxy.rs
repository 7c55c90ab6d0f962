//! One request from its first byte to its answer: who sends it, what it is, who takes care of it.

mod answer;
mod backend;
mod error_answer;
mod keys;
mod names;
mod request_id;
mod sealed_object;
mod verdict;

use core::net::SocketAddr;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use http::header::{EXPECT, HOST, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, Uri};
use http_body::Body as _;
use hyper::body::Incoming;

pub(crate) use self::backend::read;
use self::request_id::RequestId;
pub(crate) use self::sealed_object::{Found, SealedObject, Sought, content_range, object_len};
pub(crate) use self::verdict::{late_error, relay, with_document, without_body};
use endseal_kms::{Cached, KeyProvider};
use endseal_s3_folder::FolderServer;
use endseal_s3_protocol::Operation;
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::Target;
use endseal_s3_protocol::sigv4::{Access, Payload, Rules, SignedRequest, Signer, Verifier};

use crate::access::{Client, Clients};
use crate::body::{Leftover, Outgoing, Upload};
use crate::bucket::{BucketRule, Buckets};
use crate::client;
use crate::client_key::parse_target;
use crate::config::{Config, Limits};
use crate::handler;
use crate::headers::{self, COPY_SOURCE};
use crate::log::{Entry, Log};
use crate::metrics::Metrics;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-amz-request-id");

/// A proxy: everything that requests share. It holds nothing that a second one would need.
#[allow(missing_debug_implementations, reason = "it holds secret access keys")]
pub struct Proxy {
    pub(crate) backend: client::Client,
    pub(crate) provider: Arc<dyn KeyProvider>,
    pub(crate) buckets: Buckets,
    pub(crate) metrics: Arc<Metrics>,
    verifier: Verifier<Clients>,
    clients: Clients,
    signer: Arc<Signer>,
    domains: Vec<String>,
    /// The region that clients sign for.
    region: String,
    trailers: bool,
    limits: Limits,
    log: Box<dyn Log>,
    /// The provider's cache, for metrics.
    pub(crate) cache: Option<Arc<Cached>>,
    /// The backend, if it is a folder.
    pub(crate) folder: Option<FolderServer>,
    /// Distinguishes requests of this process, and processes from each other.
    request_ids: (u64, AtomicU64),
}

/// A request whose sender is known and may send it.
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) target: Target,
    pub(crate) headers: HeaderMap,
    pub(crate) payload: Payload,
    pub(crate) operation: Operation,
    pub(crate) signer: Arc<Signer>,
    /// Taken by who reads it.
    pub(crate) body: Option<Box<Upload>>,
    pub(crate) client: Arc<Client>,
}

impl Proxy {
    /// A proxy with this configuration, key provider and client of the backend.
    #[must_use]
    pub fn new(
        config: &Config,
        provider: Arc<dyn KeyProvider>,
        backend: client::Client,
        log: Box<dyn Log>,
    ) -> Self {
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
            signer: Arc::new(config.backend.signer()),
            domains: config.domains.clone(),
            region: config.backend.region.clone(),
            trailers: config.backend.trailers,
            limits: config.limits.clone(),
            log,
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

    /// Whether backend and key provider answer.
    ///
    /// # Errors
    /// Which of them does not.
    pub async fn ready(&self) -> Result<(), &'static str> {
        if self.probe_backend().await.is_err() {
            return Err("the backend does not answer");
        }
        if self.probe_keys().await.is_err() {
            return Err("the key provider does not answer");
        }
        Ok(())
    }

    /// Whether the backend takes checksums behind a body.
    pub(crate) const fn has_trailers(&self) -> bool {
        self.trailers
    }

    /// The rule of a bucket.
    pub(crate) fn rule(&self, bucket: &str) -> &BucketRule {
        self.buckets.rule(bucket)
    }

    /// Answers a request. Whatever happens, there is an answer.
    pub async fn answer(&self, request: Request<Incoming>, peer: SocketAddr) -> Response<Outgoing> {
        let start = Instant::now();
        if let Some(response) = self.health(&request).await {
            return response;
        }
        let in_flight = self.metrics.begun();
        let id = self.request_id();
        let method = request.method().clone();
        let mut seen = Seen::default();
        let result = self.serve(request, &mut seen).await;
        let (mut response, error) = match result {
            Ok(response) => (self.with_clients_names(&seen, response).await, None),
            Err(error) => {
                let error = self.error_with_clients_names(&seen, error);
                let resource = seen.target.as_ref().map(Target::path);
                let is_head = method == Method::HEAD;
                let response = error_answer::of(&error, resource.as_deref(), id.as_str(), is_head);
                (response, Some(error))
            }
        };
        let serves_again = if response.status().is_success() {
            !seen.leftover.is_unsent()
        } else {
            seen.leftover.drain().await
        };
        if !serves_again {
            response.headers_mut().insert("connection", HeaderValue::from_static("close"));
        }
        let id = id.as_str();
        if let Ok(value) = HeaderValue::from_str(id) {
            response.headers_mut().insert(REQUEST_ID, value);
        }
        let elapsed = start.elapsed();
        drop(in_flight);
        self.metrics.answered(seen.operation, response.status(), elapsed);
        self.log.entry(&Entry {
            id,
            peer,
            access_key: seen.client.as_deref().map(Client::access_key),
            operation: seen.operation,
            method: method.as_str(),
            bucket: seen.target.as_ref().and_then(Target::bucket),
            key: seen.target.as_ref().and_then(Target::key),
            status: response.status().as_u16(),
            error: error.as_ref().map(S3Error::code),
            cause: error.as_ref().and_then(S3Error::cause),
            elapsed,
        });
        response
    }

    async fn serve(
        &self,
        request: Request<Incoming>,
        seen: &mut Seen,
    ) -> Result<Response<Outgoing>, S3Error> {
        let (head, body) = request.into_parts();
        if head_len(&head.uri, &head.headers) > self.limits.header_bytes {
            return Err(S3Error::head_too_large());
        }
        let host = host(&head.uri, &head.headers);
        let target = parse_target(&head.uri, host, &self.domains)?;
        seen.target = Some(target.without_query());
        let operation = Operation::of(&head.method, &target, &head.headers);
        seen.operation = operation;
        seen.copy_source = head.headers.get(COPY_SOURCE).cloned();
        let signed = SignedRequest {
            method: head.method.as_str(),
            path: head.uri.path(),
            query: head.uri.query(),
            headers: &head.headers,
        };
        let expects_continue = headers::text(&head.headers, EXPECT)
            .is_some_and(|expect| expect.eq_ignore_ascii_case("100-continue"));
        if expects_continue && body.is_end_stream() && is_botocore(&head.headers) {
            seen.leftover.end_connection();
        }
        // Put aside until it is wanted: what is refused is read to its end all the same.
        let least = self.limits.min_rate;
        let body = Upload::new(body, expects_continue, seen.leftover.clone(), least);
        if operation == Operation::PostObject {
            return handler::post_object(self, head, body, &target, seen).await;
        }
        let access = self.verifier.verify(signed, SystemTime::now());
        let verified = match access {
            Ok(Access::Signed(verified)) => verified,
            Ok(_) => return Err(self.refused(S3Error::access_denied())),
            Err(error) => return Err(self.refused(error.into())),
        };
        let (client, signer) =
            self.clients.find(&verified.access_key).ok_or_else(S3Error::access_denied)?;
        seen.client = Some(Arc::clone(client));
        client.check(operation, &head.method, &target).map_err(|error| self.refused(error))?;
        let headers = head.headers.keys().map(HeaderName::as_str);
        headers::check_no_customer_key(headers.chain(target.query().names()))?;
        let mut target = target;
        if verified.presigned {
            target = target.without_signature();
        }
        let call = Call {
            method: head.method,
            target,
            headers: head.headers,
            payload: verified.payload,
            operation,
            signer: Arc::clone(signer.unwrap_or(&self.signer)),
            body: Some(body),
            client: Arc::clone(client),
        };
        handler::handle(self, call).await
    }

    /// Who verifies a form, who may send one, and what signs for those without credentials of their
    /// own.
    pub(crate) const fn form_access(&self) -> (&Verifier<Clients>, &Clients, &Arc<Signer>) {
        (&self.verifier, &self.clients, &self.signer)
    }

    /// What signs requests that no client sends.
    pub(crate) const fn own_signer(&self) -> &Arc<Signer> {
        &self.signer
    }

    pub(crate) fn refused(&self, error: S3Error) -> S3Error {
        self.metrics.refused.fetch_add(1, Relaxed);
        error
    }

    fn request_id(&self) -> RequestId {
        let (start, count) = &self.request_ids;
        RequestId::new(*start, count.fetch_add(1, Relaxed))
    }
}

/// What of a request is known so far, for the log.
pub(crate) struct Seen {
    pub(crate) target: Option<Target>,
    operation: Operation,
    pub(crate) client: Option<Arc<Client>>,
    copy_source: Option<HeaderValue>,
    leftover: Leftover,
}

impl Default for Seen {
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

/// Bytes of a request's head, near enough.
fn head_len(uri: &Uri, headers: &HeaderMap) -> usize {
    let target = uri.path().len() + uri.query().map_or(0, str::len);
    headers.iter().fold(target, |sum, (name, value)| sum + name.as_str().len() + value.len() + 4)
}

/// True for clients built on botocore. After an answer that came without "100 Continue", botocore does not read the
/// status line of the next answer over the same connection.
fn is_botocore(headers: &HeaderMap) -> bool {
    let agent = headers::text(headers, USER_AGENT).unwrap_or_default().to_ascii_lowercase();
    agent.contains("botocore") || agent.contains("aws-cli")
}

/// The host that a request names.
fn host<'a>(uri: &'a Uri, headers: &'a HeaderMap) -> Option<&'a str> {
    uri.authority().map(http::uri::Authority::as_str).or_else(|| headers.get(HOST)?.to_str().ok())
}
