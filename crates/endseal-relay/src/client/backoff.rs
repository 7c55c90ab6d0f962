//! The wait before the next attempt to connect.

use core::time::Duration;

use endseal_crypto::random::{OsRandom, Random as _};

use super::settings::Timing;

/// Returns the wait after `failures` failures in a row, at least one. It lies between half of
/// `first_wait * 2^(n-1)` and all of it, and is at most `longest_wait`. The other half is random,
/// so that clients that lost a relay at the same time do not return at the same time.
pub(super) fn wait(failures: u32, timing: &Timing) -> Duration {
    let doublings = failures.saturating_sub(1).min(16);
    let whole = timing.first_wait.saturating_mul(1 << doublings).min(timing.longest_wait);
    let mut bytes = [0; 2];
    // Without randomness the maximum wait is used.
    let fraction = match OsRandom.fill(&mut bytes) {
        Ok(()) => f64::from(u16::from_le_bytes(bytes)) / 65_536.0,
        Err(_) => 1.0,
    };
    whole / 2 + (whole / 2).mul_f64(fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest() {
        let timing = Timing::default();
        for (failures, whole) in [(1, 1), (2, 2), (3, 4), (6, 32), (7, 60), (1_000_000, 60)] {
            let whole = Duration::from_secs(whole);
            let waits: Vec<_> = (0..50).map(|_| wait(failures, &timing)).collect();
            assert!(waits.iter().all(|wait| (whole / 2..=whole).contains(wait)), "{failures}");
            assert!(waits.iter().any(|wait| *wait != waits[0]), "{failures}");
        }
    }
}
