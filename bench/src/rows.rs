//! Computes the rows and ratios of the record from the samples of a case.

use crate::allocation;
use crate::case::Case;
use crate::clock::Elapsed;
use crate::record::{Ratio, Record, Row};
use crate::stats::{Estimate, estimate};
use crate::subject::{Extra, Failure, Prepared};
use crate::suite::Suite;

/// A subject in a case, with its samples.
pub(crate) struct Measured {
    pub(crate) subject: String,
    pub(crate) prepared: Box<dyn Prepared>,
    /// Exact length of an output, if the suite has a row for it in this case.
    pub(crate) size: Option<u64>,
    /// Times of one iteration, by round.
    pub(crate) samples: Vec<Elapsed>,
}

/// Adds the rows of all subjects. Returns the subjects whose own figures failed.
pub(crate) fn rows(
    measured: &mut [Measured],
    case: &Case,
    kernel_ns: f64,
    record: &mut Record,
) -> Vec<(String, Failure)> {
    let mut failed = Vec::new();
    let floor = record.noise_floor_of(case).unwrap_or_default();
    for one in measured {
        let threads = Some(one.prepared.threads()).filter(|threads| *threads > 1);
        let blank = Row { case: case.clone(), subject: one.subject.clone(), ..Row::default() };
        if let Some(bytes) = one.size {
            #[allow(clippy::cast_precision_loss, reason = "a length in memory")]
            record.rows.push(estimated(&blank, "size", "B", Estimate::exact(bytes as f64)));
        }
        let wall: Vec<_> = one.samples.iter().map(|sample| sample.wall_ns).collect();
        let cpu: Option<Vec<_>> = one.samples.iter().map(|sample| sample.cpu_ns).collect();
        for (metric, samples) in [("time", Some(wall)), ("cpu", cpu)] {
            let Some(samples) = samples else { continue };
            if let Some(found) = estimate(&samples) {
                let row = estimated(&blank, metric, "ns", found.widened(floor));
                let samples = samples.into_iter().map(three_digits).collect();
                record.rows.push(Row { kernel_ns: Some(kernel_ns), threads, samples, ..row });
            }
        }
        record.rows.extend(allocations(&mut *one.prepared, &blank));
        match one.prepared.extra() {
            Ok(found) => {
                record.rows.extend(found.iter().filter_map(|it| extra(&blank, it, floor)));
            }
            Err(error) => failed.push((one.subject.clone(), error)),
        }
    }
    failed
}

/// Counts the allocations of one iteration, apart from its time.
fn allocations(prepared: &mut dyn Prepared, blank: &Row) -> Vec<Row> {
    if !prepared.is_in_process() {
        return Vec::new();
    }
    let mut outcome = Ok(Elapsed::default());
    let counted = allocation::measure(|| outcome = prepared.run(1));
    if outcome.is_err() || !allocation::is_counted() {
        return Vec::new();
    }
    let both = [("allocations", "1", counted.calls), ("heap-peak", "B", counted.peak)];
    #[allow(clippy::cast_precision_loss, reason = "a length in memory")]
    both.map(|(metric, unit, value)| estimated(blank, metric, unit, Estimate::exact(value as f64)))
        .into()
}

fn extra(blank: &Row, extra: &Extra, floor: f64) -> Option<Row> {
    let row = match extra.samples[..] {
        // A single value is exact, such as a number of bytes, unless it is a time.
        [value] if extra.unit != "ns" => {
            estimated(blank, extra.metric, extra.unit, Estimate::exact(value))
        }
        _ => {
            let found = estimate(&extra.samples)?.widened(floor);
            let samples = extra.samples.iter().copied().map(three_digits).collect();
            Row { samples, ..estimated(blank, extra.metric, extra.unit, found) }
        }
    };
    Some(Row { better: extra.better, ..row })
}

/// Rounds a sample to three digits, as many as are printed, which halves the size of the record.
fn three_digits(sample: f64) -> f64 {
    format!("{sample:.2e}").parse().unwrap_or(sample)
}

fn estimated(blank: &Row, metric: &str, unit: &str, found: Estimate) -> Row {
    let Estimate { median, ci95, n, .. } = found;
    Row { metric: metric.into(), unit: unit.into(), median, ci95, n, ..blank.clone() }
}

/// Adds the ratios of our compared subjects to every other subject, each pair once.
pub(crate) fn ratios(measured: &[Measured], suite: &Suite, case: &Case, record: &mut Record) {
    let floor = record.noise_floor_of(case).unwrap_or_default();
    for (i, name) in suite.compared.iter().enumerate() {
        let Some(ours) = measured.iter().find(|one| one.subject == *name) else { continue };
        let others = measured.iter().filter(|one| !suite.compared[..=i].contains(&one.subject));
        for other in others {
            // Failed subjects were removed, so sample i of both is from round i.
            let pairs = ours.samples.iter().zip(&other.samples);
            let paired: Vec<_> = pairs.map(|(ours, other)| other.wall_ns / ours.wall_ns).collect();
            let Some(found) = estimate(&paired) else { continue };
            let found = found.widened(floor * core::f64::consts::SQRT_2);
            record.ratios.push(Ratio {
                case: case.clone(),
                subject: ours.subject.clone(),
                against: other.subject.clone(),
                clock: "wall".into(),
                median: found.median,
                ci95: found.ci95,
            });
        }
    }
}
