//! The rate limit: how many frames a sender may put at present.

/// A token bucket that counts in thousandths of a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    left: u64,
    /// Microseconds since 1970.
    at: u64,
}

impl Budget {
    pub(crate) const fn full(burst: u32, now: u64) -> Self {
        Self { left: burst as u64 * 1_000, at: now }
    }

    /// Takes `count` frames from the bucket.
    ///
    /// # Errors
    /// The milliseconds after which the bucket holds `count` frames, or after which it is full if
    /// `count` is more than it can hold.
    pub(crate) fn take(
        &mut self,
        count: usize,
        burst: u32,
        rate: u32,
        now: u64,
    ) -> Result<(), u64> {
        let full = u64::from(burst) * 1_000;
        let passed = now.saturating_sub(self.at);
        // A rate of one frame per second refills one thousandth of a frame per millisecond.
        let refill = passed.saturating_mul(u64::from(rate)) / 1_000;
        if refill > 0 || now < self.at {
            self.left = self.left.saturating_add(refill).min(full);
            self.at = now;
        }
        let wanted = count as u64 * 1_000;
        match self.left.checked_sub(wanted) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => {
                let missing = wanted.min(full).saturating_sub(self.left);
                Err(missing.div_ceil(u64::from(rate.max(1))))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Budget;

    #[test]
    fn a_burst_passes_and_then_the_rate() {
        let mut budget = Budget::full(10, 0);
        assert_eq!(budget.take(10, 10, 50, 0), Ok(()));
        assert_eq!(budget.take(1, 10, 50, 0), Err(20));
        assert_eq!(budget.take(1, 10, 50, 19_000), Err(1));
        assert_eq!(budget.take(1, 10, 50, 20_000), Ok(()));
        assert_eq!(budget.take(11, 10, 50, 10_000_000), Err(0), "never as many at once");
        assert_eq!(budget.take(10, 10, 50, 10_000_000), Ok(()));
        // A clock that is set back adds nothing to the bucket, and blocks the sender only briefly.
        assert_eq!(budget.take(1, 10, 50, 0), Err(20));
        assert_eq!(budget.take(1, 10, 50, 20_000), Ok(()));
    }
}
