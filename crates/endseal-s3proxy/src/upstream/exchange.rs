//! Exchange of one request and its response on a connection.

use alloc::sync::Arc;
use core::future::poll_fn;
use core::mem;
use core::task::{Context, Poll, ready};

use http::{Request, Response, StatusCode, request};
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use tokio::sync::OwnedSemaphorePermit;

use super::connection::{Connection, look};
use super::counters::{Counters, add};
use super::error::ClientError;
use super::idle_timeout::IdleTimeout;
use super::pool::Pool;
use super::sent::{Phase, Progress, SentBody};

/// Exchange on a connection. Dropping it before its end closes the socket.
pub(super) struct Exchange {
    connection: Option<Box<Connection>>,
    stall: IdleTimeout,
    pool: Arc<Pool>,
    counters: Arc<Counters>,
    /// Number of bytes read and written on the socket before this exchange.
    before: (u64, u64),
    _permit: OwnedSemaphorePermit,
}

/// Possible knowledge of the server about a failed request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// Nothing of the request was sent.
    No,
    /// The connection broke before a byte of a response arrived.
    Perhaps,
    Yes,
}

impl Exchange {
    pub(super) fn new(
        mut connection: Box<Connection>,
        pool: &Arc<Pool>,
        counters: &Arc<Counters>,
        permit: OwnedSemaphorePermit,
    ) -> Self {
        let before = (connection.activity().read(), connection.activity().written());
        let stall = mem::take(&mut connection.stall);
        Self {
            connection: Some(connection),
            stall,
            pool: Arc::clone(pool),
            counters: Arc::clone(counters),
            before,
            _permit: permit,
        }
    }

    /// Sends the request and waits for the head of the response. If the response arrives before the
    /// whole body was sent, the rest of the body is dropped.
    pub(super) async fn run(
        &mut self,
        head: request::Parts,
        progress: &Arc<Progress>,
    ) -> Result<Response<Incoming>, (ClientError, Seen)> {
        let Some(connection) = &mut self.connection else {
            return Err((ClientError::Broken, Seen::No));
        };
        connection.activity().set_uploading(progress.phase() != Phase::Done);
        let request = Request::from_parts(head, progress.sent());
        let mut promise = connection.start(request);
        let mut last = (connection.activity().written(), progress.phase());
        let limits = *self.pool.limits();
        let stall = &mut self.stall;
        let outcome = poll_fn(|cx| {
            connection.work(cx);
            if let Poll::Ready(outcome) = look(promise.as_mut()) {
                return Poll::Ready(Ok(outcome));
            }
            let now = (connection.activity().written(), progress.phase());
            if now != last {
                last = now;
                stall.progress();
            }
            let (limit, error) = match now.1 {
                Phase::Done => (limits.first_byte, ClientError::ResponseTimeout),
                Phase::Flowing => (limits.idle, ClientError::Stalled),
                Phase::SourceWaits => (limits.idle, ClientError::SourceStalled),
            };
            ready!(stall.poll(cx, limit));
            Poll::Ready(Err(error))
        })
        .await;
        self.stall.progress();
        match outcome {
            // No request asks for another protocol.
            Ok(Ok(response)) if response.status() == StatusCode::SWITCHING_PROTOCOLS => {
                Err((ClientError::InvalidResponse, Seen::Yes))
            }
            Ok(Ok(response)) => {
                progress.end();
                Ok(response)
            }
            Ok(Err(error)) => Err(self.judge(error, progress)),
            Err(timeout) => Err((timeout, Seen::Yes)),
        }
    }

    fn judge(
        &self,
        error: TrySendError<Request<SentBody>>,
        progress: &Progress,
    ) -> (ClientError, Seen) {
        if let Some(failure) = progress.take_failure() {
            return (ClientError::Source(failure), Seen::Yes);
        }
        let unsent = error.message().is_some();
        let error = error.into_error();
        if error.is_parse() {
            return (ClientError::InvalidResponse, Seen::Yes);
        }
        if error.is_user() && !unsent {
            return (ClientError::InvalidRequest, Seen::Yes);
        }
        let silent =
            self.connection.as_ref().is_some_and(|own| own.activity().read() == self.before.0);
        let seen = match (unsent, silent) {
            (true, _) => Seen::No,
            (false, true) => Seen::Perhaps,
            (false, false) => Seen::Yes,
        };
        (ClientError::Broken, seen)
    }

    /// Reads and writes as much as possible.
    pub(super) fn work(&mut self, cx: &mut Context<'_>) {
        if let Some(connection) = &mut self.connection {
            connection.work(cx);
        }
    }

    /// Polls the idle timer of this exchange.
    pub(super) fn poll_stalled(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let limit = self.pool.limits().idle;
        self.stall.poll(cx, limit)
    }

    pub(super) fn progress(&mut self) {
        self.stall.progress();
    }

    pub(super) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Ends the exchange after both messages. The connection returns to the pool if it can be
    /// reused.
    pub(super) fn finish(mut self) {
        self.account();
        // If the server responded before it got the whole body, the connection cannot be reused.
        if let Some(mut connection) = self.connection.take()
            && connection.is_idle()
        {
            connection.activity().set_uploading(false);
            self.stall.progress();
            connection.stall = mem::take(&mut self.stall);
            self.pool.put(connection);
        }
    }

    fn account(&mut self) {
        let Some(connection) = &self.connection else { return };
        let (read, written) = self.before;
        self.before = (connection.activity().read(), connection.activity().written());
        add(&self.counters.bytes_received, self.before.0 - read);
        add(&self.counters.bytes_sent, self.before.1 - written);
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.account();
    }
}
