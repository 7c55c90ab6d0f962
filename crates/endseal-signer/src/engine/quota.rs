//! Limits on the work that unknown senders and apps can cause.

use core::time::Duration;
use std::collections::HashMap;
use std::time::Instant;

/// Maximum number of events of unknown senders that are verified per second; it costs a fifth of a
/// CPU.
const RATE: u32 = 3_000;

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

/// Remaining verifications of events of unknown senders in the current second.
pub(super) struct Budget {
    /// Start of the current second; `None` before the first verification.
    started: Option<Instant>,
    left: u32,
}

impl Default for Budget {
    fn default() -> Self {
        Self { started: None, left: RATE }
    }
}

impl Budget {
    /// Uses one verification. Returns false if none is left in this second.
    pub(super) fn take(&mut self, now: Instant) -> bool {
        if has_passed(self.started, now) {
            *self = Self { started: Some(now), ..Self::default() };
        }
        let left = self.left.checked_sub(1);
        self.left = left.unwrap_or_default();
        left.is_some()
    }
}

/// Maximum number of verified events per second that name the client of a paired app as author but
/// contain no acceptable request. `FAILURES` is shared by all apps; `FAILURES_OF_APP` is reserved
/// for each app beyond that, so a flood in the name of one client leaves the others their share.
const FAILURES: u32 = 3_000;
const FAILURES_OF_APP: u32 = 100;

/// Remaining verifications in the name of clients in the current second.
pub(super) struct Verifications {
    /// Start of the current second; `None` before the first verification.
    started: Option<Instant>,
    left: u32,
    /// Number of reserved verifications that each app has used.
    of_apps: HashMap<[u8; 32], u32>,
}

impl Default for Verifications {
    fn default() -> Self {
        Self { started: None, left: FAILURES, of_apps: HashMap::new() }
    }
}

impl Verifications {
    /// Uses one verification before an event is verified. Returns false if none is left in this
    /// second.
    pub(super) fn take(&mut self, transport: &[u8; 32], now: Instant) -> bool {
        if has_passed(self.started, now) {
            *self = Self { started: Some(now), ..Self::default() };
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

    /// Gives a verification back, because the event contained a request that was accepted.
    pub(super) fn give_back(&mut self, transport: &[u8; 32]) {
        match self.of_apps.get_mut(transport) {
            Some(of_app) if *of_app > 0 => *of_app -= 1,
            _ => self.left = (self.left + 1).min(FAILURES),
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
            // Events with an acceptable request use no budget.
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
