//! Send window, depending on the round trip of the path.

use core::time::Duration;

/// Enough for 3 Gbit/s at 1 ms, and small enough to stay in a CPU's cache.
const LEAST: u32 = 384 * 1024;
/// Round trip from which on the whole [`Limits::send_window`](crate::Limits::send_window) is used.
const LONG: Duration = Duration::from_millis(4);
/// Written bytes after which the round trip is read again.
const INTERVAL: usize = 128 * 1024;

/// The send window of a connection as one of its streams sees it.
///
/// Without packet loss, only a window limits the data in flight. For each packet quinn searches all
/// chunks that were written and not acknowledged, from the first on. A window larger than the path
/// needs therefore costs time.
#[derive(Debug)]
pub(crate) struct SendWindow {
    limit: u32,
    /// Window that this stream has set last.
    set: u32,
    /// Bytes written since the round trip was read last.
    written: usize,
}

impl SendWindow {
    pub(crate) fn new(limit: u32) -> Self {
        Self { limit, set: limit, written: 0 }
    }

    /// Counts written bytes. Every [`INTERVAL`] bytes it adapts the window to the round trip.
    pub(crate) fn written(&mut self, bytes: usize, connection: &quinn::Connection) {
        self.written += bytes;
        if self.written < INTERVAL {
            return;
        }
        self.written = 0;
        let wanted = of_path(self.limit, connection.min_rtt());
        if wanted.abs_diff(self.set) > self.set / 8 {
            self.set = wanted;
            connection.set_send_window(wanted.into());
        }
    }
}

/// Returns the part of `limit` that a path with this round trip needs.
fn of_path(limit: u32, round_trip: Duration) -> u32 {
    let share = u64::from(limit) * micros(round_trip).min(micros(LONG)) / micros(LONG);
    // The share is at most the limit, which fits into 32 bits.
    u32::try_from(share).unwrap_or(limit).max(LEAST.min(limit))
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_path_has_all_and_a_short_one_what_it_needs() {
        const LIMIT: u32 = 2 * 1024 * 1024;
        let at = |us| of_path(LIMIT, Duration::from_micros(us));
        assert_eq!([at(0), at(50), at(750)], [LEAST; 3]);
        assert_eq!((at(1000), at(2000)), (LIMIT / 4, LIMIT / 2));
        assert_eq!((at(4000), at(100_000)), (LIMIT, LIMIT));
        assert_eq!(of_path(u32::MAX, Duration::MAX), u32::MAX);
    }

    #[test]
    fn a_limit_is_never_exceeded() {
        for limit in [0, 1, 16 * 1024, LEAST - 1, LEAST] {
            for us in [0, 1000, 10_000] {
                assert_eq!(of_path(limit, Duration::from_micros(us)), limit);
            }
        }
    }
}
