//! Cases of opening: one envelope after the other, or a backlog at once.

use core::hint::black_box;
use std::thread;

use endseal_envelope::{Opener, Policy};

use super::{CONTEXT, Material, failed};
use crate::clock::{Elapsed, time, time_threads};
use crate::subject::{Checked, Prepared, SubjectError};

/// Opens one envelope after the other.
pub(super) struct Open {
    pub(super) material: Material,
    pub(super) envelopes: Vec<Vec<u8>>,
    pub(super) next: usize,
}

impl Prepared for Open {
    fn check(&mut self) -> Result<Checked, SubjectError> {
        self.material.check()
    }

    fn is_in_process(&self) -> bool {
        true
    }

    fn run(&mut self, iterations: u32) -> Result<Elapsed, SubjectError> {
        let opener = Opener::new(&self.material.reader, CONTEXT);
        let inputs = self.envelopes.iter().cycle().skip(self.next).take(iterations as usize);
        let mut outcome = Ok(());
        let elapsed = time(|| {
            for envelope in inputs {
                let opened = opener.open(envelope, &mut Policy::new());
                outcome = outcome.and(black_box(opened).map(drop));
            }
        });
        self.next = (self.next + iterations as usize) % self.envelopes.len();
        outcome.map_err(failed)?;
        Ok(elapsed)
    }
}

/// Opens a backlog of `count` envelopes that is divided among threads. The threads start and end
/// within the measured time.
pub(super) struct OpenMany {
    pub(super) material: Material,
    pub(super) envelopes: Vec<Vec<u8>>,
    pub(super) count: usize,
    pub(super) threads: usize,
    pub(super) next: usize,
}

impl Prepared for OpenMany {
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
        let sets = self.envelopes.len() - self.count + 1;
        let (start, mut outcome) = (self.next, Ok(()));
        let elapsed = time_threads(|| {
            outcome = (0..iterations as usize).try_for_each(|i| self.backlog((start + i) % sets));
        });
        self.next = (start + iterations as usize) % sets;
        outcome?;
        Ok(elapsed)
    }
}

impl OpenMany {
    fn backlog(&self, from: usize) -> Result<(), SubjectError> {
        let backlog: Vec<_> =
            self.envelopes[from..from + self.count].iter().map(|envelope| &envelope[..]).collect();
        let open = |share: &[&[u8]]| {
            let opener = Opener::new(&self.material.reader, CONTEXT);
            let opened = black_box(opener.open_many(share, &mut Policy::new()));
            opened.iter().all(Result::is_ok)
        };
        let mut shares = backlog.chunks(self.count.div_ceil(self.threads));
        let all = thread::scope(|scope| {
            let own = shares.next().unwrap_or_default();
            let others: Vec<_> = shares.map(|share| scope.spawn(move || open(share))).collect();
            // This thread works too.
            let opened = open(own);
            others.into_iter().fold(opened, |all, other| all & other.join().unwrap_or(false))
        });
        if all { Ok(()) } else { Err(failed("an envelope did not open")) }
    }
}
