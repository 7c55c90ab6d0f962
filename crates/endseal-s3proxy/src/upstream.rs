//! HTTP/1.1 client for the backend and for key servers.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use endseal_s3proxy::upstream::{Body, Client, Limits, Target, Trust};
//!
//! let target = Target::parse("https://s3.example.com")?;
//! let client = Client::new(target, Trust::public(), Limits::default());
//! let uri = client.target().request_target("/bucket/key")?;
//! let response = client.send(http::Request::get(uri).body(Body::empty())?).await?;
//! # let _ = response; Ok(())
//! # }
//! ```
//!
//! A request runs in the task that awaits it, and a body in the task that reads it. Dropping either
//! of them aborts it, and no frame passes through a channel. A connection is kept for the next
//! request if both messages were transferred completely.

use alloc::sync::Arc;
use core::fmt;

use http::header::{CONTENT_LENGTH, HOST, HeaderMap, HeaderValue, TRANSFER_ENCODING};
use http::{Method, Request, Response, Version, request};
use tokio::sync::OwnedSemaphorePermit;
use tokio_rustls::TlsConnector;

mod body;
mod connect;
mod connection;
mod counters;
mod error;
mod exchange;
mod idle_timeout;
mod key_server;
mod lazy_timer;
mod limits;
mod pool;
mod response;
mod sent;
mod socket;
mod target;

pub use body::{Body, BodySender, BodyUnwanted, SourceError, WrongLength};
pub use counters::Counters;
pub use endseal_service::{InvalidAuthority, Trust};
pub(crate) use error::broken;
pub use error::{ClientError, ResponseError};
pub(crate) use key_server::whole;
pub use limits::Limits;
pub use response::ResponseBody;
pub use target::{InvalidTarget, Target};

use connection::Connection;
use counters::count;
use exchange::{Exchange, Seen};
pub(crate) use idle_timeout::IdleTimeout;
use pool::Pool;
use sent::Progress;

/// Client of one server. Clones share connections and counters.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    target: Target,
    tls: Option<TlsConnector>,
    pool: Arc<Pool>,
    counters: Arc<Counters>,
}

impl Client {
    /// Creates a client without opening a connection. `trust` is used for `https` only.
    #[must_use]
    pub fn new(target: Target, trust: Trust, limits: Limits) -> Self {
        let tls = target.is_tls().then(|| trust.connector());
        Self(Arc::new(Inner { target, tls, pool: Pool::new(limits), counters: Arc::default() }))
    }

    /// Returns a client of the same server with as many connections of its own. For requests that
    /// are made while the response to another one is held: if both waited for the same connections,
    /// requests could wait for each other.
    #[must_use]
    pub fn beside(&self) -> Self {
        let Inner { target, tls, pool, counters } = &*self.0;
        let pool = Pool::new(*pool.limits());
        let (target, tls, counters) = (target.clone(), tls.clone(), Arc::clone(counters));
        Self(Arc::new(Inner { target, tls, pool, counters }))
    }

    /// Returns the server of this client.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.0.target
    }

    /// Returns the counters of this client.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.0.counters
    }

    /// Returns the number of connections that are kept for later requests.
    #[must_use]
    pub fn kept_connections(&self) -> usize {
        self.0.pool.kept()
    }

    /// Returns the number of connections that are in use.
    #[must_use]
    pub fn used_connections(&self) -> usize {
        self.0.pool.used()
    }

    /// Sends a request and waits for the head of its response.
    ///
    /// The URI is sent unchanged, so it must come from [`Target::request_target`]. `Host` is added
    /// if it is missing, and `Content-Length` is set from the body. If the server responds before
    /// it has got the whole body, the rest of the body is dropped.
    ///
    /// Requests are not repeated, with one exception. If a kept connection turns out to be closed
    /// before a byte of a response arrives, the request may be sent again on a new one. This
    /// requires that nothing was sent, or that the method is idempotent (or the body is empty) and
    /// the body can be replayed. A conditional write is not idempotent, because its first attempt
    /// may have changed the condition.
    ///
    /// # Errors
    /// [`ClientError`]. The server may nevertheless have executed the request, except for
    /// [`Busy`](ClientError::Busy) and errors while connecting.
    pub async fn send(
        &self,
        request: Request<Body>,
    ) -> Result<Response<ResponseBody>, ClientError> {
        let counters = &self.0.counters;
        count(&counters.requests);
        let mut guard = Abandoned(Some(counters));
        let outcome = self.0.send(request).await;
        guard.0 = None;
        if let Err(error) = &outcome {
            count(&counters.failed);
            if error.is_timeout() {
                count(&counters.timeouts);
            }
        }
        outcome
    }
}

impl Inner {
    async fn send(&self, request: Request<Body>) -> Result<Response<ResponseBody>, ClientError> {
        let (mut head, mut body) = request.into_parts();
        self.prepare(&mut head, &body)?;
        let mut is_first = true;
        loop {
            let permit = self.permit().await?;
            let kept = if is_first { self.pool.take() } else { None };
            let Some(connection) = kept else {
                let connection = self.open().await?;
                let progress = Progress::new(body);
                let outcome = self.run(connection, permit, head, &progress).await;
                return outcome.map_err(|(error, _)| error);
            };
            count(&self.counters.reused);
            let copy = head.clone();
            let replay = body.replay();
            let progress = Progress::new(body);
            let (error, seen) = match self.run(connection, permit, head, &progress).await {
                Ok(response) => return Ok(response),
                Err(failure) => failure,
            };
            let is_repeatable = copy.method.is_safe()
                || (!is_conditional(&copy.headers)
                    && (copy.method.is_idempotent()
                        || replay.as_ref().is_some_and(Body::is_empty)));
            if seen == Seen::Yes || (seen == Seen::Perhaps && !is_repeatable) {
                return Err(error);
            }
            head = copy;
            body = progress.take_unsent().or(replay).ok_or(error)?;
            count(&self.counters.retried);
            is_first = false;
        }
    }

    fn prepare(&self, head: &mut request::Parts, body: &Body) -> Result<(), ClientError> {
        if head.method == Method::CONNECT || head.uri.path_and_query().is_none() {
            return Err(ClientError::InvalidRequest);
        }
        head.version = Version::HTTP_11;
        if !head.headers.contains_key(HOST) {
            let host = HeaderValue::from_str(self.target.authority())
                .map_err(|_| ClientError::InvalidRequest)?;
            head.headers.insert(HOST, host);
        }
        // The length is that of the body. S3 servers require a length of 0 for an empty PUT or
        // POST.
        head.headers.remove(TRANSFER_ENCODING);
        if body.is_empty() && !matches!(head.method, Method::PUT | Method::POST) {
            head.headers.remove(CONTENT_LENGTH);
        } else {
            head.headers.insert(CONTENT_LENGTH, HeaderValue::from(body.left()));
        }
        Ok(())
    }

    async fn permit(&self) -> Result<OwnedSemaphorePermit, ClientError> {
        self.pool.permit().await.inspect_err(|_| count(&self.counters.crowded_out))
    }

    async fn open(&self) -> Result<Box<Connection>, ClientError> {
        let limits = self.pool.limits();
        let socket = connect::connect(&self.target, self.tls.as_ref(), limits)
            .await
            .inspect_err(|_| count(&self.counters.unreachable))?;
        count(&self.counters.opened);
        Connection::open(socket, limits.buffer).await.map(Box::new)
    }

    async fn run(
        &self,
        connection: Box<Connection>,
        permit: OwnedSemaphorePermit,
        head: request::Parts,
        progress: &Arc<Progress>,
    ) -> Result<Response<ResponseBody>, (ClientError, Seen)> {
        let mut exchange = Exchange::new(connection, &self.pool, &self.counters, permit);
        let response = exchange.run(head, progress).await?;
        Ok(response.map(|incoming| ResponseBody::new(incoming, exchange)))
    }
}

fn is_conditional(headers: &HeaderMap) -> bool {
    headers.keys().any(|name| name.as_str().starts_with("if-"))
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Client").field(&self.0.target).finish()
    }
}

/// Counts a request that is dropped before its response.
struct Abandoned<'a>(Option<&'a Counters>);

impl Drop for Abandoned<'_> {
    fn drop(&mut self) {
        if let Some(counters) = self.0 {
            count(&counters.abandoned);
        }
    }
}
