//! One request and its response over one connection.

use alloc::sync::Arc;
use core::future::poll_fn;
use core::mem;
use core::task::{Context, Poll, ready};
use std::io;

use bytes::{Bytes, BytesMut};
use http::{Request, Response, request};
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use tokio::sync::OwnedSemaphorePermit;

use super::connection::{Connection, look};
use super::counters::{Counters, add};
use super::error::ClientError;
use super::growth::Kept;
use super::pool::Pool;
use super::sent::{Phase, Progress, SentBody};
use super::short::Came;
use super::stall::Stall;

/// A connection in use. Dropping it closes the socket.
pub(super) struct Exchange {
    /// Boxed, as it is moved with the response a dozen times, and stays in its box as long as it is kept.
    connection: Option<Box<Connection>>,
    stall: Stall,
    pool: Arc<Pool>,
    counters: Arc<Counters>,
    /// What had gone through the socket before: read, written.
    before: (u64, u64),
    _permit: OwnedSemaphorePermit,
}

/// Whether a server can have seen a request that failed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// Nothing of it was sent.
    No,
    /// The connection broke without a byte of a response.
    Perhaps,
    Yes,
    /// It was, and the head of the response is longer than the connection takes.
    Crowded,
}

impl Seen {
    /// The same of a request that was sent before.
    pub(super) fn or_sent(self) -> Self {
        if self == Self::No { Self::Yes } else { self }
    }
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

    /// Sends the request and waits for the head of a response.
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
        let Some(mut promise) = connection.start(request) else {
            return Err((ClientError::Broken, Seen::No));
        };
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
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(self.judge(error, progress)),
            Err(timeout) => Err((timeout, Seen::Yes)),
        }
    }

    /// Sends a request whose body is `content`, and waits for the head of a response, past hyper.
    ///
    /// Of a plain response, the request's fields are gone: their memory is for the next one's.
    pub(super) async fn run_short(
        &mut self,
        head: &mut request::Parts,
        content: &[u8],
    ) -> Result<Came, (ClientError, Seen)> {
        let Some(connection) = &mut self.connection else {
            return Err((ClientError::Broken, Seen::No));
        };
        connection.activity().set_uploading(!content.is_empty());
        let Some((mut short, socket)) = connection.start_short(head, content) else {
            return Err((ClientError::Broken, Seen::No));
        };
        let limits = *self.pool.limits();
        let (stall, mut last) = (&mut self.stall, 0);
        let outcome = poll_fn(|cx| {
            if let Poll::Ready(outcome) = short.poll(socket, cx) {
                return Poll::Ready(Ok(outcome));
            }
            if short.written() != last {
                last = short.written();
                stall.progress();
            }
            let (limit, error) = match short.is_sent() {
                true => (limits.first_byte, ClientError::ResponseTimeout),
                false => (limits.idle, ClientError::Stalled),
            };
            ready!(stall.poll(cx, limit));
            Poll::Ready(Err(error))
        })
        .await;
        stall.progress();
        let (is_sent, is_begun) = (short.is_sent(), short.written() > 0);
        drop(short);
        if is_sent {
            connection.is_whole();
        }
        if let Ok(Ok(Came::Plain(..))) = &outcome {
            connection.keep(mem::take(&mut head.headers));
        }
        match outcome {
            Ok(Ok(came)) => Ok(came),
            Ok(Err(_)) if !is_begun => Err((ClientError::Broken, Seen::No)),
            Ok(Err(_)) if connection.activity().read() == self.before.0 => {
                Err((ClientError::Broken, Seen::Perhaps))
            }
            Ok(Err(_)) => Err((ClientError::Broken, Seen::Yes)),
            Err(timeout) => Err((timeout, Seen::Yes)),
        }
    }

    /// Leaves the response to a request that went out past hyper, and begins so, to hyper.
    pub(super) fn read_again(&mut self, bytes: Bytes) {
        if let Some(connection) = &mut self.connection {
            connection.read_again(bytes);
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
            let seen = if error.is_parse_too_large() { Seen::Crowded } else { Seen::Yes };
            return (ClientError::InvalidResponse, seen);
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

    /// Reads and writes what can be.
    pub(super) fn work(&mut self, cx: &mut Context<'_>) {
        if let Some(connection) = &mut self.connection {
            connection.work(cx);
        }
    }

    /// Has the rest of the response's body read by [`poll_read`](Self::poll_read); gives the bytes of it that were
    /// read already and are in no frame. `None` if the request may still be on its way, or the connection ended.
    pub(super) fn take_over(&mut self) -> Option<Bytes> {
        let connection = self.connection.as_mut()?;
        // A request without a body went out before its response could begin.
        if connection.activity().is_uploading() { None } else { connection.take_over() }
    }

    /// Reads the body of the response, after [`take_over`](Self::take_over), as [`Connection::poll_read`] does.
    pub(super) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        room: &mut BytesMut,
        most: usize,
    ) -> Poll<io::Result<usize>> {
        match &mut self.connection {
            Some(connection) => connection.poll_read(cx, room, most),
            None => Poll::Ready(Ok(0)),
        }
    }

    /// How many bytes are read at once at most.
    pub(super) fn buffer(&self) -> usize {
        self.connection.as_ref().map_or(0, |connection| connection.buffer())
    }

    /// The timer of this exchange.
    pub(super) fn poll_stalled(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let limit = self.pool.limits().idle;
        self.stall.poll(cx, limit)
    }

    pub(super) fn progress(&mut self) {
        self.stall.progress();
    }

    /// What the connection lets go when it reads.
    pub(super) fn kept(&self) -> Kept {
        self.connection.as_ref().map(|own| own.activity().kept()).unwrap_or_default()
    }

    pub(super) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Both messages are at their end: the connection goes back, if it can be used again.
    pub(super) fn finish(mut self) {
        self.account();
        // A server may answer before it has all of a body: such a connection is of no use any more.
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
