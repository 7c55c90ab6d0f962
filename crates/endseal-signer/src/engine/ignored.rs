//! Events without an answer: they are counted by cause and logged at a limited rate.

use std::time::Instant;

use super::Parts;
use crate::log_rate::LogRate;
use crate::metrics::Ignored;

/// Rate limits of the log lines about ignored events, one for each cause.
#[derive(Debug, Default)]
pub(super) struct IgnoredLines([LogRate; Ignored::COUNT]);

impl IgnoredLines {
    /// Logs the events that have not been logged, of each cause for which that is allowed now.
    pub(super) fn log_due(&mut self, now: Instant) {
        for (rate, cause) in self.0.iter_mut().zip(Ignored::all()) {
            if let Some(count) = rate.due(now) {
                log(cause, None, count);
            }
        }
    }
}

impl Parts {
    /// Counts ignored events and logs them if there was no such line in the last minute. The line
    /// has the number of the last app that they were for.
    pub(super) fn ignore(&mut self, cause: Ignored, app: Option<u32>, count: u64) {
        self.metrics.ignored(cause, count);
        let rate = self.ignored_lines.0.get_mut(cause.index());
        if let Some(count) = rate.and_then(|rate| rate.note(count, Instant::now())) {
            log(cause, app, count);
        }
    }
}

fn log(cause: Ignored, app: Option<u32>, count: u64) {
    let cause_name = cause.name();
    if cause == Ignored::Repeated {
        // Each relay of an app delivers the same events.
        tracing::debug!(target: "signer", cause = cause_name, app, count, "events were ignored");
    } else {
        tracing::warn!(target: "signer", cause = cause_name, app, count, "events were ignored");
    }
}
