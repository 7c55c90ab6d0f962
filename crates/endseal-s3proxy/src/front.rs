//! Connections of clients that read or write too slowly.

use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::io::{self, IoSlice};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use crate::client::Stall;

/// Over how long a rate is measured.
const WINDOW: Duration = Duration::from_secs(60);

/// Bytes and the time that was spent waiting for them.
#[derive(Default)]
pub(crate) struct Rate {
    bytes: u64,
    waited: Duration,
    since: Option<Instant>,
}

impl Rate {
    /// There is nothing yet.
    pub(crate) fn waits(&mut self) {
        self.since.get_or_insert_with(Instant::now);
    }

    /// Something came. False if it was less than `least` bytes a second, over a minute of waiting:
    /// other time is not counted.
    pub(crate) fn moved(&mut self, bytes: usize, least: u64) -> bool {
        self.bytes = self.bytes.saturating_add(bytes as u64);
        if let Some(since) = self.since.take() {
            self.waited += since.elapsed();
        }
        if self.waited < WINDOW {
            return true;
        }
        let wanted = least.saturating_mul(self.waited.as_secs());
        let moved = core::mem::take(self);
        moved.bytes >= wanted
    }
}

/// A connection that ends when its peer does not read what is written to it.
pub(crate) struct Front<S> {
    stream: S,
    idle: Duration,
    least: u64,
    stall: Stall,
    rate: Rate,
}

impl<S> Front<S> {
    /// Bounds the time without a byte, and the bytes a second.
    pub(crate) fn new(stream: S, idle: Duration, least: u64) -> Self {
        Self { stream, idle, least, stall: Stall::default(), rate: Rate::default() }
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
    use tokio::time::{Instant, sleep};

    use super::{Front, Rate};

    #[tokio::test(start_paused = true)]
    async fn who_reads_nothing_is_given_up() {
        let (near, _far) = tokio::io::duplex(1_024);
        let mut front = Front::new(near, Duration::from_secs(60), 0);
        let start = Instant::now();
        let error = front.write_all(&[0; 4_096]).await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
        assert!((59..63).contains(&start.elapsed().as_secs()));
    }

    #[tokio::test(start_paused = true)]
    async fn only_time_spent_waiting_counts() {
        let mut rate = Rate::default();
        for _ in 0..100 {
            sleep(Duration::from_secs(30)).await;
            assert!(rate.moved(1, 1_024));
        }
        let mut outcomes = Vec::new();
        for _ in 0..2 {
            rate.waits();
            sleep(Duration::from_secs(30)).await;
            outcomes.push(rate.moved(100, 1_024));
        }
        assert_eq!(outcomes, [true, false]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_rate_above_the_least_goes_on() {
        let mut rate = Rate::default();
        for _ in 0..10 {
            rate.waits();
            sleep(Duration::from_secs(30)).await;
            assert!(rate.moved(40 * 1_024, 1_024));
        }
    }
}
