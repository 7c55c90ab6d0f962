//! A circuit breaker: stops asking a provider that fails.

use core::time::Duration;

use tokio::time::Instant;

use super::CacheLimits;

/// Closed while requests pass. After several failures in a row it opens for a pause; then one trial
/// request passes, and its result decides.
pub(super) struct Breaker {
    threshold: u32,
    first_pause: Duration,
    longest_pause: Duration,
    failures: u32,
    open: Option<Open>,
}

struct Open {
    until: Instant,
    pause: Duration,
    /// True while the trial request is under way.
    trial: bool,
}

/// Permission for one request, which its holder returns with the result.
#[must_use]
pub(super) struct Admission {
    trial: bool,
}

impl Breaker {
    pub(super) fn new(limits: &CacheLimits) -> Self {
        Self {
            threshold: limits.failures.max(1),
            first_pause: limits.pause,
            longest_pause: limits.longest_pause,
            failures: 0,
            open: None,
        }
    }

    pub(super) fn is_open(&self, now: Instant) -> bool {
        self.open.as_ref().is_some_and(|open| now < open.until || open.trial)
    }

    /// Or when it is worth asking again.
    pub(super) fn admit(&mut self, now: Instant) -> Result<Admission, Duration> {
        let Some(open) = &mut self.open else { return Ok(Admission { trial: false }) };
        if now < open.until {
            return Err(open.until - now);
        }
        if open.trial {
            return Err(open.pause);
        }
        open.trial = true;
        Ok(Admission { trial: true })
    }

    /// `failure` says how long the provider itself asked to be left alone.
    pub(super) fn record(&mut self, admission: Admission, failure: Option<Duration>, now: Instant) {
        let Some(asked) = failure else {
            self.failures = 0;
            self.open = None;
            return;
        };
        self.failures = self.failures.saturating_add(1);
        let pause = match &self.open {
            // Was on its way before the others failed: tells nothing new.
            Some(_) if !admission.trial => return,
            Some(open) => open.pause * 2,
            None if self.failures >= self.threshold => self.first_pause,
            None => return,
        };
        let pause = pause.max(asked).min(self.longest_pause);
        self.open = Some(Open { until: now + pause, pause, trial: false });
    }

    /// The question was dropped: nothing is known.
    pub(super) fn give_up(&mut self, admission: Admission) {
        if let Some(open) = &mut self.open
            && admission.trial
        {
            open.trial = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn breaker() -> Breaker {
        Breaker::new(&CacheLimits { longest_pause: 5 * SECOND, ..CacheLimits::default() })
    }

    fn fail(breaker: &mut Breaker, now: Instant) {
        let admission = breaker.admit(now).ok().unwrap();
        breaker.record(admission, Some(Duration::ZERO), now);
    }

    #[tokio::test]
    async fn it_opens_after_failures_in_a_row() {
        let (now, mut breaker) = (Instant::now(), breaker());
        for _ in 0..5 {
            fail(&mut breaker, now);
            fail(&mut breaker, now);
            let admission = breaker.admit(now).ok().unwrap();
            breaker.record(admission, None, now);
        }
        for _ in 0..3 {
            assert!(!breaker.is_open(now));
            fail(&mut breaker, now);
        }
        assert!(breaker.is_open(now));
        assert_eq!(breaker.admit(now).err(), Some(SECOND));
        assert_eq!(breaker.admit(now + SECOND / 2).err(), Some(SECOND / 2));
    }

    #[tokio::test]
    async fn one_question_decides() {
        let (mut now, mut breaker) = (Instant::now(), breaker());
        (0..3).for_each(|_| fail(&mut breaker, now));
        for pause in [1, 2, 4, 5, 5] {
            assert!(breaker.admit(now + SECOND * pause - Duration::from_millis(1)).is_err());
            now += SECOND * pause;
            let trial = breaker.admit(now).ok().unwrap();
            assert!(breaker.admit(now).is_err(), "one at a time");
            breaker.record(trial, Some(Duration::ZERO), now);
        }
        now += 5 * SECOND;
        let trial = breaker.admit(now).ok().unwrap();
        breaker.record(trial, None, now);
        assert!(!breaker.is_open(now));
        fail(&mut breaker, now);
        assert!(!breaker.is_open(now), "counts from the beginning");
    }

    #[tokio::test]
    async fn a_dropped_question_lets_another_one_through() {
        let (now, mut breaker) = (Instant::now(), breaker());
        (0..3).for_each(|_| fail(&mut breaker, now));
        let later = now + SECOND;
        let trial = breaker.admit(later).ok().unwrap();
        breaker.give_up(trial);
        assert!(breaker.admit(later).is_ok());
    }

    #[tokio::test]
    async fn late_failures_do_not_make_the_pause_longer() {
        let (now, mut breaker) = (Instant::now(), breaker());
        let late: Vec<_> = (0..4).map(|_| breaker.admit(now).ok().unwrap()).collect();
        (0..3).for_each(|_| fail(&mut breaker, now));
        for admission in late {
            breaker.record(admission, Some(Duration::ZERO), now + SECOND / 2);
        }
        assert!(breaker.admit(now + SECOND).is_ok());
    }

    #[tokio::test]
    async fn a_provider_may_ask_for_a_longer_pause() {
        let (now, mut breaker) = (Instant::now(), breaker());
        for asked in [0, 0, 3] {
            let admission = breaker.admit(now).ok().unwrap();
            breaker.record(admission, Some(SECOND * asked), now);
        }
        assert_eq!(breaker.admit(now).err(), Some(3 * SECOND));
    }
}
