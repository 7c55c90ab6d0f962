//! The clock by which frames expire.

use core::time::Duration;
use std::time::Instant;

/// A clock that goes wrong deletes nothing for a while: it is compared with the time that the hub
/// noted when it ran last, and with the time that has passed since.
///
/// A clock that jumps ahead by more than a grace is followed when the hub has run for that grace
/// with it. Until then the time goes on from where it was. The same happens after the hub was off
/// for longer than the grace, so that nodes have time to fetch what waited.
#[derive(Debug)]
pub(crate) struct ExpiryClock {
    /// Microseconds since 1970.
    trusted: u64,
    read: Instant,
    /// Moment since which the system's clock has been ahead.
    ahead_since: Option<Instant>,
    grace: Duration,
}

impl ExpiryClock {
    /// Starts with the time that was noted last, 0 for none, and that of the system's clock.
    pub(crate) fn new(noted: u64, system: u64, grace: Duration, read: Instant) -> Self {
        let trusted = if noted == 0 { system } else { noted.min(system) };
        let mut clock = Self { trusted, read, ahead_since: None, grace };
        clock.follow(system);
        clock
    }

    /// Reads the clock. Returns the time by which frames expire, in microseconds since 1970.
    pub(crate) fn read(&mut self, system: u64, now: Instant) -> u64 {
        let passed = now.saturating_duration_since(self.read);
        self.trusted = self.trusted.saturating_add(micros(passed)).min(system);
        self.read = now;
        self.follow(system);
        self.trusted
    }

    /// Returns by how much the system's clock is ahead of the trusted time.
    pub(crate) fn ahead(&self, system: u64) -> Option<Duration> {
        self.ahead_since.map(|_| Duration::from_micros(system.saturating_sub(self.trusted)))
    }

    fn follow(&mut self, system: u64) {
        let is_ahead = system > self.trusted.saturating_add(micros(self.grace));
        let since = self.ahead_since.filter(|_| is_ahead);
        let has_stayed = since.is_some_and(|since| self.read.duration_since(since) >= self.grace);
        if !is_ahead || has_stayed {
            (self.trusted, self.ahead_since) = (system, None);
        } else if since.is_none() {
            self.ahead_since = Some(self.read);
        }
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: u64 = 3_600_000_000;
    const DAY: u64 = 24 * HOUR;
    const GRACE: Duration = Duration::from_secs(24 * 3_600);

    fn after(start: Instant, hours: u64) -> Instant {
        start + Duration::from_micros(hours * HOUR)
    }

    #[test]
    fn a_clock_that_jumps_ahead_is_followed_after_a_day() {
        let start = Instant::now();
        let mut clock = ExpiryClock::new(100 * DAY, 100 * DAY + HOUR, GRACE, start);
        assert_eq!(clock.read(100 * DAY + 2 * HOUR, after(start, 1)), 100 * DAY + 2 * HOUR);
        // The clock is set ahead by 31 days.
        let ahead = 131 * DAY;
        assert_eq!(clock.read(ahead + 3 * HOUR, after(start, 2)), 100 * DAY + 3 * HOUR);
        assert!(clock.ahead(ahead + 3 * HOUR).is_some());
        assert_eq!(clock.read(ahead + 26 * HOUR, after(start, 25)), 100 * DAY + 26 * HOUR);
        assert_eq!(clock.read(ahead + 27 * HOUR, after(start, 26)), ahead + 27 * HOUR);
        assert!(clock.ahead(ahead + 27 * HOUR).is_none());
    }

    #[test]
    fn a_clock_that_is_put_right_again_was_never_followed() {
        let start = Instant::now();
        // The hub starts with a clock that is 31 days ahead.
        let mut clock = ExpiryClock::new(100 * DAY, 131 * DAY, GRACE, start);
        assert_eq!(clock.read(131 * DAY + HOUR, after(start, 1)), 100 * DAY + HOUR);
        assert_eq!(clock.read(100 * DAY + 2 * HOUR, after(start, 2)), 100 * DAY + 2 * HOUR);
        // Its next error has a day of its own.
        assert_eq!(clock.read(131 * DAY, after(start, 30)), 100 * DAY + 30 * HOUR);
        assert_eq!(clock.read(131 * DAY, after(start, 53)), 100 * DAY + 53 * HOUR);
    }

    #[test]
    fn a_clock_that_goes_back_delays() {
        let start = Instant::now();
        let mut clock = ExpiryClock::new(100 * DAY, 70 * DAY, GRACE, start);
        assert_eq!(clock.read(70 * DAY + HOUR, after(start, 1)), 70 * DAY + HOUR);
        // Put right, it is ahead, and is followed after a day.
        assert_eq!(clock.read(100 * DAY, after(start, 2)), 70 * DAY + 2 * HOUR);
        assert_eq!(clock.read(101 * DAY, after(start, 26)), 101 * DAY);
    }

    #[test]
    fn a_new_hub_takes_the_clock_as_it_is() {
        let start = Instant::now();
        let mut clock = ExpiryClock::new(0, 100 * DAY, GRACE, start);
        assert_eq!(clock.read(100 * DAY + HOUR, after(start, 1)), 100 * DAY + HOUR);
    }
}
