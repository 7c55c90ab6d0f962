//! Connections of clients that read or write too slowly.

use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::io::{self, IoSlice};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use crate::client::Stall;
use crate::workers::{Moves, Seat};

mod answering;
mod gate;
mod head_timer;
mod intake;
mod loan;
mod seen_through;
mod serving;

pub(crate) use gate::Gate;
pub(crate) use head_timer::HeadTimer;
pub(crate) use intake::Intake;
pub(crate) use loan::{LentBody, Loan};
pub(crate) use seen_through::SeenThrough;
pub(crate) use serving::Serving;

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
    /// time in which nobody asked is not counted.
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

/// A client's connection, plain or over TLS.
pub(crate) type ClientSocket = Front<Box<dyn Stream>>;

pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send + Sync {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + Sync> Stream for S {}

/// A connection that ends when nobody reads what is written to it.
pub(crate) struct Front<S> {
    stream: S,
    /// Read before what the stream has.
    before: Bytes,
    idle: Duration,
    least: u64,
    stall: Stall,
    /// What it waits with is of the runtime in which it was set.
    moves: Moves,
    rate: Rate,
    intake: Intake,
}

impl<S> Front<S> {
    /// Bounds the time without a byte, and the bytes a second.
    pub(crate) fn new(stream: S, idle: Duration, least: u64, seat: Option<Seat>) -> Self {
        let (stall, rate, intake) = (Stall::default(), Rate::default(), Intake::default());
        let (before, moves) = (Bytes::new(), Moves::new(seat));
        Self { stream, before, idle, least, stall, moves, rate, intake }
    }

    /// Lets `bytes` be read before what the stream has.
    fn put_before(&mut self, bytes: Bytes) {
        self.before = bytes;
    }

    /// What the uploads over it are to know.
    pub(crate) fn intake(&self) -> Intake {
        self.intake.clone()
    }

    fn wrote(
        &mut self,
        cx: &mut Context<'_>,
        outcome: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let late = || Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        self.intake.gate.writes(outcome.is_pending());
        match outcome {
            Poll::Pending => {
                if self.moves.notice() {
                    self.stall = Stall::default();
                }
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
        self.intake.kept.let_go();
        if !self.before.is_empty() {
            let len = self.before.len().min(buffer.remaining());
            buffer.put_slice(&self.before.split_to(len));
            return Poll::Ready(Ok(()));
        }
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
        let outcome = Pin::new(&mut self.stream).poll_flush(cx);
        self.intake.gate.writes(outcome.is_pending());
        outcome
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use core::future::poll_fn;
    use core::task::Poll;
    use core::time::Duration;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::time::{Instant, sleep};

    use super::{Front, Rate};

    #[tokio::test(start_paused = true)]
    async fn who_reads_nothing_is_given_up() {
        let (near, _far) = tokio::io::duplex(1_024);
        let mut front = Front::new(near, Duration::from_secs(60), 0, None);
        let start = Instant::now();
        let error = front.write_all(&[0; 4_096]).await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
        assert!((59..63).contains(&start.elapsed().as_secs()));
    }

    #[tokio::test]
    async fn what_waits_to_be_written_opens_the_gate() {
        let (near, mut far) = tokio::io::duplex(1_024);
        let mut front = Front::new(near, Duration::from_secs(60), 0, None);
        let gate = front.intake().gate;
        gate.close();
        front.write_all(&[0; 1_024]).await.unwrap();
        assert!(gate.is_closed());
        let mut write = core::pin::pin!(front.write_all(&[0; 10]));
        assert!(poll_fn(|cx| Poll::Ready(write.as_mut().poll(cx))).await.is_pending());
        assert!(!gate.is_closed());
        far.read_exact(&mut [0; 1_024]).await.unwrap();
        write.await.unwrap();
        assert!(gate.is_closed());
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
