//! Connections of clients that read or write too slowly.

use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::io::{self, IoSlice};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::transfer::Rate;
use crate::upstream::IdleTimeout;

/// Client connection that is closed if the client does not read what is written to it.
pub(crate) struct Front<S> {
    stream: S,
    idle: Duration,
    least: u64,
    stall: IdleTimeout,
    rate: Rate,
}

impl<S> Front<S> {
    /// Creates a connection with a limit on the time without progress, and a minimum rate in bytes
    /// per second.
    pub(crate) fn new(stream: S, idle: Duration, least: u64) -> Self {
        Self { stream, idle, least, stall: IdleTimeout::default(), rate: Rate::default() }
    }

    fn wrote(
        &mut self,
        cx: &mut Context<'_>,
        outcome: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let late = || Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        match outcome {
            Poll::Pending => {
                self.rate.waits();
                if self.stall.poll(cx, self.idle).is_ready() { late() } else { Poll::Pending }
            }
            Poll::Ready(Ok(bytes)) => {
                self.stall.progress();
                if self.rate.moved(bytes, self.least) { Poll::Ready(Ok(bytes)) } else { late() }
            }
            failed => failed,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Front<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Front<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(cx, buffer);
        self.wrote(cx, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(cx, buffers);
        self.wrote(cx, outcome)
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

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use tokio::io::AsyncWriteExt as _;
    use tokio::time::Instant;

    use super::Front;

    #[tokio::test(start_paused = true)]
    async fn who_reads_nothing_is_given_up() {
        let (near, _far) = tokio::io::duplex(1_024);
        let mut front = Front::new(near, Duration::from_secs(60), 0);
        let start = Instant::now();
        let error = front.write_all(&[0; 4_096]).await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
        assert!((59..63).contains(&start.elapsed().as_secs()));
    }
}
