//! Age of requests, beyond which a signer refuses them.

/// Seconds by which the time of a request differs from the signer's clock at most.
pub const MAX_SKEW: u64 = 300;

/// Seconds for which event ids are kept behind their `created_at`, and requests behind their
/// execution.
pub const MEMORY: u64 = 600;

/// Returns true if a request of `created_at` may be executed at `now`. `floor` is the greatest
/// `created_at` among the event ids that were forgotten, 0 if there are none.
///
/// An id is forgotten once `now` exceeds its `created_at` by [`MEMORY`]; until then it is compared.
#[must_use]
pub const fn is_fresh(created_at: u64, now: u64, floor: u64) -> bool {
    created_at.abs_diff(now) <= MAX_SKEW && created_at > floor
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_minutes_are_fresh() {
        for created_at in [9_700, 10_000, 10_300] {
            assert!(is_fresh(created_at, 10_000, 9_699));
        }
        assert!(!is_fresh(9_699, 10_000, 0));
        assert!(!is_fresh(10_301, 10_000, 0));
        assert!(!is_fresh(u64::MAX, 0, 0));
        assert!(!is_fresh(0, u64::MAX, 0));
    }

    #[test]
    fn nothing_up_to_the_floor_is_fresh() {
        assert!(!is_fresh(10_000, 10_000, 10_000));
        assert!(is_fresh(10_001, 10_000, 10_000));
    }

    #[test]
    fn a_clock_that_jumped_opens_no_window() {
        // Executed at 10,000, forgotten behind 10,600, and the clock is set back.
        let executed = 10_000;
        let floor = executed;
        assert!(!is_fresh(executed, 10_100, floor));
    }
}
