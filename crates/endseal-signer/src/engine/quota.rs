//! Limits on the work that unknown senders and apps can cause.

use alloc::collections::VecDeque;
use core::time::Duration;
use std::collections::{HashMap, HashSet};
use std::time::Instant;

use endseal_nostr::connect::MAX_EVENT;

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

/// Maximum work per second for verified events that contain no acceptable request: those that name
/// the client of a paired app as author, and those of unknown senders to apps that wait for a
/// client, each sort by itself. `FAILURES` is shared by all apps; `FAILURES_OF_APP` is reserved for
/// each app beyond that, so a flood at one app leaves the others their share. Each sort costs a
/// fifth of a CPU at most.
const FAILURES: Work = Work { events: 3_000, bytes: 32 << 20 };
const FAILURES_OF_APP: Work = Work { events: 100, bytes: 2 << 20 };
const _: () = assert!(FAILURES_OF_APP.bytes >= MAX_EVENT, "the share is at least one event");

/// Verifications of one sort in the current second.
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
/// events that the signer remembers.
const REQUESTS: u32 = 16_000;
const WINDOW: Duration = Duration::from_secs(600);
/// Maximum number of denied requests of one app in ten minutes that get a log line.
pub(super) const DENIALS: u32 = 1_000;

/// Maximum number of errors of one app in ten seconds that leave no record, and number of their
/// events that are remembered. A relay can repeat such an event, and each answer goes to all relays
/// of the app.
const ERRORS: u32 = 50;
const ERRORS_WINDOW: Duration = Duration::from_secs(10);
const ERRORS_KEPT: usize = 4_096;

/// Errors that leave no record: for requests that are stale, above the quota, or that cannot be
/// written.
#[derive(Default)]
pub(super) struct UnrecordedErrors {
    of_apps: HashMap<[u8; 32], (Instant, u32)>,
    answered: HashSet<[u8; 32]>,
    order: VecDeque<[u8; 32]>,
}

impl UnrecordedErrors {
    /// Returns true if the event had an error.
    pub(super) fn has(&self, event: &[u8; 32]) -> bool {
        self.answered.contains(event)
    }

    /// Counts an error for an event of an app. Returns false if it had one before, or if the app
    /// had too many.
    pub(super) fn take(&mut self, transport: &[u8; 32], event: &[u8; 32], now: Instant) -> bool {
        if self.answered.contains(event) {
            return false;
        }
        let (started, count) = self.of_apps.entry(*transport).or_insert((now, 0));
        if now.duration_since(*started) >= ERRORS_WINDOW {
            (*started, *count) = (now, 0);
        }
        *count = count.saturating_add(1);
        if *count > ERRORS {
            return false;
        }
        if self.order.len() == ERRORS_KEPT
            && let Some(oldest) = self.order.pop_front()
        {
            self.answered.remove(&oldest);
        }
        self.order.push_back(*event);
        self.answered.insert(*event)
    }
}

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
    fn an_event_has_one_error_and_an_app_fifty_in_ten_seconds() {
        let (mut errors, begin) = (UnrecordedErrors::default(), Instant::now());
        let event = |at: u32| {
            let mut id = [0; 32];
            id[..4].copy_from_slice(&at.to_le_bytes());
            id
        };
        let taken = (0..1_000).filter(|_| errors.take(&[1; 32], &event(0), begin)).count();
        assert_eq!(taken, 1);
        let taken = (0..1_000).filter(|at| errors.take(&[1; 32], &event(*at), begin)).count();
        assert_eq!(taken, 49);
        assert!(errors.take(&[2; 32], &event(5_000), begin));
        assert!(errors.take(&[1; 32], &event(6_000), begin + ERRORS_WINDOW));
        assert!(!errors.take(&[1; 32], &event(0), begin + ERRORS_WINDOW));
        for at in 10_000..20_000 {
            errors.take(&event(at), &event(at), begin);
        }
        assert_eq!((errors.order.len(), errors.answered.len()), (ERRORS_KEPT, ERRORS_KEPT));
    }

    #[test]
    fn one_app_cannot_take_all() {
        let mut quotas = Quotas::default();
        assert!((0..REQUESTS).all(|_| quotas.take(&[1; 32])));
        assert!(!quotas.take(&[1; 32]) && quotas.take(&[2; 32]));
    }
}
