//! One HTTP/1.1 connection, which lives in the task that uses it.
//!
//! hyper divides a connection into a handle and a future that does the work. Here both are in one
//! place: whoever waits for a response or a frame polls the future first. So a body crosses no task,
//! and dropping what one waits for closes the socket.
//!
//! The bytes of a long body can be read past hyper, into memory of the caller's that nobody else has. For
//! that long hyper is taken off the socket, and put on again when the body is at its end.

use alloc::sync::Arc;
use core::future::Future as _;
use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};
use std::io;

use bytes::{Bytes, BytesMut};
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::{TrySendError, http1};
use hyper_util::rt::TokioIo;
use tokio::runtime::{Handle, Id};

use super::error::ClientError;
use super::sent::SentBody;
use super::socket::{Activity, Socket};
use super::stall::Stall;
use crate::fill::poll_fill;

pub(super) struct Connection {
    handle: http1::SendRequest<SentBody>,
    /// None when it has ended, and while the socket is read past hyper.
    work: Option<Box<Work>>,
    direct: Option<Socket>,
    /// Bytes that it reads at once.
    buffer: usize,
    /// Fields that a response has at most.
    fields: usize,
    activity: Arc<Activity>,
    /// Between exchanges it is kept here: its alarm is set anew, not made anew.
    pub(super) stall: Stall,
    /// Tells when it can be read.
    home: Home,
}

/// A runtime; `None` for none.
pub(super) type Home = Option<Id>;

/// The runtime of whoever asks.
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
    pub(super) async fn new(
        socket: Socket,
        buffer: usize,
        fields: usize,
    ) -> Result<Self, ClientError> {
        let activity = socket.activity();
        let (handle, work) = hyper(socket, buffer, fields).await?;
        Ok(Self {
            handle,
            work: Some(work),
            direct: None,
            buffer,
            fields,
            activity,
            stall: Stall::default(),
            home: here(),
        })
    }

    /// How many bytes it reads at once at most.
    pub(super) fn buffer(&self) -> usize {
        self.buffer
    }

    /// The runtime that tells when it can be read.
    pub(super) fn home(&self) -> Home {
        self.home
    }

    /// Makes this runtime, which is the caller's, its home: each piece that is read would have one thread wake
    /// another otherwise.
    pub(super) fn move_to(&mut self, here: Home) {
        if self.home != here {
            self.home = here;
            self.activity.move_here();
            // Its alarm rings in the old one.
            self.stall = Stall::default();
        }
    }

    pub(super) fn activity(&self) -> &Activity {
        &self.activity
    }

    /// Hands a request over; it is sent by [`Self::work`].
    pub(super) fn start(&mut self, request: Request<SentBody>) -> Promise {
        Box::pin(self.handle.try_send_request(request))
    }

    /// Reads and writes what can be. False when the connection has ended.
    pub(super) fn work(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(work) = &mut self.work else { return false };
        if Pin::new(work).poll(cx).is_pending() {
            return true;
        }
        // How it ended is told to whoever waits for a response or a body.
        self.work = None;
        false
    }

    /// Takes hyper off the socket, in the middle of a response's body: from here on [`Self::poll_read`] reads.
    /// Gives what hyper had read and not handed out. `None` if the connection has ended.
    ///
    /// The caller made sure that all of the request was sent, and took all frames that were there.
    pub(super) fn take_over(&mut self) -> Option<Bytes> {
        let parts = self.work.take()?.into_parts();
        self.direct = Some(parts.io.into_inner());
        Some(parts.read_buf)
    }

    /// [`poll_fill`] past hyper.
    pub(super) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        room: &mut BytesMut,
        most: usize,
    ) -> Poll<io::Result<usize>> {
        match &mut self.direct {
            Some(socket) => poll_fill(socket, cx, room, most),
            None => Poll::Ready(Ok(0)),
        }
    }

    /// Puts hyper on the socket again, behind a body that was read to its end.
    fn give_back(&mut self) {
        let Some(socket) = self.direct.take() else { return };
        // Nothing is said to the server, so that it is ready at once.
        if let Poll::Ready(Ok((handle, work))) = look(pin!(hyper(socket, self.buffer, self.fields)))
        {
            self.handle = handle;
            self.work = Some(work);
        }
    }

    /// Whether it can take another request: both messages were read and written to their ends, and
    /// the server neither closed nor announced that it would.
    pub(super) fn is_idle(&mut self) -> bool {
        self.give_back();
        // An idle connection has nothing that could wake anybody but its end, which the next look
        // finds. Readiness of the socket is kept up by the runtime, so that most looks are no
        // system call.
        self.work(&mut Context::from_waker(Waker::noop())) && self.handle.is_ready()
    }
}

async fn hyper(
    socket: Socket,
    buffer: usize,
    fields: usize,
) -> Result<(http1::SendRequest<SentBody>, Box<Work>), ClientError> {
    let mut builder = http1::Builder::new();
    builder.max_buf_size(buffer.max(MIN_BUFFER));
    if fields > DEFAULT_FIELDS {
        builder.max_headers(fields);
    }
    let (handle, work) =
        builder.handshake(TokioIo::new(socket)).await.map_err(|_| ClientError::Broken)?;
    Ok((handle, Box::new(work)))
}

/// Polls something that only [`Connection::work`] makes ready, right after it: nobody has to be woken.
pub(super) fn look<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// The least that hyper takes.
const MIN_BUFFER: usize = 8192;
/// hyper has these on the stack. Any other number is two allocations for each response.
const DEFAULT_FIELDS: usize = 100;
