//! Cases of sealing: one envelope after the other, or many at once.

use core::hint::black_box;
use std::thread;

use endseal_crypto::random::OsRandom;
use endseal_crypto::{ed25519, x25519};
use endseal_envelope::SealError;

use super::{Form, Material, failed};
use crate::calibration::clock_ghz;
use crate::clock::{Elapsed, time, time_threads};
use crate::record::Better;
use crate::subject::{Checked, Extra, Prepared, SubjectError};

/// Number of measurements of the key agreements alone.
const ROUNDS: usize = 15;

/// Seals one envelope after the other.
pub(super) struct Seal {
    pub(super) material: Material,
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
        let calls = iterations as usize;
        let start = self.next;
        self.next = (start + calls) % contents.len();
        let inputs = contents.iter().cycle().skip(start).take(calls);
        let mut outcome = Ok(());
        let elapsed =
            time(|| outcome = each(inputs, |content| sealer.seal(content, &mut OsRandom)));
        outcome.map_err(failed)?;
        Ok(elapsed)
    }

    /// Returns the time of the X25519 agreements alone, in ns, and the clock of the CPU, in GHz,
    /// of the default form. The best time that the CPU allows follows from them.
    fn extra(&mut self) -> Result<Vec<Extra>, SubjectError> {
        if self.material.form != Form::Default {
            return Ok(Vec::new());
        }
        let keys: Vec<_> =
            self.material.recipients.keys().map(ed25519::PublicKey::to_x25519).collect();
        let secret = x25519::SecretKey::generate(&mut OsRandom).map_err(failed)?;
        let secret = x25519::PreparedKey::new(secret);
        let once = || time(|| drop(black_box(secret.agree_many(black_box(&keys))))).wall_ns;
        let (mut agreements, mut clock) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            clock.push(clock_ghz());
            once();
            agreements.push(once());
        }
        let extra = |metric, unit, better, samples| Extra { metric, unit, better, samples };
        Ok(vec![
            extra("agreements", "ns", Better::Less, agreements),
            extra("clock", "GHz", Better::More, clock),
        ])
    }
}

/// Seals `count` envelopes at once, divided among threads. The threads start and end within the
/// measured time, as for a caller that has a backlog and no thread pool.
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
        let (sets, start) = (self.material.contents.len() - self.count + 1, self.next);
        let from = |iteration: u32| (start + iteration as usize) % sets;
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
            let inputs = self.material.contents[from..from + self.count].iter();
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
