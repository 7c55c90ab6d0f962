//! Work that strangers and apps may cause.

use core::time::Duration;
use std::collections::HashMap;
use std::time::Instant;

/// Events of strangers that are verified in a second: a fifth of a CPU.
const RATE: u32 = 3_000;

/// Time after which as many verifications are left as at first.
const SECOND: Duration = Duration::from_secs(1);

/// The clock by which these seconds are measured.
pub(super) enum Clock {
    /// The monotonic clock of the system.
    System,
    /// A clock that stands still, so that a test does not depend on the speed of its machine.
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

/// Verifications that are left in this second.
pub(super) struct Budget {
    /// When the second began; `None` before the first verification.
    begun: Option<Instant>,
    left: u32,
}

impl Default for Budget {
    fn default() -> Self {
        Self { begun: None, left: RATE }
    }
}

impl Budget {
    /// Takes one. Returns false if none is left.
    pub(super) fn take(&mut self, now: Instant) -> bool {
        if has_passed(self.begun, now) {
            *self = Self { begun: Some(now), ..Self::default() };
        }
        let left = self.left.checked_sub(1);
        self.left = left.unwrap_or_default();
        left.is_some()
    }
}

/// Events in a second that name the client of a paired app as author, are verified, and have no
/// request that is taken: of all apps, and beyond these of each app. So a flood in the name of one
/// client leaves each other app its own.
const FAILURES: u32 = 3_000;
const FAILURES_OF_APP: u32 = 100;

/// Verifications in the name of clients that are left in this second.
pub(super) struct Verifications {
    /// When the second began; `None` before the first verification.
    begun: Option<Instant>,
    left: u32,
    /// Taken of the own ones of each app.
    of_apps: HashMap<[u8; 32], u32>,
}

impl Default for Verifications {
    fn default() -> Self {
        Self { begun: None, left: FAILURES, of_apps: HashMap::new() }
    }
}

impl Verifications {
    /// Takes one before an event is verified. Returns false if none is left.
    pub(super) fn take(&mut self, transport: &[u8; 32], now: Instant) -> bool {
        if has_passed(self.begun, now) {
            *self = Self { begun: Some(now), ..Self::default() };
        }
        if let Some(left) = self.left.checked_sub(1) {
            self.left = left;
            return true;
        }
        let of_app = self.of_apps.entry(*transport).or_default();
        let has_left = *of_app < FAILURES_OF_APP;
        *of_app += u32::from(has_left);
        has_left
    }

    /// Returns one, as the event had a request that was taken.
    pub(super) fn give_back(&mut self, transport: &[u8; 32]) {
        match self.of_apps.get_mut(transport) {
            Some(of_app) if *of_app > 0 => *of_app -= 1,
            _ => self.left = (self.left + 1).min(FAILURES),
        }
    }
}

/// Returns true if the second that began then is over, or none began yet.
fn has_passed(begun: Option<Instant>, now: Instant) -> bool {
    begun.is_none_or(|begun| now.duration_since(begun) >= SECOND)
}

/// Requests of one app in ten minutes. An event is remembered for 15 minutes at most, which are
/// part of three windows: these are less than half of what the signer remembers, so that one app
/// cannot keep the others from being answered.
const REQUESTS: u32 = 16_000;
const WINDOW: Duration = Duration::from_secs(600);
/// Requests of one app in that time that are denied with a line of the log.
pub(super) const DENIALS: u32 = 1_000;

/// Requests of each app.
#[derive(Default)]
pub(super) struct Quotas(HashMap<[u8; 32], Quota>);

struct Quota {
    begun: Instant,
    requests: u32,
    denials: u32,
}

impl Quotas {
    /// Counts a request. Returns false if the app has made too many.
    pub(super) fn take(&mut self, transport: &[u8; 32]) -> bool {
        let quota = self.of(transport);
        quota.requests = quota.requests.saturating_add(1);
        quota.requests <= REQUESTS
    }

    /// Counts a denial. Returns false if the app had too many: they are not written any more.
    pub(super) fn deny(&mut self, transport: &[u8; 32]) -> bool {
        let quota = self.of(transport);
        quota.denials = quota.denials.saturating_add(1);
        quota.denials <= DENIALS
    }

    fn of(&mut self, transport: &[u8; 32]) -> &mut Quota {
        let now = Instant::now();
        let new = || Quota { begun: now, requests: 0, denials: 0 };
        let quota = self.0.entry(*transport).or_insert_with(new);
        if now.duration_since(quota.begun) >= WINDOW {
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
        let mut taken = |now| (0..RATE * 2).filter(|_| budget.take(now)).count();
        let all = usize::try_from(RATE).unwrap();
        assert_eq!(taken(begin), all);
        assert_eq!(taken(begin + SECOND - Duration::from_nanos(1)), 0);
        assert_eq!(taken(begin + SECOND), all);
    }

    #[test]
    fn events_in_the_name_of_one_client_leave_others_theirs() {
        let mut left = Verifications::default();
        let begin = Instant::now();
        let taken = (0..4 * FAILURES).filter(|_| left.take(&[1; 32], begin)).count();
        assert_eq!(u32::try_from(taken).unwrap(), FAILURES + FAILURES_OF_APP);
        for _ in 0..10 * FAILURES_OF_APP {
            // Those that have a request cost nothing.
            assert!(left.take(&[2; 32], begin));
            left.give_back(&[2; 32]);
        }
        assert!(!left.take(&[1; 32], begin) && left.take(&[1; 32], begin + SECOND));
    }

    #[test]
    fn one_app_cannot_take_all() {
        let mut quotas = Quotas::default();
        assert!((0..REQUESTS).all(|_| quotas.take(&[1; 32])));
        assert!(!quotas.take(&[1; 32]) && quotas.take(&[2; 32]));
    }
}
