//! The run: subjects are measured one after the other, in shuffled rounds of short batches.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::batch::Batch;
use crate::calibration;
use crate::case::{Case, INPUTS};
use crate::environment::{CpuTimes, Environment};
use crate::noise;
use crate::record::{Arguments, Record, SCHEMA, Skip};
use crate::rows::{self, Measured};
use crate::stats::{SplitMix64, median};
use crate::subject::{Failure, Subject, SubjectError};
use crate::suite::{Extent, Suite};

/// Number of lost processes after which a subject is left out of the rest of the run.
const MOST_LOSSES: usize = 2;

/// The cases to be measured, with the extent and the arguments of the run.
#[derive(Clone, Debug)]
#[allow(clippy::exhaustive_structs, reason = "the arguments of `run`")]
pub struct Plan {
    /// Cases in the order in which they are measured.
    pub cases: Vec<Case>,
    /// Extent of the run.
    pub extent: Extent,
    /// Arguments of the run, for the record.
    pub arguments: Arguments,
}

/// Measures all cases of a plan on `subjects`. `skipped` are subjects that could not be started.
/// `observe` is called before each case with its index and the record so far, so that a copy can be
/// kept in case the run is interrupted. `Break` ends the run: its figures could not be kept.
pub fn run(
    plan: &Plan,
    subjects: &mut [Subject],
    skipped: Vec<Skip>,
    observe: &mut dyn FnMut(usize, &Record) -> ControlFlow<()>,
) -> Record {
    let start = CpuTimes::now();
    let record = Record {
        schema: SCHEMA.into(),
        extent: plan.extent.name().into(),
        arguments: plan.arguments.clone(),
        environment: Environment::capture(now()),
        calibrations: vec![calibration::measure()],
        subjects: subjects.iter().map(|subject| subject.info.clone()).collect(),
        skipped,
        ..Record::default()
    };
    let shuffler = SplitMix64::new(now());
    let mut run = Run { extent: plan.extent, shuffler, record, losses: BTreeMap::new() };
    for (index, case) in plan.cases.iter().enumerate() {
        if observe(index, &run.record).is_break() {
            return run.record;
        }
        if let Some(suite) = Suite::find(&case.suite) {
            run.noise_floor(suite, case, subjects);
            run.case(suite, case, subjects);
        }
        run.record.drift = calibration::drift(&run.record.calibrations);
        run.record.environment.finish(now(), &start);
    }
    run.record.complete = true;
    run.drop_foreign_suites();
    run.record
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// State of a run in progress.
struct Run {
    extent: Extent,
    shuffler: SplitMix64,
    record: Record,
    /// Number of times that the process of each subject was lost.
    losses: BTreeMap<String, usize>,
}

/// A subject in a case, with the size of its batch; `None` in a case that is not timed.
type Runner = (Measured, Option<Batch>);

impl Run {
    /// Measures the noise floor of the first case of each name.
    fn noise_floor(&mut self, suite: &Suite, case: &Case, subjects: &mut [Subject]) {
        let class = format!("{}/{}", case.suite, case.case);
        if suite.times(&case.case) && !self.record.noise_floors.contains_key(&class) {
            let floor = noise::floor(suite, case, self.extent, subjects);
            self.record.noise_floors.extend(floor.map(|floor| (class, floor)));
        }
    }

    fn case(&mut self, suite: &Suite, case: &Case, subjects: &mut [Subject]) {
        let mut runners = Vec::new();
        for subject in subjects {
            let name = subject.info.subject.clone();
            let elsewhere = subject.info.suite.as_deref().is_some_and(|it| it != case.suite);
            if elsewhere || self.losses.get(&name) >= Some(&MOST_LOSSES) {
                continue;
            }
            match begin(subject, suite, case) {
                Ok(runner) => runners.push(runner),
                Err(error) => self.failed(&name, case, error),
            }
        }
        let timed = runners.iter().any(|(_, batch)| batch.is_some());
        let kernel_ns = if timed { self.rounds(&mut runners, suite, case) } else { 0.0 };
        self.record.calibrations.extend(timed.then_some(kernel_ns));
        let mut measured: Vec<_> = runners.into_iter().map(|(measured, _)| measured).collect();
        for (name, error) in rows::rows(&mut measured, case, kernel_ns, &mut self.record) {
            self.failed(&name, case, error);
        }
        rows::ratios(&measured, suite, case, &mut self.record);
    }

    /// Measures all subjects in rounds. Returns the time of the calibration kernel, which is
    /// measured in each round.
    fn rounds(&mut self, runners: &mut Vec<Runner>, suite: &Suite, case: &Case) -> f64 {
        let start = Instant::now();
        let mut kernel = Vec::new();
        let rounds = suite.rounds(self.extent, case);
        for round in 0..self.extent.rounds().min(*rounds.end()) {
            let late = start.elapsed().as_secs_f64() > self.extent.seconds_a_case();
            if round >= *rounds.start() && late {
                break;
            }
            kernel.push(calibration::warm());
            let mut order: Vec<_> = (0..runners.len()).collect();
            self.shuffler.shuffle(&mut order);
            let mut failed = Vec::new();
            for index in order {
                let (measured, batch) = &mut runners[index];
                let Some(batch) = batch else { continue };
                match batch.run(&mut *measured.prepared) {
                    Ok(elapsed) => measured.samples.push(elapsed),
                    Err(error) => failed.push((index, error)),
                }
            }
            failed.sort_by_key(|(index, _)| core::cmp::Reverse(*index));
            for (index, error) in failed {
                // The subject has no row in this case; the others continue.
                let (measured, _) = runners.remove(index);
                self.failed(&measured.subject, case, error);
            }
        }
        median(&kernel).unwrap_or_default()
    }

    /// Records why a subject has no figure in a case.
    fn failed(&mut self, subject: &str, case: &Case, error: Failure) {
        let error = SubjectError::from(error);
        if let SubjectError::Unsupported(why) = &error {
            self.record.unsupported.push(Skip::new(subject, why).of_case(case));
            return;
        }
        self.record.skipped.push(Skip::new(subject, error.to_string()).of_case(case));
        if error.ended_process() {
            let losses = self.losses.entry(subject.to_owned()).or_default();
            *losses += 1;
            if *losses >= MOST_LOSSES {
                let why =
                    format!("left out of the rest of the run: its process was lost {losses} times");
                self.record.skipped.push(Skip::new(subject, why));
            }
        }
    }

    /// Removes entries of unsupported cases in suites of which the subject supports nothing, and
    /// subjects without any figure or failure.
    fn drop_foreign_suites(&mut self) {
        let Record { subjects, rows, skipped, unsupported, .. } = &mut self.record;
        unsupported.retain(|one| {
            let suite = one.suite.as_ref();
            rows.iter().any(|row| row.subject == one.subject && Some(&row.case.suite) == suite)
                || skipped.iter().any(|it| it.subject == one.subject && it.suite == one.suite)
        });
        subjects.retain(|info| {
            let one = &info.subject;
            rows.iter().any(|row| row.subject == *one)
                || skipped.iter().any(|it| it.subject == *one)
        });
    }
}

/// Prepares a case, checks its results and finds the batch. A subject with wrong results is not
/// timed.
fn begin(subject: &mut Subject, suite: &Suite, case: &Case) -> Result<Runner, Failure> {
    let mut prepared = subject.prepare(case, INPUTS)?;
    let checked = prepared.check()?;
    if let Some(objection) = checked.objection() {
        return Err(objection.into());
    }
    let timed = suite.times(&case.case);
    let batch = if timed { Some(Batch::find(&mut *prepared)?) } else { None };
    let size = checked.sealed_bytes.filter(|_| suite.sized.contains(&case.case));
    let subject = subject.info.subject.clone();
    Ok((Measured { subject, prepared, size, samples: Vec::new() }, batch))
}
