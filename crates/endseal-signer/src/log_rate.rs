//! Rate limit for log lines that others cause, so that they cannot fill the log.

use core::time::Duration;
use std::time::Instant;

/// Minimum time between two lines of the same sort.
pub(crate) const INTERVAL: Duration = Duration::from_secs(60);

/// Rate limit of the log lines of one sort.
#[derive(Debug, Default)]
pub(crate) struct LogRate {
    last: Option<Instant>,
    /// Number of occurrences since the last line.
    count: u64,
}

impl LogRate {
    /// Counts occurrences. If they may be logged now, returns the number of occurrences since the
    /// last line, including these.
    pub(crate) fn note(&mut self, count: u64, now: Instant) -> Option<u64> {
        self.count = self.count.saturating_add(count);
        self.due(now)
    }

    /// Returns the number of occurrences since the last line, if there are any and they may be
    /// logged now.
    pub(crate) fn due(&mut self, now: Instant) -> Option<u64> {
        let is_early = self.last.is_some_and(|last| now.duration_since(last) < INTERVAL);
        if self.count == 0 || is_early {
            return None;
        }
        let count = self.count;
        *self = Self { last: Some(now), count: 0 };
        Some(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_line_in_a_minute_and_it_counts_all() {
        let mut rate = LogRate::default();
        let begin = Instant::now();
        assert_eq!((rate.due(begin), rate.note(2, begin)), (None, Some(2)));
        for second in 0..60 {
            assert_eq!(rate.note(1, begin + Duration::from_secs(second)), None);
        }
        // Occurrences are logged even if no other one follows.
        assert_eq!(rate.due(begin + INTERVAL), Some(60));
        assert_eq!(rate.due(begin + INTERVAL * 3), None);
    }
}
