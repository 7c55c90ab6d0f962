//! The run: subjects take turns in shuffled rounds of short batches.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::allocation;
use crate::batch::Batch;
use crate::calibration;
use crate::clock::Elapsed;
use crate::environment::{CpuTimes, Environment};
use crate::growth;
use crate::record::{Params, Ratio, Record, Row, SCHEMA, Skip, SubjectInfo};
use crate::stats::{Shuffler, estimate};
use crate::subject::{Prepared, Subject, SubjectError};
use crate::suite::{Case, Extent};

/// Inputs of a case that take turns.
const INPUTS: u32 = 16;
/// Fewer rounds give no interval worth its name.
const MIN_ROUNDS: usize = 5;
/// The subject that others are compared with.
pub const OURS: &str = "endseal";

/// What a run reports while it goes on.
pub trait Observer {
    /// Case `index` of `total` begins.
    fn case(&mut self, index: usize, total: usize, what: &str);

    /// What is known so far, after every case; a copy can be kept in case the run is interrupted.
    fn partial(&mut self, record: &Record);
}

/// Runs `cases` on `subjects`. `skipped` are those that could not be started.
pub fn run(
    cases: &[Case],
    extent: Extent,
    subjects: &mut [Box<dyn Subject>],
    skipped: Vec<Skip>,
    observer: &mut dyn Observer,
) -> Record {
    let start = CpuTimes::now();
    let mut record = Record {
        schema: SCHEMA.into(),
        complete: false,
        extent: extent.name().into(),
        environment: Environment::capture(now()),
        noise_floor: None,
        drift: None,
        subjects: subjects.iter().map(|subject| subject.info().clone()).collect(),
        rows: Vec::new(),
        ratios: Vec::new(),
        growth: Vec::new(),
        skipped,
    };
    let mut shuffler = Shuffler::new(now());
    let mut calibrations = vec![calibration::measure()];
    record.noise_floor = noise_floor(subjects, extent, &mut shuffler);
    for (index, case) in cases.iter().enumerate() {
        observer.case(index, cases.len(), &describe(case));
        run_case(case, extent, subjects, &mut shuffler, &mut record);
        calibrations.push(calibration::measure());
        record.drift = calibration::drift(&calibrations);
        record.environment.finish(now(), &start);
        observer.partial(&record);
    }
    record.growth = growth::fit(&record.rows, &mut shuffler);
    record.complete = true;
    record
}

/// A case in words.
fn describe(case: &Case) -> String {
    let params: Vec<_> =
        case.params.iter().map(|(name, value)| format!("{value} {name}")).collect();
    format!("{} {}: {}", case.suite, case.case, params.join(", "))
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// How far our subject seems to differ from itself: half the interval of its ratio, or the ratio's
/// distance from 1, whichever is larger.
fn noise_floor(
    subjects: &mut [Box<dyn Subject>],
    extent: Extent,
    shuffler: &mut Shuffler,
) -> Option<f64> {
    let ours = subjects.iter_mut().find(|subject| subject.info().subject == OURS)?;
    let params = Params::from([("members".into(), 10), ("bytes".into(), 1024)]);
    // One preparation, timed under two names: the same code on the same data.
    let mut prepared = ours.prepare("seal", &params, INPUTS).ok()?;
    let batch = Batch::find(&mut *prepared).ok()?;
    let mut ratios = Vec::new();
    for _ in 0..extent.rounds() {
        let first = batch.run(&mut *prepared).ok()?.wall_ns;
        let second = batch.run(&mut *prepared).ok()?.wall_ns;
        // Which of the two is called A is drawn, so that an order effect shows as noise.
        ratios.push(if shuffler.index(2) == 0 { first / second } else { second / first });
    }
    let estimate = estimate(&ratios, shuffler)?;
    Some((estimate.ci95[1] - 1.0).abs().max((1.0 - estimate.ci95[0]).abs()))
}

/// A subject in a case, with its samples.
struct Runner<'a> {
    info: SubjectInfo,
    prepared: Box<dyn Prepared + 'a>,
    batch: Batch,
    samples: Vec<Elapsed>,
}

fn run_case(
    case: &Case,
    extent: Extent,
    subjects: &mut [Box<dyn Subject>],
    shuffler: &mut Shuffler,
    record: &mut Record,
) {
    let mut runners = Vec::new();
    for subject in subjects {
        let info = subject.info().clone();
        match begin(subject.as_mut(), case, info.clone(), record) {
            Ok(runner) => runners.push(runner),
            // Not every subject has every case; that is no news.
            Err(SubjectError::Unsupported(_)) => {}
            Err(error) => {
                record.skipped.push(Skip::new(
                    format!("{} in {}", info.subject, describe(case)),
                    error.to_string(),
                ));
            }
        }
    }
    rounds(&mut runners, extent, shuffler, case, record);
    for runner in &mut runners {
        time_rows(runner, case, shuffler, record);
        allocation_rows(runner, case, record);
    }
    ratios(&runners, case, shuffler, record);
}

/// Prepares, checks and calibrates; a subject whose results are wrong is not timed.
fn begin<'a>(
    subject: &'a mut dyn Subject,
    case: &Case,
    info: SubjectInfo,
    record: &mut Record,
) -> Result<Runner<'a>, SubjectError> {
    let mut prepared = subject.prepare(case.case, &case.params, INPUTS)?;
    let checked = prepared.check()?;
    if let Some(objection) = checked.objection() {
        return Err(SubjectError::Failed(objection.into()));
    }
    if let (Some(bytes), "seal") = (checked.sealed_bytes, case.case) {
        #[allow(clippy::cast_precision_loss, reason = "a length in memory")]
        let bytes = bytes as f64;
        record.rows.push(row(case, &info.subject, "size", "B", bytes, [bytes, bytes], 1));
    }
    let batch = Batch::find(&mut *prepared)?;
    Ok(Runner { info, prepared, batch, samples: Vec::new() })
}

fn rounds(
    runners: &mut Vec<Runner<'_>>,
    extent: Extent,
    shuffler: &mut Shuffler,
    case: &Case,
    record: &mut Record,
) {
    let start = Instant::now();
    for round in 0..extent.rounds() {
        if round >= MIN_ROUNDS && start.elapsed().as_secs_f64() > extent.seconds_a_case() {
            return;
        }
        let mut order: Vec<_> = (0..runners.len()).collect();
        shuffler.shuffle(&mut order);
        let mut failed = Vec::new();
        for index in order {
            let runner = &mut runners[index];
            match runner.batch.run(&mut *runner.prepared) {
                Ok(elapsed) => runner.samples.push(elapsed),
                Err(error) => failed.push((index, error)),
            }
        }
        failed.sort_by_key(|(index, _)| core::cmp::Reverse(*index));
        for (index, error) in failed {
            // Its row is gone for this case; the others go on.
            let runner = runners.remove(index);
            let who = format!("{} in {}", runner.info.subject, describe(case));
            record.skipped.push(Skip::new(who, error.to_string()));
        }
    }
}

fn time_rows(runner: &Runner<'_>, case: &Case, shuffler: &mut Shuffler, record: &mut Record) {
    let subject = &runner.info.subject;
    let wall: Vec<_> = runner.samples.iter().map(|sample| sample.wall_ns).collect();
    let cpu: Option<Vec<_>> = runner.samples.iter().map(|sample| sample.cpu_ns).collect();
    for (metric, samples) in [("time", Some(wall)), ("cpu", cpu)] {
        if let Some(estimate) = samples.and_then(|samples| estimate(&samples, shuffler)) {
            let (median, ci95, n) = (estimate.median, estimate.ci95, estimate.n);
            record.rows.push(row(case, subject, metric, "ns", median, ci95, n));
        }
    }
}

/// Counted apart from time, in one iteration.
fn allocation_rows(runner: &mut Runner<'_>, case: &Case, record: &mut Record) {
    if !runner.prepared.is_in_process() {
        return;
    }
    let mut outcome = Ok(Elapsed::default());
    let counted = allocation::measure(|| outcome = runner.prepared.run(1));
    if outcome.is_err() || counted.calls == 0 {
        return;
    }
    for (metric, unit, value) in
        [("allocations", "1", counted.calls), ("heap-peak", "B", counted.peak)]
    {
        #[allow(clippy::cast_precision_loss, reason = "a length in memory")]
        let value = value as f64;
        let subject = &runner.info.subject;
        record.rows.push(row(case, subject, metric, unit, value, [value, value], 1));
    }
}

/// Our subject against every other, and every other of ours against its default form.
fn ratios(runners: &[Runner<'_>], case: &Case, shuffler: &mut Shuffler, record: &mut Record) {
    let Some(ours) = runners.iter().find(|runner| runner.info.subject == OURS) else { return };
    for other in runners.iter().filter(|other| other.info.subject != OURS) {
        // A failed subject was removed, so that sample i of both is of round i.
        let paired: Vec<_> = ours
            .samples
            .iter()
            .zip(&other.samples)
            .map(|(ours, other)| other.wall_ns / ours.wall_ns)
            .collect();
        if let Some(estimate) = estimate(&paired, shuffler) {
            record.ratios.push(Ratio {
                suite: case.suite.into(),
                case: case.case.into(),
                params: case.params.clone(),
                subject: OURS.into(),
                against: other.info.subject.clone(),
                median: estimate.median,
                ci95: estimate.ci95,
            });
        }
    }
}

fn row(
    case: &Case,
    subject: &str,
    metric: &str,
    unit: &str,
    median: f64,
    ci95: [f64; 2],
    n: usize,
) -> Row {
    Row {
        suite: case.suite.into(),
        case: case.case.into(),
        params: case.params.clone(),
        subject: subject.into(),
        metric: metric.into(),
        unit: unit.into(),
        median,
        ci95,
        n,
    }
}
