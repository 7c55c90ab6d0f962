//! The timed work: envelopes are sealed or opened, one after the other or many at once.

use core::hint::black_box;
use std::thread;

use endseal_crypto::random::OsRandom;
use endseal_envelope::{Opener, Policy};

use super::{CONTEXT, Material};
use crate::clock::{Elapsed, time, time_threads};
use crate::subject::{Checked, Failure, Prepared};

/// Seals `count` contents or opens `count` envelopes in each iteration, divided among threads. The
/// threads start and end within the measured time, as for a caller without a thread pool.
pub(super) struct Work {
    pub(super) material: Material,
    /// Envelopes to be opened; empty if contents are sealed.
    pub(super) envelopes: Vec<Vec<u8>>,
    pub(super) count: usize,
    pub(super) threads: usize,
    pub(super) next: usize,
}

impl Work {
    fn inputs(&self) -> &[Vec<u8>] {
        if self.envelopes.is_empty() { &self.material.contents } else { &self.envelopes }
    }

    /// Processes one iteration's inputs from `from` on.
    fn iterate(&self, from: usize) -> Result<(), Failure> {
        let inputs = &self.inputs()[from..from + self.count];
        if self.threads == 1 {
            return self.share(inputs);
        }
        let mut shares = inputs.chunks(self.count.div_ceil(self.threads));
        thread::scope(|scope| {
            // This thread works too.
            let own = shares.next().unwrap_or_default();
            let others: Vec<_> =
                shares.map(|share| scope.spawn(move || self.share(share))).collect();
            others.into_iter().fold(self.share(own), |outcome, other| {
                outcome.and(other.join().unwrap_or_else(|_| Err("a thread panicked".into())))
            })
        })
    }

    fn share(&self, inputs: &[Vec<u8>]) -> Result<(), Failure> {
        if self.envelopes.is_empty() {
            let sealer = self.material.sealer();
            for content in inputs {
                drop(black_box(sealer.seal(content, &mut OsRandom)?));
            }
            return Ok(());
        }
        let opener = Opener::new(&self.material.reader, CONTEXT);
        if let [envelope] = inputs {
            let opened = opener.open(envelope, &mut Policy::new());
            return Ok(black_box(opened).map(drop)?);
        }
        let envelopes: Vec<&[u8]> = inputs.iter().map(|envelope| &envelope[..]).collect();
        let opened = black_box(opener.open_many(&envelopes, &mut Policy::new()));
        let all = opened.iter().all(Result::is_ok);
        if all { Ok(()) } else { Err("an envelope did not open".into()) }
    }
}

impl Prepared for Work {
    fn check(&mut self) -> Result<Checked, Failure> {
        self.material.check()
    }

    fn is_in_process(&self) -> bool {
        true
    }

    fn threads(&self) -> usize {
        self.threads
    }

    fn run(&mut self, iterations: u32) -> Result<Elapsed, Failure> {
        let sets = self.inputs().len() - self.count + 1;
        let start = self.next;
        let mut outcome = Ok(());
        let work = || {
            outcome = (0..iterations as usize).try_for_each(|i| self.iterate((start + i) % sets));
        };
        let elapsed = if self.threads == 1 { time(work) } else { time_threads(work) };
        self.next = (start + iterations as usize) % sets;
        outcome.map(|()| elapsed)
    }
}
