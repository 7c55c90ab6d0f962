//! A batch: as many iterations as are worth timing, after an untimed start.

use crate::clock::Elapsed;
use crate::subject::{Failure, Prepared};

/// Length of a batch that is aimed at: well under a slice of the scheduler.
const BATCH_NS: f64 = 300_000.0;
/// An iteration that lasts longer than this warms itself up.
const WARM_UP_BELOW_NS: f64 = 2_000_000.0;
const MOST_ITERATIONS: u32 = 1_000_000;

/// The iterations of a subject in one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Batch {
    iterations: u32,
    /// Iterations before the timed ones. Their time is dropped.
    warm_up: u32,
}

impl Batch {
    /// Finds the batch of a subject by running it.
    ///
    /// # Errors
    /// Fails if the subject fails.
    pub(crate) fn find(prepared: &mut dyn Prepared) -> Result<Self, Failure> {
        // The first call also warms up caches and compilers, so only a very long time counts.
        let first = prepared.run(1)?.wall_ns;
        if first > 50.0 * BATCH_NS {
            return Ok(Self::of(first));
        }
        let mut iterations = 1;
        loop {
            let batch = prepared.run(iterations)?.wall_ns;
            if batch >= BATCH_NS / 4.0 || iterations >= MOST_ITERATIONS {
                return Ok(Self::of(batch / f64::from(iterations)));
            }
            iterations *= 4;
        }
    }

    /// Creates the batch for iterations of that length.
    ///
    /// In a round a batch of ours follows those of other processes, which took the caches and left
    /// the wide vector units powered down; a user's call follows one of its own kind, or none. So
    /// every subject warms up for a third of a batch.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
    fn of(iteration_ns: f64) -> Self {
        let wanted = BATCH_NS / iteration_ns.max(1e-3);
        let iterations = wanted.clamp(1.0, f64::from(MOST_ITERATIONS)) as u32;
        let warm_up = if iteration_ns < WARM_UP_BELOW_NS { iterations.div_ceil(3) } else { 0 };
        Self { iterations, warm_up }
    }

    /// Warms up, runs the batch, and returns the time of one iteration.
    ///
    /// # Errors
    /// Fails if the subject fails.
    pub(crate) fn run(self, prepared: &mut dyn Prepared) -> Result<Elapsed, Failure> {
        if self.warm_up > 0 {
            prepared.run(self.warm_up)?;
        }
        Ok(prepared.run(self.iterations)?.per(self.iterations))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::Checked;

    /// A subject whose iterations have a fixed length. It records the iterations that were
    /// requested.
    struct Fixed(f64, Vec<u32>);

    impl Prepared for Fixed {
        fn check(&mut self) -> Result<Checked, Failure> {
            Ok(Checked::default())
        }

        fn run(&mut self, iterations: u32) -> Result<Elapsed, Failure> {
            self.1.push(iterations);
            Ok(Elapsed::new(self.0 * f64::from(iterations), None))
        }
    }

    #[test]
    fn a_batch_is_short_and_starts_warm() {
        for (ns, iterations, warm_up) in [
            (100.0, 3000, 1000),
            (100_000.0, 3, 1),
            (1_900_000.0, 1, 1),
            (2_000_000.0, 1, 0),
            (80e6, 1, 0),
            (0.0, 1_000_000, 333_334),
        ] {
            let mut subject = Fixed(ns, Vec::new());
            let batch = Batch::find(&mut subject).unwrap();
            assert_eq!(batch, Batch { iterations, warm_up }, "{ns} ns");
            subject.1.clear();
            assert!((batch.run(&mut subject).unwrap().wall_ns - ns).abs() < 1e-6);
            let asked: Vec<_> = [warm_up, iterations].into_iter().filter(|n| *n > 0).collect();
            assert_eq!(subject.1, asked);
        }
    }
}
