//! Limits on the work that unknown senders and apps can cause.

use core::time::Duration;
use std::collections::HashMap;
use std::time::Instant;

use endseal_nostr::connect::MAX_EVENT;

/// Maximum number of events of unknown senders that are verified per second, and their maximum size
/// in bytes; each costs a fifth of a CPU at most.
const RATE: u32 = 3_000;
const RATE_BYTES: usize = 32 << 20;

/// Period after which the budgets of verifications are reset.
const SECOND: Duration = Duration::from_secs(1);

/// Clock that measures the periods of the budgets.
pub(super) enum Clock {
    /// The monotonic clock of the system.
    System,
    /// Clock that does not advance, so that a test does not depend on the speed of its machine.
    #[cfg(test)]
    Stopped(Instant),
}

impl Clock {
    pub(super) fn now(&self) -> Instant {
        match self {
            Self::System => Instant::now(),
            #[cfg(test)]
            Self::Stopped(now) => *now,
        }
    }
}

/// Number of verifications and total size of the verified events.
#[derive(Clone, Copy, Debug, Default)]
struct Work {
    events: u32,
    bytes: usize,
}

impl Work {
    /// Adds an event of `len` bytes if the sum is within `limit`. Returns false otherwise.
    fn add(&mut self, len: usize, limit: Self) -> bool {
        let sum = Self { events: self.events + 1, bytes: self.bytes.saturating_add(len) };
        let is_within = sum.events <= limit.events && sum.bytes <= limit.bytes;
        if is_within {
            *self = sum;
        }
        is_within
    }

    fn subtract(&mut self, len: usize) {
        self.events = self.events.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(len);
    }
}

/// Verifications of events of unknown senders in the current second.
#[derive(Default)]
pub(super) struct Budget {
    /// Start of the current second; `None` before the first verification.
    started: Option<Instant>,
    used: Work,
}

impl Budget {
    /// Uses one verification of an event of `len` bytes. Returns false if that is above the limit
    /// of this second.
    pub(super) fn take(&mut self, len: usize, now: Instant) -> bool {
        if has_passed(self.started, now) {
            *self = Self { started: Some(now), ..Self::default() };
        }
        self.used.add(len, Work { events: RATE, bytes: RATE_BYTES })
    }
}

/// Maximum work per second for verified events that name the client of a paired app as author but
/// contain no acceptable request. `FAILURES` is shared by all apps; `FAILURES_OF_APP` is reserved
/// for each app beyond that, so a flood in the name of one client leaves the others their share.
const FAILURES: Work = Work { events: 3_000, bytes: 32 << 20 };
const FAILURES_OF_APP: Work = Work { events: 100, bytes: 2 << 20 };
const _: () = assert!(FAILURES_OF_APP.bytes >= MAX_EVENT, "the share is at least one event");

/// Verifications in the name of clients in the current second.
#[derive(Default)]
pub(super) struct Verifications {
    /// Start of the current second; `None` before the first verification.
    started: Option<Instant>,
    shared: Work,
    /// Use of the reserved share of each app.
    of_apps: HashMap<[u8; 32], Work>,
}

impl Verifications {
    /// Uses one verification before an event of `len` bytes is verified. Returns false if that is
    /// above the limits of this second.
    pub(super) fn take(&mut self, transport: &[u8; 32], len: usize, now: Instant) -> bool {
        if has_passed(self.started, now) {
            *self = Self { started: Some(now), ..Self::default() };
        }
        self.shared.add(len, FAILURES)
            || self.of_apps.entry(*transport).or_default().add(len, FAILURES_OF_APP)
    }

    /// Gives a verification back, because the event contained a request that was accepted.
    pub(super) fn give_back(&mut self, transport: &[u8; 32], len: usize) {
        match self.of_apps.get_mut(transport) {
            Some(of_app) if of_app.events > 0 => of_app.subtract(len),
            _ => self.shared.subtract(len),
        }
    }
}

/// Returns true if the second that started at `started` is over, or if none has started yet.
fn has_passed(started: Option<Instant>, now: Instant) -> bool {
    started.is_none_or(|started| now.duration_since(started) >= SECOND)
}

/// Maximum number of requests of one app in ten minutes. An event is remembered for at most 15
/// minutes, which overlap three such windows. Three times this limit is less than half of the
/// events that the signer remembers, so one app cannot prevent the others from being answered.
const REQUESTS: u32 = 16_000;
const WINDOW: Duration = Duration::from_secs(600);
/// Maximum number of denied requests of one app in ten minutes that get a log line.
pub(super) const DENIALS: u32 = 1_000;

/// Number of requests and denials of each app in its current window of ten minutes.
#[derive(Default)]
pub(super) struct Quotas(HashMap<[u8; 32], Quota>);

struct Quota {
    started: Instant,
    requests: u32,
    denials: u32,
}

impl Quotas {
    /// Counts a request. Returns false if the app has exceeded its quota.
    pub(super) fn take(&mut self, transport: &[u8; 32]) -> bool {
        let quota = self.of(transport);
        quota.requests = quota.requests.saturating_add(1);
        quota.requests <= REQUESTS
    }

    /// Counts a denial. Returns false if the app has exceeded its quota, so the denial is not
    /// logged.
    pub(super) fn deny(&mut self, transport: &[u8; 32]) -> bool {
        let quota = self.of(transport);
        quota.denials = quota.denials.saturating_add(1);
        quota.denials <= DENIALS
    }

    fn of(&mut self, transport: &[u8; 32]) -> &mut Quota {
        let now = Instant::now();
        let new = || Quota { started: now, requests: 0, denials: 0 };
        let quota = self.0.entry(*transport).or_insert_with(new);
        if now.duration_since(quota.started) >= WINDOW {
            *quota = new();
        }
        quota
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_has_so_many() {
        let mut budget = Budget::default();
        let begin = Instant::now();
        let mut taken = |len, now| (0..RATE * 2).filter(|_| budget.take(len, now)).count();
        let all = usize::try_from(RATE).unwrap();
        assert_eq!(taken(100, begin), all);
        assert_eq!(taken(100, begin + SECOND - Duration::from_nanos(1)), 0);
        assert_eq!(taken(100, begin + SECOND), all);
        // Large events are limited by their size.
        assert_eq!(taken(MAX_EVENT, begin + 2 * SECOND), RATE_BYTES / MAX_EVENT);
    }

    #[test]
    fn events_in_the_name_of_one_client_leave_others_theirs() {
        for len in [100, MAX_EVENT] {
            let mut left = Verifications::default();
            let begin = Instant::now();
            let taken = (0..4_000).filter(|_| left.take(&[1; 32], len, begin)).count();
            let all = |work: Work| usize::try_from(work.events).unwrap().min(work.bytes / len);
            assert_eq!(taken, all(FAILURES) + all(FAILURES_OF_APP), "{len}");
            for _ in 0..1_000 {
                // Events with an acceptable request use no budget.
                assert!(left.take(&[2; 32], len, begin));
                left.give_back(&[2; 32], len);
            }
            assert!(!left.take(&[1; 32], len, begin));
            assert!(left.take(&[1; 32], len, begin + SECOND));
        }
    }

    #[test]
    fn one_app_cannot_take_all() {
        let mut quotas = Quotas::default();
        assert!((0..REQUESTS).all(|_| quotas.take(&[1; 32])));
        assert!(!quotas.take(&[1; 32]) && quotas.take(&[2; 32]));
    }
}
