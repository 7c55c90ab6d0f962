//! Messages above a limit are skipped below the WebSocket library, which would end the connection.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::io;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::frames::{Frames, Skipped};

/// Number of bytes that are read from the stream at a time.
const READ: usize = 16 * 1024;

/// A stream from a WebSocket server without the messages that are above a limit.
///
/// Bytes that are written pass unchanged. After each skipped message a read returns `Pending` and
/// wakes its task, so that the caller can call [`take_skipped`](Self::take_skipped) before it reads
/// on.
#[derive(Debug)]
pub(crate) struct MessageLimit<S> {
    stream: S,
    frames: Frames,
    /// Bytes that were read from the stream, and the range that is not processed yet.
    input: Box<[u8]>,
    start: usize,
    end: usize,
}

impl<S> MessageLimit<S> {
    /// Wraps a stream behind its handshake. Messages longer than `max_message` bytes are skipped.
    pub(super) fn new(stream: S, max_message: usize) -> Self {
        let input = vec![0; READ].into_boxed_slice();
        Self { stream, frames: Frames::new(max_message), input, start: 0, end: 0 }
    }

    /// Returns the messages that were skipped since the last call, or `None` if there were none.
    pub(crate) fn take_skipped(&mut self) -> Option<Skipped> {
        self.frames.take_skipped()
    }

    /// Returns the number of bytes that were dropped so far. It grows while a message is skipped.
    pub(crate) fn dropped(&self) -> u64 {
        self.frames.dropped()
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for MessageLimit<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = out.filled().len();
        loop {
            let input = this.input.get(this.start..this.end).unwrap_or_default();
            let (read, has_skipped) = this.frames.advance(input, out);
            this.start += read;
            if out.filled().len() > before || out.remaining() == 0 {
                return Poll::Ready(Ok(()));
            }
            if has_skipped {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            let mut input = ReadBuf::new(&mut this.input);
            let polled = Pin::new(&mut this.stream).poll_read(cx, &mut input);
            (this.start, this.end) = (0, input.filled().len());
            match polled {
                Poll::Ready(Ok(())) if this.end > 0 => {}
                other => return other,
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for MessageLimit<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
