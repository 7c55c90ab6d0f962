//! The HTTP/1.1 client towards the backend and towards key servers.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use endseal_s3proxy::client::{Body, Client, Limits, Target, Trust};
//!
//! let target = Target::parse("https://s3.example.com")?;
//! let client = Client::new(target, Trust::public(), Limits::default());
//! let uri = client.target().request_target("/bucket/key")?;
//! let response = client.send(http::Request::get(uri).body(Body::empty())?).await?;
//! # let _ = response; Ok(())
//! # }
//! ```
//!
//! A request runs in the task that waits for it, and a body in the task that reads it: what is
//! dropped is aborted, and no frame crosses a channel. Connections are kept for the next request when
//! both messages came to their ends.

use alloc::sync::Arc;
use core::fmt;

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderValue, TRANSFER_ENCODING};
use http::{Method, Request, Response, Version, request};
use tokio::sync::OwnedSemaphorePermit;
use tokio_rustls::TlsConnector;

use crate::read_len;

mod alarm;
mod body;
mod connect;
mod connection;
mod counters;
mod error;
mod exchange;
mod growth;
mod limits;
mod plain;
mod pool;
mod replay;
mod response;
mod sent;
mod short;
mod socket;
mod stall;
mod target;
mod trust;

pub use body::{Body, BodySender, BodyUnwanted, SourceError, WrongLength};
pub use counters::Counters;
pub use error::{ClientError, ResponseError};
pub use limits::Limits;
pub use response::ResponseBody;
pub use target::{InvalidTarget, Target};
pub use trust::{InvalidAuthority, Trust};

pub(crate) use alarm::Alarm;
use connection::Connection;
use counters::count;
use exchange::{Exchange, Seen};
use pool::Pool;
use replay::HeadCopy;
use sent::Progress;
use short::{Came, MAX_CONTENT};
pub(crate) use stall::Stall;

/// Of a connection, however many there are: what a response's head may have.
const LEAST_BUFFER: usize = 64 * 1024;

/// Fields of a response for which a connection has room from the start. Room for more is taken for each response
/// anew.
const FIELDS: usize = 100;

/// Fields of a response at most: user metadata alone can be hundreds.
const MAX_FIELDS: usize = 512;

/// Which connection a request goes out over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// One that was kept, if there is one.
    Kept,
    New,
    /// A new one with room for [`MAX_FIELDS`].
    Roomy,
}

/// A client of one server. Clones share connections and counters.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    target: Target,
    tls: Option<TlsConnector>,
    pool: Arc<Pool>,
    counters: Arc<Counters>,
}

impl Client {
    /// A client without a connection yet. `trust` matters for `https` alone.
    #[must_use]
    pub fn new(target: Target, trust: Trust, limits: Limits) -> Self {
        let tls = target.is_tls().then(|| trust.connector());
        Self(Arc::new(Inner { target, tls, pool: Pool::new(limits), counters: Arc::default() }))
    }

    /// The server.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.0.target
    }

    /// What was done so far.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.0.counters
    }

    /// Connections that are kept for the next request.
    #[must_use]
    pub fn kept_connections(&self) -> usize {
        self.0.pool.kept()
    }

    /// Connections that are in use.
    #[must_use]
    pub fn used_connections(&self) -> usize {
        self.0.pool.used()
    }

    /// Sends a request and waits for the head of its response.
    ///
    /// The URI is sent as it is: the caller made it by [`Target::request_target`]. `Host` is added if
    /// it is missing, `Content-Length` is the body's. A server may answer before it has all of the
    /// body; what is left of it goes out while the caller reads the response.
    ///
    /// Nothing is sent twice, with two exceptions. Where a kept connection turns out closed before a
    /// byte of a response, and nothing of the request was sent, or the method is idempotent (or there
    /// is no body) and the body can be had again, the request goes out once more over a new one. A write
    /// on a condition is not idempotent: the first one may be why it does not hold any more. And a request that
    /// changes nothing goes out once more where its response has more fields than most have.
    ///
    /// # Errors
    /// [`ClientError`]. The server may have acted on the request nevertheless, except for
    /// [`Busy`](ClientError::Busy) and what happened while connecting.
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
        let mut next = Next::Kept;
        loop {
            let permit = self.permit().await?;
            let kept = if next == Next::Kept { self.pool.take() } else { None };
            let is_kept = kept.is_some();
            let connection = match kept {
                Some(connection) => {
                    count(&self.counters.reused);
                    connection
                }
                None => self.open(if next == Next::Roomy { MAX_FIELDS } else { FIELDS }).await?,
            };
            let (is_safe, is_idempotent) = (head.method.is_safe(), head.method.is_idempotent());
            let is_conditional = is_conditional(&head.headers);
            let again = |seen, is_repeatable| match seen {
                Seen::No if is_kept => Some(Next::New),
                Seen::Perhaps if is_kept && (is_safe || (!is_conditional && is_repeatable)) => {
                    Some(Next::New)
                }
                Seen::Crowded if is_safe && next != Next::Roomy => Some(Next::Roomy),
                _ => None,
            };
            let whole = Some(MAX_CONTENT).filter(|_| next != Next::Roomy);
            if let Some(content) = whole.and_then(|most| body.whole(most)) {
                let is_repeatable = is_idempotent || content.is_empty();
                let (error, seen) =
                    match self.run_short(connection, permit, &mut head, content).await {
                        Ok(response) => return Ok(response),
                        Err(failure) => failure,
                    };
                next = again(seen, is_repeatable).ok_or(error)?;
                count(&self.counters.retried);
                continue;
            }
            // Over a new connection that has room, nothing goes out that could go out again.
            let copy = (is_kept || (is_safe && next != Next::Roomy)).then(|| HeadCopy::of(&head));
            let replay = copy.as_ref().and_then(|_| body.replay());
            let progress = Progress::new(body);
            let (error, seen) = match self.run(connection, permit, head, &progress).await {
                Ok(response) => return Ok(response),
                Err(failure) => failure,
            };
            let is_repeatable = is_idempotent || replay.as_ref().is_some_and(Body::is_empty);
            let Some(now) = again(seen, is_repeatable) else { return Err(error) };
            next = now;
            let Some(restored) = copy.as_ref().and_then(HeadCopy::restore) else {
                return Err(error);
            };
            head = restored;
            body = progress.take_unbegun().or(replay).ok_or(error)?;
            count(&self.counters.retried);
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
        // The body knows its length, and servers of S3 want to hear that there is none.
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

    /// A new connection, for responses with at most so many fields.
    async fn open(&self, fields: usize) -> Result<Box<Connection>, ClientError> {
        let limits = self.pool.limits();
        let socket = connect::connect(&self.target, self.tls.as_ref(), limits)
            .await
            .inspect_err(|_| count(&self.counters.unreachable))?;
        count(&self.counters.opened);
        let connections = self.pool.used() + self.pool.kept();
        let least = LEAST_BUFFER.min(limits.buffer);
        let buffer = read_len::share(connections, least, limits.buffer);
        Ok(Box::new(Connection::new(socket, buffer, fields)))
    }

    async fn run(
        &self,
        connection: Box<Connection>,
        permit: OwnedSemaphorePermit,
        head: request::Parts,
        progress: &Arc<Progress>,
    ) -> Result<Response<ResponseBody>, (ClientError, Seen)> {
        let exchange = Exchange::new(connection, &self.pool, &self.counters, permit);
        self.run_on(exchange, head, progress).await
    }

    /// A request that is written past hyper.
    async fn run_short(
        &self,
        connection: Box<Connection>,
        permit: OwnedSemaphorePermit,
        head: &mut request::Parts,
        content: Bytes,
    ) -> Result<Response<ResponseBody>, (ClientError, Seen)> {
        let mut exchange = Exchange::new(connection, &self.pool, &self.counters, permit);
        match exchange.run_short(head, &content).await? {
            Came::Plain(response, len, early) => {
                Ok(response.map(|()| ResponseBody::past_hyper(len, early, exchange)))
            }
            Came::Other(bytes) => {
                exchange.read_again(bytes);
                let progress = Progress::new(Body::full(content));
                // Boxed, as it is rare, and every request has room for what it may become.
                let response = Box::pin(self.run_on(exchange, head.clone(), &progress)).await;
                // The server has it, whatever hyper sent.
                response.map_err(|(error, seen)| (error, seen.or_sent()))
            }
        }
    }

    async fn run_on(
        &self,
        mut exchange: Exchange,
        head: request::Parts,
        progress: &Arc<Progress>,
    ) -> Result<Response<ResponseBody>, (ClientError, Seen)> {
        let response = exchange.run(head, progress).await?;
        // Otherwise hyper has to say whether the connection can be used again.
        let stays =
            response.version() == Version::HTTP_11 && !response.headers().contains_key(CONNECTION);
        Ok(response.map(|incoming| ResponseBody::new(incoming, exchange, stays)))
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

/// Counts a request that is dropped while it waits.
struct Abandoned<'a>(Option<&'a Counters>);

impl Drop for Abandoned<'_> {
    fn drop(&mut self) {
        if let Some(counters) = self.0 {
            count(&counters.abandoned);
        }
    }
}
