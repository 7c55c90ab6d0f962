//! The run: subjects are measured one after the other, in shuffled rounds of short batches.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::batch::Batch;
use crate::calibration;
pub use crate::case::OURS;
use crate::case::{INPUTS, MIN_ROUNDS};
use crate::clock::Elapsed;
use crate::environment::{CpuTimes, Environment};
use crate::noise;
use crate::record::{Arguments, Record, SCHEMA, Skip, SubjectInfo};
use crate::rows::{self, Measured};
use crate::stats::{Shuffler, median};
use crate::subject::{Prepared, Subject, SubjectError};
use crate::suite::{Case, Extent, Suite};

/// Number of lost processes after which a subject is left out of the rest of the run.
const MOST_LOSSES: usize = 2;
/// Observer of a run in progress.
pub trait Observer {
    /// Called before case `index` of `total` is measured; `what` describes it for people.
    fn case(&mut self, index: usize, total: usize, what: &str);

    /// Receives the record so far, after every case, so that a copy can be kept in case the run is
    /// interrupted. `Break` ends the run, because its figures could not be kept.
    fn partial(&mut self, record: &Record) -> ControlFlow<()>;
}

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
pub fn run(
    plan: &Plan,
    subjects: &mut [Box<dyn Subject>],
    skipped: Vec<Skip>,
    observer: &mut dyn Observer,
) -> Record {
    let start = CpuTimes::now();
    let environment = Environment::capture(now());
    let calibrations = vec![calibration::measure()];
    let record = Record {
        schema: SCHEMA.into(),
        complete: false,
        extent: plan.extent.name().into(),
        arguments: plan.arguments.clone(),
        environment,
        noise_floors: BTreeMap::new(),
        drift: None,
        calibrations,
        subjects: subjects.iter().map(|subject| subject.info().clone()).collect(),
        rows: Vec::new(),
        ratios: Vec::new(),
        skipped,
        unsupported: Vec::new(),
        ..Record::default()
    };
    let shuffler = Shuffler::new(now());
    let mut run = Run { extent: plan.extent, shuffler, record, losses: BTreeMap::new() };
    for (index, case) in plan.cases.iter().enumerate() {
        observer.case(index, plan.cases.len(), &case.describe());
        run.noise_floor(case, subjects);
        run.case(case, subjects);
        run.record.drift = calibration::drift(&run.record.calibrations);
        run.record.environment.finish(now(), &start);
        if observer.partial(&run.record).is_break() {
            return run.record;
        }
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
    shuffler: Shuffler,
    record: Record,
    /// Number of times that the process of each subject was lost.
    losses: BTreeMap<String, usize>,
}

/// A subject in a case, with its samples.
struct Runner<'a> {
    info: SubjectInfo,
    prepared: Box<dyn Prepared + 'a>,
    /// Size of a batch; `None` in a case that is not timed.
    batch: Option<Batch>,
    size: Option<u64>,
    samples: Vec<Elapsed>,
}

impl Run {
    /// Measures the noise floor of the first case of each name.
    fn noise_floor(&mut self, case: &Case, subjects: &mut [Box<dyn Subject>]) {
        let untimed = Suite::find(case.suite).is_some_and(|it| it.untimed.contains(&case.case));
        let class = format!("{}/{}", case.suite, case.case);
        if !untimed && !self.record.noise_floors.contains_key(&class) {
            let floor = noise::floor(case, self.extent, subjects);
            self.record.noise_floors.extend(floor.map(|floor| (class, floor)));
        }
    }

    fn case(&mut self, case: &Case, subjects: &mut [Box<dyn Subject>]) {
        let mut runners = Vec::new();
        for subject in subjects {
            let info = subject.info().clone();
            let elsewhere = info.suite.as_deref().is_some_and(|suite| suite != case.suite);
            if elsewhere || self.losses.get(&info.subject) >= Some(&MOST_LOSSES) {
                continue;
            }
            match begin(subject.as_mut(), case, info.clone()) {
                Ok(runner) => runners.push(runner),
                Err(error) => self.failed(&info.subject, case, &error),
            }
        }
        let timed = runners.iter().any(|runner| runner.batch.is_some());
        let kernel_ns = if timed { self.rounds(&mut runners, case) } else { 0.0 };
        self.record.calibrations.extend(timed.then_some(kernel_ns));
        let measured = runners.into_iter().map(|runner| Measured {
            subject: runner.info.subject,
            prepared: runner.prepared,
            size: runner.size,
            samples: runner.samples,
        });
        let mut measured: Vec<_> = measured.collect();
        for error in rows::rows(&mut measured, case, kernel_ns, &mut self.record) {
            self.failed(&error.0, case, &error.1);
        }
        rows::ratios(&measured, case, &mut self.record);
    }

    /// Measures all subjects in rounds. Returns the time of the calibration kernel, which is
    /// measured in each round.
    fn rounds(&mut self, runners: &mut Vec<Runner<'_>>, case: &Case) -> f64 {
        let start = Instant::now();
        let mut kernel = Vec::new();
        let rounds = Suite::find(case.suite)
            .map_or(MIN_ROUNDS..=usize::MAX, |suite| (suite.rounds)(self.extent, case));
        for round in 0..self.extent.rounds().min(*rounds.end()) {
            if round >= *rounds.start()
                && start.elapsed().as_secs_f64() > self.extent.seconds_a_case()
            {
                break;
            }
            kernel.push(calibration::warm());
            let mut order: Vec<_> = (0..runners.len()).collect();
            self.shuffler.shuffle(&mut order);
            let mut failed = Vec::new();
            for index in order {
                let runner = &mut runners[index];
                let Some(batch) = runner.batch else { continue };
                match batch.run(&mut *runner.prepared) {
                    Ok(elapsed) => runner.samples.push(elapsed),
                    Err(error) => failed.push((index, error)),
                }
            }
            failed.sort_by_key(|(index, _)| core::cmp::Reverse(*index));
            for (index, error) in failed {
                // The subject has no row in this case; the others continue.
                let runner = runners.remove(index);
                self.failed(&runner.info.subject, case, &error);
            }
        }
        median(&kernel).unwrap_or_default()
    }

    /// Records why a subject has no figure in a case.
    fn failed(&mut self, subject: &str, case: &Case, error: &SubjectError) {
        if let SubjectError::Unsupported(why) = error {
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
            rows.iter()
                .any(|row| row.subject == one.subject && Some(&row.suite) == one.suite.as_ref())
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
fn begin<'a>(
    subject: &'a mut dyn Subject,
    case: &Case,
    info: SubjectInfo,
) -> Result<Runner<'a>, SubjectError> {
    let mut prepared = subject.prepare(case.case, &case.params, INPUTS)?;
    let checked = prepared.check()?;
    if let Some(objection) = checked.objection() {
        return Err(SubjectError::Failed(objection.into()));
    }
    let suite = Suite::find(case.suite);
    let sized = suite.is_some_and(|suite| suite.sized.contains(&case.case));
    let size = checked.sealed_bytes.filter(|_| sized);
    let untimed = suite.is_some_and(|suite| suite.untimed.contains(&case.case));
    let batch = if untimed { None } else { Some(Batch::find(&mut *prepared)?) };
    Ok(Runner { info, prepared, batch, size, samples: Vec::new() })
}
