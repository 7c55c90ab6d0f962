//! Idle timeout that costs almost nothing while there is progress.

use core::task::{Context, Poll};
use core::time::Duration;

use tokio::time::Instant;

use super::lazy_timer::LazyTimer;

/// Measures the time without progress.
#[derive(Default)]
pub(crate) struct IdleTimeout {
    since: Option<Instant>,
    alarm: LazyTimer,
}

impl IdleTimeout {
    /// Records that there was progress, or that nothing is awaited.
    pub(crate) fn progress(&mut self) {
        self.since = None;
    }

    /// Is ready when there was no progress for `limit`, measured from the first call after the last
    /// progress.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, limit: Duration) -> Poll<()> {
        let since = *self.since.get_or_insert_with(Instant::now);
        self.alarm.poll(cx, since + limit)
    }
}

#[cfg(test)]
mod tests {
    use core::future::poll_fn;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);

    async fn wait(stall: &mut IdleTimeout, limit: Duration) -> Duration {
        let start = Instant::now();
        poll_fn(|cx| stall.poll(cx, limit)).await;
        start.elapsed()
    }

    fn peek(stall: &mut IdleTimeout) -> bool {
        stall.poll(&mut Context::from_waker(core::task::Waker::noop()), LIMIT).is_ready()
    }

    #[tokio::test(start_paused = true)]
    async fn it_rings_after_the_limit_without_progress() {
        let mut stall = IdleTimeout::default();
        let waited = wait(&mut stall, LIMIT).await;
        assert!((LIMIT..LIMIT * 2).contains(&waited), "{waited:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn progress_starts_the_time_anew() {
        let mut stall = IdleTimeout::default();
        for _ in 0..5 {
            assert!(!peek(&mut stall));
            tokio::time::advance(Duration::from_secs(9)).await;
            assert!(!peek(&mut stall));
            stall.progress();
        }
        assert!(!peek(&mut stall));
        tokio::time::advance(Duration::from_secs(9)).await;
        assert!(!peek(&mut stall));
        let waited = wait(&mut stall, LIMIT).await;
        assert!((900..1500).contains(&waited.as_millis()), "{waited:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_shorter_limit_rings_earlier() {
        let mut stall = IdleTimeout::default();
        assert!(!peek(&mut stall));
        let waited = wait(&mut stall, Duration::from_secs(2)).await;
        assert!((2000..2500).contains(&waited.as_millis()), "{waited:?}");
    }
}
