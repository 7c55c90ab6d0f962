//! A connection's bytes, plain or over TLS, counted.

use alloc::sync::Arc;
use core::pin::Pin;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::task::{Context, Poll};
use std::io::{self, IoSlice};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use super::growth::Kept;
use crate::workers::register_here;

/// How much went through a socket: shows whether there is progress.
#[derive(Default)]
pub(super) struct Activity {
    read: AtomicU64,
    written: AtomicU64,
    /// Whether the body of a request is on its way.
    uploads: AtomicBool,
    /// Whether the socket is to be told of by another runtime.
    moves: AtomicBool,
    /// Whether what is written is dropped, and whether something was.
    drops: AtomicBool,
    dropped: AtomicBool,
    kept: Kept,
}

impl Activity {
    pub(super) fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    pub(super) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Says whether the body of a request is on its way. As long as one is, the connection ends by a
    /// reset: some servers take an orderly end for the end of the body, and keep what they have.
    pub(super) fn set_uploading(&self, uploads: bool) {
        self.uploads.store(uploads, Ordering::Relaxed);
    }

    /// Says whether what is written from here on is dropped: the server has it already.
    pub(super) fn set_dropping(&self, drops: bool) {
        self.drops.store(drops, Ordering::Relaxed);
        self.dropped.store(false, Ordering::Relaxed);
    }

    /// Whether a write is to be dropped; it is then.
    fn drops(&self) -> bool {
        let drops = self.drops.load(Ordering::Relaxed);
        if drops {
            self.dropped.store(true, Ordering::Relaxed);
        }
        drops
    }

    /// Whether nothing was dropped yet of what is to be.
    fn is_unasked(&self) -> bool {
        self.drops.load(Ordering::Relaxed) && !self.dropped.load(Ordering::Relaxed)
    }

    /// Has the runtime in which the socket is next read or written say when it is ready, instead of the one that
    /// did until now.
    pub(super) fn move_here(&self) {
        self.moves.store(true, Ordering::Relaxed);
    }

    /// What is let go when the connection reads.
    pub(super) fn kept(&self) -> Kept {
        self.kept.clone()
    }

    pub(super) fn is_uploading(&self) -> bool {
        self.uploads.load(Ordering::Relaxed)
    }

    fn has_moved(&self) -> bool {
        // A load costs nothing, a swap for each read would.
        self.moves.load(Ordering::Relaxed) && self.moves.swap(false, Ordering::Relaxed)
    }
}

pub(super) struct Socket {
    stream: Stream,
    activity: Arc<Activity>,
    /// Read before what the stream has.
    before: Bytes,
}

enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Socket {
    pub(super) fn plain(stream: TcpStream) -> Self {
        Self { stream: Stream::Plain(stream), activity: Arc::default(), before: Bytes::new() }
    }

    pub(super) fn tls(stream: TlsStream<TcpStream>) -> Self {
        let stream = Stream::Tls(Box::new(stream));
        Self { stream, activity: Arc::default(), before: Bytes::new() }
    }

    pub(super) fn activity(&self) -> Arc<Activity> {
        Arc::clone(&self.activity)
    }

    /// Lets bytes be read once more, before what the stream has; if writes are dropped, after the first of these.
    pub(super) fn put_before(&mut self, bytes: Bytes) {
        self.before = bytes;
    }

    fn tcp(&mut self) -> &mut TcpStream {
        match &mut self.stream {
            Stream::Plain(stream) => stream,
            Stream::Tls(stream) => stream.get_mut().0,
        }
    }

    fn reset_at_drop(&mut self) {
        // If it fails, the connection has ended already.
        let _ = self.tcp().set_zero_linger();
    }

    /// Registers the socket with this runtime, if [`Activity::move_here`] was called.
    fn settle(&mut self) -> io::Result<()> {
        if self.activity.has_moved() {
            register_here(self.tcp())?;
        }
        Ok(())
    }

    fn wrote(&self, outcome: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(n)) = outcome {
            self.activity.written.fetch_add(n as u64, Ordering::Relaxed);
        }
        outcome
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
        self.settle()?;
        self.activity.kept.let_go();
        if !self.before.is_empty() {
            // An answer before there is a request would be an error.
            if self.activity.is_unasked() {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            let len = self.before.len().min(buffer.remaining());
            buffer.put_slice(&self.before.split_to(len));
            return Poll::Ready(Ok(()));
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
        if self.activity.drops() {
            return Poll::Ready(Ok(buffer.len()));
        }
        self.settle()?;
        let outcome = match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write(cx, buffer),
            Stream::Tls(stream) => Pin::new(stream).poll_write(cx, buffer),
        };
        self.wrote(outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.activity.drops() {
            return Poll::Ready(Ok(buffers.iter().map(|buffer| buffer.len()).sum()));
        }
        self.settle()?;
        let outcome = match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, buffers),
            Stream::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, buffers),
        };
        self.wrote(outcome)
    }

    /// Both take several buffers, so that hyper queues the frames of a body instead of copying them.
    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Stream::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
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
