//! Exponential back-off: the times between attempts.

use core::time::Duration;

use endseal_crypto::random::{Random, RandomError};
use tokio::time::{Instant, sleep_until};

/// Exponential back-off with jitter: the n-th wait is between half of `first * 2^n` and all of it,
/// but no more than `max`. The other half is random, so that clients which lost the same peer at
/// the same time do not all return at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Backoff {
    /// Upper bound of the first wait.
    pub first: Duration,
    /// Upper bound of every wait.
    pub max: Duration,
    /// Number of attempts before [`retry`](Self::retry) gives up; `None` means that it never does.
    pub attempts: Option<u32>,
}

impl Default for Backoff {
    /// First wait up to 250 ms, doubled up to 30 s, without a limit on attempts.
    fn default() -> Self {
        Self { first: Duration::from_millis(250), max: Duration::from_secs(30), attempts: None }
    }
}

impl Backoff {
    /// Returns the time to wait after `failures` failures in a row. 0 counts as 1.
    ///
    /// # Errors
    /// [`RandomError`] if the random source fails.
    pub fn wait(&self, failures: u32, random: &mut impl Random) -> Result<Duration, RandomError> {
        let doublings = failures.saturating_sub(1).min(31);
        let whole = self.first.saturating_mul(1 << doublings).min(self.max);
        let mut bytes = [0; 4];
        random.fill(&mut bytes)?;
        // A fraction of [0, 1) in steps of 2^-32.
        let fraction = f64::from(u32::from_le_bytes(bytes)) / 4_294_967_296.0;
        Ok(whole / 2 + (whole / 2).mul_f64(fraction))
    }

    /// Returns true if another attempt may follow after `failures` failures in a row.
    #[must_use]
    pub fn goes_on(&self, failures: u32) -> bool {
        self.attempts.is_none_or(|attempts| failures < attempts)
    }

    /// Calls `attempt` until it succeeds, returns an error that is not transient, or
    /// [`attempts`](Self::attempts) are used up. Waits between two attempts.
    ///
    /// `failures` is increased by each failure and is not reset by a success: the caller resets it
    /// once the result has proved to work. If the call is dropped during a wait, the next call with
    /// the same `failures` waits for the rest of it.
    ///
    /// # Errors
    /// The error of the last attempt.
    pub async fn retry<T, E>(
        &self,
        random: &mut impl Random,
        failures: &mut Failures,
        is_transient: impl Fn(&E) -> bool,
        mut attempt: impl AsyncFnMut() -> Result<T, E>,
    ) -> Result<T, E> {
        loop {
            failures.waited().await;
            let error = match attempt().await {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            failures.count = failures.count.saturating_add(1);
            if !is_transient(&error) || !self.goes_on(failures.count) {
                return Err(error);
            }
            failures.wait(self, random);
        }
    }
}

/// Number of failures in a row, and the end of the wait after the last one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Failures {
    count: u32,
    not_before: Option<Instant>,
}

impl Failures {
    /// Returns the number of failures in a row.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// Adds one, with the wait that follows it.
    pub(crate) fn add(&mut self, backoff: &Backoff, random: &mut impl Random) {
        self.count = self.count.saturating_add(1);
        self.wait(backoff, random);
    }

    fn wait(&mut self, backoff: &Backoff, random: &mut impl Random) {
        // Without randomness the longest wait is used: late, but not wrong.
        let wait = backoff.wait(self.count, random).unwrap_or(backoff.max);
        self.not_before = Instant::now().checked_add(wait);
    }

    /// Returns true until the wait after the last one is over.
    pub(crate) fn waits(&self) -> bool {
        self.not_before.is_some_and(|end| Instant::now() < end)
    }

    async fn waited(&mut self) {
        if let Some(end) = self.not_before {
            sleep_until(end).await;
            self.not_before = None;
        }
    }
}
