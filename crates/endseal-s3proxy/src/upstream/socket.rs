//! Socket of a connection, with or without TLS, that counts its bytes.

use alloc::sync::Arc;
use core::pin::Pin;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::task::{Context, Poll};
use std::io::{self, IoSlice};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// Byte counters of a socket, and the state of its exchange.
#[derive(Default)]
pub(super) struct Activity {
    read: AtomicU64,
    written: AtomicU64,
    /// True while the body of a request is being sent.
    uploads: AtomicBool,
    /// True while no request is in progress.
    idle: AtomicBool,
}

impl Activity {
    pub(super) fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    pub(super) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Sets if the body of a request is being sent. While it is, closing the connection resets it:
    /// some servers take an orderly close for the end of the body and store a truncated object.
    pub(super) fn set_uploading(&self, uploads: bool) {
        self.uploads.store(uploads, Ordering::Relaxed);
    }

    /// Sets if no request is in progress. If the server sends bytes or closes then, the connection
    /// is broken.
    pub(super) fn set_idle(&self, idle: bool) {
        self.idle.store(idle, Ordering::Relaxed);
    }

    fn is_idle(&self) -> bool {
        self.idle.load(Ordering::Relaxed)
    }

    pub(super) fn is_uploading(&self) -> bool {
        self.uploads.load(Ordering::Relaxed)
    }
}

pub(super) struct Socket {
    stream: Stream,
    activity: Arc<Activity>,
    /// True after a write has failed.
    deaf: bool,
}

enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Socket {
    pub(super) fn plain(stream: TcpStream) -> Self {
        Self { stream: Stream::Plain(stream), activity: Arc::default(), deaf: false }
    }

    pub(super) fn tls(stream: TlsStream<TcpStream>) -> Self {
        let stream = Stream::Tls(Box::new(stream));
        Self { stream, activity: Arc::default(), deaf: false }
    }

    pub(super) fn activity(&self) -> Arc<Activity> {
        Arc::clone(&self.activity)
    }

    fn tcp(&mut self) -> &mut TcpStream {
        match &mut self.stream {
            Stream::Plain(stream) => stream,
            Stream::Tls(stream) => stream.get_mut().0,
        }
    }

    /// Returns true if the system has bytes, or the end of the connection, to read. The runtime may
    /// not have noticed them yet.
    fn is_readable(&mut self) -> bool {
        let mut socket = [PollFd::new(self.tcp(), PollFlags::IN)];
        !matches!(poll(&mut socket, Some(&Timespec::default())), Ok(0))
    }

    fn reset_at_drop(&mut self) {
        // If it fails, the connection has already ended.
        let _ = self.tcp().set_zero_linger();
    }

    fn wrote(
        &mut self,
        cx: &Context<'_>,
        outcome: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(n)) = outcome {
            self.activity.written.fetch_add(n as u64, Ordering::Relaxed);
        }
        self.unless_answered(cx, outcome)
    }

    /// Withholds the failure of a write while the body of a request is being sent.
    ///
    /// A server that refuses an upload responds, closes, and resets the connection when more bytes
    /// arrive. Its response arrived before the reset, but would be lost if the failure ended the
    /// exchange. Reading yields the response or the end.
    fn unless_answered<T>(
        &mut self,
        cx: &Context<'_>,
        outcome: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if !matches!(outcome, Poll::Ready(Err(_))) || !self.activity.is_uploading() {
            return outcome;
        }
        self.deaf = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if self.activity.is_uploading() {
            self.reset_at_drop();
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.activity.is_idle() && self.is_readable() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        let before = buffer.filled().len();
        let outcome = match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Stream::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
        };
        let n = buffer.filled().len() - before;
        self.activity.read.fetch_add(n as u64, Ordering::Relaxed);
        outcome
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.deaf {
            return Poll::Pending;
        }
        let outcome = match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write(cx, buffer),
            Stream::Tls(stream) => Pin::new(stream).poll_write(cx, buffer),
        };
        self.wrote(cx, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.deaf {
            return Poll::Pending;
        }
        let outcome = match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, buffers),
            Stream::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, buffers),
        };
        self.wrote(cx, outcome)
    }

    /// Both kinds support vectored writes, so hyper queues the frames of a body instead of copying
    /// them.
    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.deaf {
            return Poll::Pending;
        }
        let outcome = match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Stream::Tls(stream) => Pin::new(stream).poll_flush(cx),
        };
        self.unless_answered(cx, outcome)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.activity.is_uploading() {
            return Poll::Ready(Ok(()));
        }
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Stream::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
