//! Rate limit for the log lines that a relay causes, so that it cannot fill the log.

use std::time::Instant;

use crate::log_rate::LogRate;

/// Sort of relay message that is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// `NOTICE`.
    Notice,
    /// `OK` with `false`: the relay refused a response.
    Refusal,
    /// `OK` with `false`: the relay refused a response for the moment.
    Postponement,
    /// A response was not sent in time.
    Unsent,
    /// A message above the limit.
    Skipped,
}

/// Rate limits of the log lines about one relay.
#[derive(Debug, Default)]
pub(super) struct RelayLines {
    notices: LogRate,
    refusals: LogRate,
    postponements: LogRate,
    unsent: LogRate,
    skipped: LogRate,
}

impl RelayLines {
    /// Counts messages. If they may be logged now, returns the number of messages since the last
    /// line, including these.
    pub(super) fn note(&mut self, said: Said, count: u64, now: Instant) -> Option<u64> {
        let line = match said {
            Said::Notice => &mut self.notices,
            Said::Refusal => &mut self.refusals,
            Said::Postponement => &mut self.postponements,
            Said::Unsent => &mut self.unsent,
            Said::Skipped => &mut self.skipped,
        };
        line.note(count, now)
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;
    use crate::log_rate::INTERVAL;

    #[test]
    fn a_relay_has_one_line_of_a_kind_in_a_minute() {
        let mut lines = RelayLines::default();
        let begin = Instant::now();
        let sorts = [Said::Notice, Said::Refusal, Said::Postponement, Said::Unsent, Said::Skipped];
        for said in sorts {
            assert_eq!(lines.note(said, 1, begin), Some(1));
            for second in 0..60 {
                assert_eq!(lines.note(said, 1, begin + Duration::from_secs(second)), None);
            }
            assert_eq!(lines.note(said, 1, begin + INTERVAL), Some(61));
            assert_eq!(lines.note(said, 1, begin + INTERVAL), None);
        }
    }
}
