//! One HTTP/1.1 connection, which lives in the task that uses it.
//!
//! hyper divides a connection into a handle and a future that does the work. Here both are in one
//! place: the task that waits for a response or a frame polls the future first. So a body crosses
//! no task, and dropping the wait closes the socket.

use alloc::sync::Arc;
use core::future::Future as _;
use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::{TrySendError, http1};
use hyper_util::rt::TokioIo;
use tokio::runtime::{Handle, Id};

use super::error::ClientError;
use super::idle_timeout::IdleTimeout;
use super::sent::SentBody;
use super::socket::{Activity, Socket};

/// Fields of a response at most: user metadata alone can be hundreds.
const MAX_FIELDS: usize = 512;

/// Bytes of a buffer at least: hyper's own bound.
const MIN_BUFFER: usize = 8192;

pub(super) struct Connection {
    handle: http1::SendRequest<SentBody>,
    /// None when it has ended.
    work: Option<Box<Work>>,
    activity: Arc<Activity>,
    /// Between exchanges it is kept here: its timer is reset, not made anew.
    pub(super) stall: IdleTimeout,
    /// The runtime that tells when it can be read, and runs its timer.
    home: Home,
}

/// A runtime; `None` for none.
pub(super) type Home = Option<Id>;

/// The runtime of the caller.
pub(super) fn here() -> Home {
    Handle::try_current().ok().map(|handle| handle.id())
}

type Work = http1::Connection<TokioIo<Socket>, SentBody>;

/// hyper's answer to one request.
pub(super) type Promise = Pin<
    Box<
        dyn Future<Output = Result<Response<Incoming>, TrySendError<Request<SentBody>>>>
            + Send
            + Sync,
    >,
>;

impl Connection {
    /// A connection whose buffers have `buffer` bytes at most. Nothing is said to the server.
    pub(super) async fn open(socket: Socket, buffer: usize) -> Result<Self, ClientError> {
        let activity = socket.activity();
        let (handle, work) = http1::Builder::new()
            .max_buf_size(buffer.max(MIN_BUFFER))
            .max_headers(MAX_FIELDS)
            .handshake(TokioIo::new(socket))
            .await
            .map_err(|_| ClientError::Broken)?;
        let (work, stall) = (Some(Box::new(work)), IdleTimeout::default());
        Ok(Self { handle, work, activity, stall, home: here() })
    }

    /// The runtime in which it was opened.
    pub(super) fn home(&self) -> Home {
        self.home
    }

    pub(super) fn activity(&self) -> &Activity {
        &self.activity
    }

    /// Hands a request to hyper; it is sent by [`Self::work`].
    pub(super) fn start(&mut self, request: Request<SentBody>) -> Promise {
        self.activity.set_idle(false);
        Box::pin(self.handle.try_send_request(request))
    }

    /// Reads and writes what can be. False when the connection has ended.
    pub(super) fn work(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(work) = &mut self.work else { return false };
        if Pin::new(work).poll(cx).is_pending() {
            return true;
        }
        // The reason is in the response or the body that is waited for.
        self.work = None;
        false
    }

    /// True if it can take another request: both messages were read and written to their ends, the
    /// server neither closed nor announced that it would, and has sent nothing since.
    pub(super) fn is_idle(&mut self) -> bool {
        self.activity.set_idle(true);
        let quiet = &mut Context::from_waker(Waker::noop());
        self.work(quiet) && self.handle.is_ready()
    }
}

/// Polls something that only [`Connection::work`] makes ready, right after it: there is nothing to
/// wake.
pub(super) fn look<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}
