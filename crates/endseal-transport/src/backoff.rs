//! When to try again.

use core::time::Duration;

use endseal_crypto::random::{Random, RandomError};
use tokio::time;

/// Exponential back-off with jitter: the n-th wait is between half of `first * 2^n` and all of it,
/// but no more than `max`. Half of it is left to chance, so that those who lost a peer together do
/// not come back together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Backoff {
    /// The first wait at most.
    pub first: Duration,
    /// Any wait at most.
    pub max: Duration,
    /// Attempts before giving up; `None` to go on for ever.
    pub attempts: Option<u32>,
}

impl Default for Backoff {
    /// 250 ms, doubled up to 30 s, for ever.
    fn default() -> Self {
        Self { first: Duration::from_millis(250), max: Duration::from_secs(30), attempts: None }
    }
}

impl Backoff {
    /// The wait after `failures` failures in a row, of which there was at least one.
    ///
    /// # Errors
    /// [`RandomError`] if the source fails.
    pub fn wait(&self, failures: u32, random: &mut impl Random) -> Result<Duration, RandomError> {
        let doublings = failures.saturating_sub(1).min(31);
        let whole = self.first.saturating_mul(1 << doublings).min(self.max);
        let mut bytes = [0; 4];
        random.fill(&mut bytes)?;
        // A fraction of [0, 1) in steps of 2^-32.
        let fraction = f64::from(u32::from_le_bytes(bytes)) / 4_294_967_296.0;
        Ok(whole / 2 + (whole / 2).mul_f64(fraction))
    }

    /// Whether another attempt may follow after `failures` failures in a row.
    #[must_use]
    pub fn goes_on(&self, failures: u32) -> bool {
        self.attempts.is_none_or(|attempts| failures < attempts)
    }

    /// Calls `attempt` until it succeeds, fails for good, or attempts are used up; waits in between.
    /// `failures` is counted up by the way and not reset: that is for who sees the result work.
    ///
    /// # Errors
    /// The last one of `attempt`.
    pub async fn retry<T, E>(
        &self,
        random: &mut impl Random,
        failures: &mut u32,
        is_transient: impl Fn(&E) -> bool,
        mut attempt: impl AsyncFnMut() -> Result<T, E>,
    ) -> Result<T, E> {
        loop {
            let error = match attempt().await {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            *failures = failures.saturating_add(1);
            if !is_transient(&error) || !self.goes_on(*failures) {
                return Err(error);
            }
            // Without chance the wait is the longest: late, but not wrong.
            time::sleep(self.wait(*failures, random).unwrap_or(self.max)).await;
        }
    }
}
