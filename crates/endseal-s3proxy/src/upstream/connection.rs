//! HTTP/1.1 connection, which is driven by the task that uses it.
//!
//! hyper divides a connection into a handle and a future that does the work. Here both are kept
//! together: the task that waits for a response or a frame polls the future first. So no body
//! passes between tasks, and dropping the wait closes the socket.

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

/// Maximum number of headers of a response. User metadata alone can have hundreds.
const MAX_FIELDS: usize = 512;

/// Minimum size of a buffer in bytes, which hyper requires.
const MIN_BUFFER: usize = 8192;

pub(super) struct Connection {
    handle: http1::SendRequest<SentBody>,
    /// Future that does the work; `None` when the connection has ended.
    work: Option<Box<Work>>,
    activity: Arc<Activity>,
    /// Timer of the exchange. It is kept here between exchanges, so that it is reset instead of
    /// created.
    pub(super) stall: IdleTimeout,
    /// Runtime with which the socket is registered.
    home: Home,
}

/// Id of a runtime; `None` outside of one.
pub(super) type Home = Option<Id>;

/// Returns the runtime of the caller.
pub(super) fn here() -> Home {
    Handle::try_current().ok().map(|handle| handle.id())
}

type Work = http1::Connection<TokioIo<Socket>, SentBody>;

/// Future of hyper's response to one request.
pub(super) type Promise = Pin<
    Box<
        dyn Future<Output = Result<Response<Incoming>, TrySendError<Request<SentBody>>>>
            + Send
            + Sync,
    >,
>;

impl Connection {
    /// Creates a connection whose buffers have at most `buffer` bytes. Nothing is sent to the
    /// server.
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

    /// Returns the runtime in which the connection was opened.
    pub(super) fn home(&self) -> Home {
        self.home
    }

    pub(super) fn activity(&self) -> &Activity {
        &self.activity
    }

    /// Passes a request to hyper. [`Self::work`] sends it.
    pub(super) fn start(&mut self, request: Request<SentBody>) -> Promise {
        self.activity.set_idle(false);
        Box::pin(self.handle.try_send_request(request))
    }

    /// Reads and writes as much as possible. Returns false when the connection has ended.
    pub(super) fn work(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(work) = &mut self.work else { return false };
        if Pin::new(work).poll(cx).is_pending() {
            return true;
        }
        // The response or the body that the caller awaits has the reason.
        self.work = None;
        false
    }

    /// Returns true if the connection can be reused: both messages were transferred completely, and
    /// the server has neither closed it, nor announced to close it, nor sent anything since.
    pub(super) fn is_idle(&mut self) -> bool {
        self.activity.set_idle(true);
        let quiet = &mut Context::from_waker(Waker::noop());
        self.work(quiet) && self.handle.is_ready()
    }
}

/// Polls a future that only [`Connection::work`] makes ready, right after calling it. No waker is
/// needed.
pub(super) fn look<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}
