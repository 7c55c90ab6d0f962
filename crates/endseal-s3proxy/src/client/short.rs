//! A short request and the head of its response, past hyper.
//!
//! HTTP towards the backend had a fifth of what a small download costs in user mode. A request whose body is short and there is written at
//! once, from memory that the connection keeps; and what comes back is mostly a plain head, whose body is then read
//! past hyper as long bodies are ([`Connection::poll_read`](super::connection::Connection::poll_read)). Whatever
//! else comes back is hyper's: it is put on the socket, is given what was read, and what it writes is dropped, as the
//! server has had that already.

use core::pin::{Pin, pin};
use core::task::{Context, Poll, ready};
use std::io::{self, IoSlice};

use bytes::{BufMut as _, Bytes, BytesMut};
use http::{HeaderMap, Response, request};
use tokio::io::{AsyncReadExt as _, AsyncWrite as _};

use super::plain::{self, Beginning};
use super::socket::Socket;
use crate::headers;

/// Bodies of requests up to here are short: a sealed chunk and what is behind it, in one write.
pub(super) const MAX_CONTENT: u64 = 24 * 1024;

/// What is read at once, and a head has at most that is read here.
const READ: usize = 8 * 1024;

/// Memory for heads of requests that is kept for the next one.
const KEPT: usize = 4 * 1024;

/// Memory of a connection for short requests, which it uses again and again.
#[derive(Default)]
pub(super) struct Memory {
    out: Vec<u8>,
    /// Shared with the fields of a response until these are dropped.
    read: BytesMut,
    /// For the fields of the next response; it has none.
    map: HeaderMap,
}

impl Memory {
    /// Keeps the memory of fields that nobody needs any more, if it is not too much.
    pub(super) fn keep(&mut self, mut map: HeaderMap) {
        if map.capacity() <= headers::MAX_SPARE {
            map.clear();
            self.map = map;
        }
    }
}

/// A request on its way.
pub(super) struct Short<'a> {
    memory: &'a mut Memory,
    head: &'a request::Parts,
    content: &'a [u8],
    /// Bytes of head and content that were written.
    written: usize,
    is_flushed: bool,
}

/// What came back.
pub(super) enum Came {
    /// A plain head, how many bytes its body has, and what of them came with it; perhaps more than that.
    Plain(Response<()>, u64, Bytes),
    /// Something else, which begins so.
    Other(Bytes),
}

impl<'a> Short<'a> {
    pub(super) fn new(memory: &'a mut Memory, head: &'a request::Parts, content: &'a [u8]) -> Self {
        memory.out.clear();
        plain::write_request(head, &mut memory.out);
        memory.read.clear();
        Self { memory, head, content, written: 0, is_flushed: false }
    }

    /// Bytes that were written.
    pub(super) fn written(&self) -> usize {
        self.written
    }

    /// Whether the server has all of it.
    pub(super) fn is_sent(&self) -> bool {
        self.is_flushed
    }

    /// Writes and reads what can be.
    ///
    /// # Errors
    /// If the connection breaks before the head of a response has come.
    pub(super) fn poll(
        &mut self,
        socket: &mut Socket,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<Came>> {
        let failure = match ready!(self.poll_write(socket, cx)) {
            Err(error) if self.written == 0 => return Poll::Ready(Err(error)),
            // A server may answer before it has all of the request, and close: what it says counts.
            Err(error) => Some(error),
            Ok(()) => None,
        };
        match (self.poll_head(socket, cx), failure) {
            (Poll::Pending, Some(error)) => Poll::Ready(Err(error)),
            (came, _) => came,
        }
    }

    fn poll_write(&mut self, socket: &mut Socket, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.is_flushed {
            let head = self.memory.out.get(self.written..).unwrap_or_default();
            let begun = self.written.saturating_sub(self.memory.out.len());
            let content = self.content.get(begun..).unwrap_or_default();
            let socket = Pin::new(&mut *socket);
            if head.is_empty() && content.is_empty() {
                ready!(socket.poll_flush(cx))?;
                self.is_flushed = true;
                continue;
            }
            let both = [IoSlice::new(head), IoSlice::new(content)];
            match ready!(socket.poll_write_vectored(cx, &both))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                n => self.written += n,
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_head(&mut self, socket: &mut Socket, cx: &mut Context<'_>) -> Poll<io::Result<Came>> {
        loop {
            let read = &mut self.memory.read;
            let before = read.len();
            read.reserve(READ - before);
            // Once: what a second read would say of the connection is for whoever reads the body.
            let mut free = (&mut *read).limit(READ - before);
            let came = ready!(pin!(socket.read_buf(&mut free)).poll(cx))?;
            if came == 0 && before == 0 {
                return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
            }
            // What is left of the memory is read into once nobody has this any more.
            let mut all = read.split().freeze();
            match plain::response(&all, &self.head.method, &mut self.memory.map) {
                Beginning::Plain(response, len, left) => {
                    let _head = all.split_to(len);
                    return Poll::Ready(Ok(Came::Plain(response, left, all)));
                }
                Beginning::Partial if came > 0 && all.len() < READ => {
                    *read = BytesMut::from(&all[..]);
                }
                Beginning::Partial | Beginning::Other => return Poll::Ready(Ok(Came::Other(all))),
            }
        }
    }
}

impl Drop for Short<'_> {
    fn drop(&mut self) {
        if self.memory.out.capacity() > KEPT {
            self.memory.out = Vec::new();
        }
    }
}
