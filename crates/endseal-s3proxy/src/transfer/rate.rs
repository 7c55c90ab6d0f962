//! Minimum rate at which a peer must read or write.

use core::time::Duration;

use tokio::time::Instant;

/// Waiting time over which a rate is measured.
const WINDOW: Duration = Duration::from_secs(60);

/// Counts bytes and the time that was spent waiting for them.
#[derive(Default)]
pub(crate) struct Rate {
    bytes: u64,
    waited: Duration,
    since: Option<Instant>,
}

impl Rate {
    /// Records that no bytes are available, so that the waiting time starts.
    pub(crate) fn waits(&mut self) {
        self.since.get_or_insert_with(Instant::now);
    }

    /// Records that bytes were transferred. Returns false if the rate was below `least` bytes per
    /// second over a minute of waiting time. Other time is not counted.
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

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use tokio::time::sleep;

    use super::Rate;

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
