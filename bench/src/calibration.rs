//! A fixed piece of work, the same on every machine and in every run. Its time shows how fast the
//! machine was, and how much that changed during a run.

use core::hint::black_box;

use crate::clock::time;
use crate::stats::median;

/// Returns the median of nine calls of [`warm`], in ns.
#[must_use]
pub fn measure() -> f64 {
    let samples: Vec<_> = (0..9).map(|_| warm()).collect();
    median(&samples).unwrap_or_default()
}

/// Measures once, after a warm-up like that of a batch, so that the result is the speed of the
/// machine and not the state in which another process left its caches.
#[must_use]
pub fn warm() -> f64 {
    once();
    once()
}

/// Nanoseconds of CPU time (or of wall time, where there is no other) for the fixed work.
fn once() -> f64 {
    let elapsed = time(work);
    elapsed.cpu_ns.unwrap_or(elapsed.wall_ns)
}

/// Integer arithmetic in a chain, and a walk through 1 MiB in an order that no prefetcher knows.
fn work() {
    let x = chain(200_000);
    let mut memory = vec![0_u32; 1 << 18];
    let mut position = 1_u32;
    for slot in &mut memory {
        position = position.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *slot = position >> 14;
    }
    let mut at = 0;
    for _ in 0..20_000 {
        at = memory[at as usize];
    }
    black_box((x, at));
}

fn chain(links: u32) -> u64 {
    let mut x = black_box(0x243f_6a88_85a3_08d3_u64);
    for _ in 0..links {
        x = x.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23) ^ 0x1319_8a2e;
    }
    x
}

/// Returns the largest deviation of the measurements from the first one, as a share of it.
#[must_use]
pub fn drift(measurements: &[f64]) -> Option<f64> {
    let first = measurements.first().filter(|first| **first > 0.0)?;
    measurements.iter().map(|m| (m / first - 1.0).abs()).max_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_takes_a_measurable_time() {
        assert!(measure() > 10_000.0);
    }

    #[test]
    fn drift_is_relative_to_the_start() {
        assert_eq!(drift(&[]), None);
        assert_eq!(drift(&[100.0]), Some(0.0));
        let found = drift(&[100.0, 110.0, 95.0]).unwrap();
        assert!((found - 0.10).abs() < 1e-12);
    }
}
