//! One HTTP/1.1 connection, which lives in the task that uses it.
//!
//! hyper divides a connection into a handle and a future that does the work. Here both are in one
//! place: whoever waits for a response or a frame polls the future first. So a body crosses no task,
//! and dropping what one waits for closes the socket.
//!
//! Short requests go out past hyper, and plain heads of their responses come in past it ([`Short`]). The bytes of a long
//! body can be read past hyper, into memory of the caller's that nobody else has. hyper is put on the socket when
//! something else is to be written or read.

use alloc::sync::Arc;
use core::future::Future as _;
use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};
use std::io;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Request, Response, request};
use hyper::body::Incoming;
use hyper::client::conn::{TrySendError, http1};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead as _, ReadBuf};
use tokio::runtime::{Handle, Id};

use super::error::ClientError;
use super::sent::SentBody;
use super::short::{Memory, Short};
use super::socket::{Activity, Socket};
use super::stall::Stall;
use crate::fill::poll_fill;

pub(super) struct Connection {
    /// None until hyper was on the socket.
    handle: Option<http1::SendRequest<SentBody>>,
    /// None when it has ended, and while hyper is not on the socket.
    work: Option<Box<Work>>,
    /// While hyper is not on it.
    direct: Option<Socket>,
    /// For requests past hyper.
    memory: Memory,
    /// Whether a request is on its way past hyper, or stayed on its way for ever.
    is_torn: bool,
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
    pub(super) fn new(socket: Socket, buffer: usize, fields: usize) -> Self {
        Self {
            handle: None,
            work: None,
            activity: socket.activity(),
            direct: Some(socket),
            memory: Memory::default(),
            is_torn: false,
            buffer,
            fields,
            stall: Stall::default(),
            home: here(),
        }
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

    /// Hands a request to hyper; it is sent by [`Self::work`]. `None` if there is no connection any more.
    pub(super) fn start(&mut self, request: Request<SentBody>) -> Option<Promise> {
        self.put_hyper_on();
        Some(Box::pin(self.handle.as_mut()?.try_send_request(request)))
    }

    /// A request past hyper, and the socket for it, with which [`Short::poll`] is called until it is ready.
    pub(super) fn start_short<'a>(
        &'a mut self,
        head: &'a request::Parts,
        content: &'a [u8],
    ) -> Option<(Short<'a>, &'a mut Socket)> {
        if let Some(work) = self.work.take() {
            // There is nothing in hyper's memory of a connection that is idle.
            self.direct = Some(work.into_parts().io.into_inner());
            self.handle = None;
        }
        self.is_torn = true;
        Some((Short::new(&mut self.memory, head, content), self.direct.as_mut()?))
    }

    /// Keeps the memory of a request's fields for a response to come.
    pub(super) fn keep(&mut self, map: HeaderMap) {
        self.memory.keep(map);
    }

    /// The request has been sent.
    pub(super) fn is_whole(&mut self) {
        self.is_torn = false;
    }

    /// Leaves a response, which begins so, to hyper, and has what is written dropped until the connection is idle.
    pub(super) fn read_again(&mut self, bytes: Bytes) {
        if let Some(socket) = &mut self.direct {
            socket.put_before(bytes);
            self.activity.set_dropping(true);
        }
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

    /// Puts hyper on the socket, if it is not there.
    fn put_hyper_on(&mut self) {
        let Some(socket) = self.direct.take() else { return };
        // Nothing is said to the server, so that it is ready at once.
        if let Poll::Ready(Ok((handle, work))) = look(pin!(hyper(socket, self.buffer, self.fields)))
        {
            self.handle = Some(handle);
            self.work = Some(work);
        }
    }

    /// Whether it can take another request: both messages were read and written to their ends, and
    /// the server neither closed nor announced that it would.
    pub(super) fn is_idle(&mut self) -> bool {
        if self.is_torn {
            return false;
        }
        // An idle connection has nothing that could wake anybody but its end, which the next look
        // finds. Readiness of the socket is kept up by the runtime, so that most looks are no
        // system call.
        let quiet = &mut Context::from_waker(Waker::noop());
        if let Some(socket) = &mut self.direct {
            let mut byte = [0];
            return Pin::new(socket).poll_read(quiet, &mut ReadBuf::new(&mut byte)).is_pending();
        }
        let is_idle = self.work(quiet) && self.handle.as_ref().is_some_and(|it| it.is_ready());
        self.activity.set_dropping(false);
        is_idle
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
