//! Rate limit for the log lines that a relay causes, so that it cannot fill the log.

use core::time::Duration;
use std::time::Instant;

/// Minimum time between two lines of the same sort about one relay.
const INTERVAL: Duration = Duration::from_secs(60);

/// Sort of relay message that is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// `NOTICE`.
    Notice,
    /// `OK` with `false`: the relay refused a response.
    Refusal,
}

/// Rate limits of the log lines about one relay.
#[derive(Debug, Default)]
pub(super) struct RelayLines {
    notices: Line,
    refusals: Line,
}

#[derive(Debug, Default)]
struct Line {
    last: Option<Instant>,
    /// Number of messages since the last line.
    count: u64,
}

impl RelayLines {
    /// Counts a message. If it may be logged now, returns the number of messages since the last
    /// line, including this one.
    pub(super) fn note(&mut self, said: Said, now: Instant) -> Option<u64> {
        let line = match said {
            Said::Notice => &mut self.notices,
            Said::Refusal => &mut self.refusals,
        };
        line.count = line.count.saturating_add(1);
        if line.last.is_some_and(|last| now.duration_since(last) < INTERVAL) {
            return None;
        }
        let count = line.count;
        *line = Line { last: Some(now), count: 0 };
        Some(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relay_has_one_line_of_a_kind_in_a_minute() {
        let mut lines = RelayLines::default();
        let begin = Instant::now();
        for said in [Said::Notice, Said::Refusal] {
            assert_eq!(lines.note(said, begin), Some(1));
            for second in 0..60 {
                assert_eq!(lines.note(said, begin + Duration::from_secs(second)), None);
            }
            assert_eq!(lines.note(said, begin + INTERVAL), Some(61));
            assert_eq!(lines.note(said, begin + INTERVAL), None);
        }
    }
}
