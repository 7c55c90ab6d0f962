//! Sealing: one envelope after the other, or many at once.

use core::hint::black_box;
use std::thread;

use endseal_crypto::random::OsRandom;
use endseal_envelope::{SealError, Session, SessionLimits};

use super::{Form, Material, failed};
use crate::clock::{Elapsed, time, time_threads};
use crate::subject::{Checked, Prepared, SubjectError};

/// One envelope after the other.
pub(super) struct Seal {
    pub(super) material: Material,
    /// Envelopes of an iteration.
    pub(super) count: usize,
    pub(super) next: usize,
}

impl Prepared for Seal {
    fn check(&mut self) -> Result<Checked, SubjectError> {
        self.material.check()
    }

    fn is_in_process(&self) -> bool {
        true
    }

    fn run(&mut self, iterations: u32) -> Result<Elapsed, SubjectError> {
        let sealer = self.material.sealer();
        let contents = &self.material.contents;
        let calls = iterations as usize * self.count;
        let start = self.next;
        self.next = (start + calls) % contents.len();
        let inputs = contents.iter().cycle().skip(start).take(calls);
        let mut outcome = Ok(());
        let elapsed = if self.material.form == Form::Session {
            let mut limits = SessionLimits::default();
            (limits.envelopes, limits.milliseconds) = (u32::MAX, u64::MAX);
            let mut session = Session::new(sealer, limits, 0, &mut OsRandom).map_err(failed)?;
            time(|| {
                outcome = each(inputs, |content| session.seal(content, 0, 0, &mut OsRandom));
            })
        } else {
            time(|| outcome = each(inputs, |content| sealer.seal(content, &mut OsRandom)))
        };
        outcome.map_err(failed)?;
        Ok(elapsed)
    }
}

/// `count` envelopes at once, shared out among threads. The threads start and end within the time:
/// whoever has a backlog and no pool pays for that.
pub(super) struct SealMany {
    pub(super) material: Material,
    pub(super) count: usize,
    pub(super) threads: usize,
    pub(super) next: usize,
}

impl Prepared for SealMany {
    fn check(&mut self) -> Result<Checked, SubjectError> {
        self.material.check()
    }

    fn is_in_process(&self) -> bool {
        true
    }

    fn threads(&self) -> usize {
        self.threads
    }

    fn run(&mut self, iterations: u32) -> Result<Elapsed, SubjectError> {
        let (inputs, start) = (self.material.contents.len(), self.next);
        let from = |iteration: u32| (start + iteration as usize * self.count) % inputs;
        let mut outcome = Ok(());
        let elapsed = time_threads(|| {
            outcome = (0..iterations).try_for_each(|iteration| self.at_once(from(iteration)));
        });
        self.next = from(iterations);
        outcome?;
        Ok(elapsed)
    }
}

impl SealMany {
    fn at_once(&self, from: usize) -> Result<(), SubjectError> {
        let share = |thread: usize| {
            let inputs = self.material.contents.iter().cycle().skip(from).take(self.count);
            let inputs = inputs.skip(thread).step_by(self.threads);
            each(inputs, |content| self.material.sealer().seal(content, &mut OsRandom))
        };
        thread::scope(|scope| {
            // This thread works too.
            let others: Vec<_> =
                (1..self.threads).map(|thread| scope.spawn(move || share(thread))).collect();
            let mut outcome = share(0).map_err(failed);
            for other in others {
                let other = other.join().map_err(|_| failed("a thread panicked"));
                outcome = outcome.and(other.and_then(|sealed| sealed.map_err(failed)));
            }
            outcome
        })
    }
}

fn each<'a>(
    mut inputs: impl Iterator<Item = &'a Vec<u8>>,
    mut seal: impl FnMut(&[u8]) -> Result<Vec<u8>, SealError>,
) -> Result<(), SealError> {
    inputs.try_for_each(|content| seal(content).map(|envelope| drop(black_box(envelope))))
}
