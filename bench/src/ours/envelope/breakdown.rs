//! The steps of sealing and of opening, each timed on its own.

use core::hint::black_box;
use std::collections::BTreeMap;
use std::time::Instant;

use endseal_crypto::ed25519;
use endseal_crypto::random::OsRandom;
use endseal_envelope::steps::Step;
use endseal_envelope::{Opener, Policy};

use super::{CONTEXT, Material, failed};
use crate::clock::{Elapsed, time};
use crate::record::Better;
use crate::subject::{Checked, Extra, Prepared, SubjectError};

/// Number of measurements of each step; the first ones are dropped.
const ROUNDS: usize = 60;
const WARM_UP: usize = 10;

/// Steps of sealing, each with its metric.
const SEAL: [(Step, &str); 7] = [
    (Step::Keys, "seal_keys"),
    (Step::Agreement, "seal_agreement"),
    (Step::Wrap, "seal_wrap"),
    (Step::Sort, "seal_sort"),
    (Step::Content, "seal_content"),
    (Step::Signature, "seal_signature"),
    (Step::Encoding, "seal_encoding"),
];
/// Steps of opening, each with its metric.
const OPEN: [(Step, &str); 5] = [
    (Step::Lookup, "open_lookup"),
    (Step::Agreement, "open_agreement"),
    (Step::Wrap, "open_wrap"),
    (Step::Content, "open_content"),
    (Step::Signature, "open_signature"),
];

/// The case `breakdown`. The harness times nothing; all figures are extra figures.
pub(super) struct Breakdown {
    pub(super) material: Material,
}

impl Prepared for Breakdown {
    fn check(&mut self) -> Result<Checked, SubjectError> {
        self.material.check()
    }

    fn run(&mut self, _: u32) -> Result<Elapsed, SubjectError> {
        Err(SubjectError::Unsupported("its steps are reported, not timed together".into()))
    }

    fn extra(&mut self) -> Result<Vec<Extra>, SubjectError> {
        let (sealer, mut found) = (self.material.sealer(), Samples::default());
        let keys: Vec<_> = self.material.recipients.keys().copied().collect();
        let contents = self.material.contents.iter().cycle();
        for (round, content) in contents.take(ROUNDS).enumerate() {
            found.dropped = round < WARM_UP;
            // A call before each measurement warms the caches again.
            drop(sealer.seal(content, &mut OsRandom).map_err(failed)?);
            found.whole("seal_total", || sealer.seal(content, &mut OsRandom).map_err(failed))?;
            let len = sealer.sealed_len(content.len() as u64).map_err(failed)?;
            let mut watch = Watch::start();
            let mut envelope = vec![0; usize::try_from(len).map_err(failed)?];
            watch.end_of(Step::Encoding);
            let mut mark = |step| watch.end_of(step);
            sealer.seal_marked(content, &mut envelope, &mut OsRandom, &mut mark).map_err(failed)?;
            found.steps(&SEAL, &watch);
            // Done once for a list of recipients, so it is not part of the total.
            found.whole("seal_conversion", || {
                Ok(ed25519::PublicKey::to_x25519_many(black_box(&keys)))
            })?;
            let (opener, policy) = (Opener::new(&self.material.reader, CONTEXT), Policy::new);
            let open = || opener.open(&envelope, &mut policy()).map_err(failed);
            drop(open()?);
            found.whole("open_total", open)?;
            let mut watch = Watch::start();
            let mut mark = |step| watch.end_of(step);
            let opened = opener.open_marked(&envelope, &mut policy(), &mut mark).map_err(failed)?;
            found.steps(&OPEN, &watch);
            drop(black_box(opened));
        }
        Ok(found.into_extra())
    }
}

/// Records the time of each step.
struct Watch {
    last: Instant,
    ns: BTreeMap<Step, f64>,
}

impl Watch {
    fn start() -> Self {
        // The nodes of the map are allocated before the clock runs.
        let ns = SEAL.iter().chain(&OPEN).map(|(step, _)| (*step, 0.0)).collect();
        Self { ns, last: Instant::now() }
    }

    fn end_of(&mut self, step: Step) {
        let spent = self.last.elapsed();
        *self.ns.entry(step).or_default() += spent.as_secs_f64() * 1e9;
        self.last = Instant::now();
    }
}

/// Samples by metric.
#[derive(Default)]
struct Samples {
    by_metric: BTreeMap<&'static str, Vec<f64>>,
    /// True while the round only warms up.
    dropped: bool,
}

impl Samples {
    fn add(&mut self, metric: &'static str, ns: f64) {
        if !self.dropped {
            self.by_metric.entry(metric).or_default().push(ns);
        }
    }

    fn steps(&mut self, names: &[(Step, &'static str)], watch: &Watch) {
        for (step, metric) in names {
            self.add(metric, watch.ns.get(step).copied().unwrap_or_default());
        }
    }

    fn whole<T>(
        &mut self,
        metric: &'static str,
        work: impl FnOnce() -> Result<T, SubjectError>,
    ) -> Result<(), SubjectError> {
        let mut outcome = Ok(());
        let elapsed = time(|| outcome = work().map(|done| drop(black_box(done))));
        self.add(metric, elapsed.wall_ns);
        outcome
    }

    fn into_extra(self) -> Vec<Extra> {
        let extra = |(metric, samples)| Extra { metric, unit: "ns", better: Better::Less, samples };
        self.by_metric.into_iter().map(extra).collect()
    }
}
