//! Noise floor of a class of cases: the difference that our subject seems to have from itself.

use std::time::Instant;

use crate::batch::Batch;
use crate::case::{INPUTS, MIN_ROUNDS, OURS};
use crate::stats::median;
use crate::subject::{Subject, SubjectError};
use crate::suite::{Case, Extent, Suite};

/// Number of preparations that are compared.
const PREPARATIONS: usize = 7;
/// Factor from the median distance of a normal distribution to its standard deviation.
const DEVIATIONS: f64 = 1.4826;

/// Returns the noise floor of a case, or `None` if our subject does not support the case.
pub(crate) fn floor(case: &Case, extent: Extent, subjects: &mut [Box<dyn Subject>]) -> Option<f64> {
    let ours = |subject: &&mut Box<dyn Subject>| {
        let info = subject.info();
        info.subject == OURS && info.suite.as_deref().is_none_or(|suite| suite == case.suite)
    };
    of_case(subjects.iter_mut().find(ours)?.as_mut(), case, extent)
}

/// Returns twice the standard deviation of the preparations' times, relative to their median: 95 of
/// 100 preparations are nearer to it. The estimate is the median distance, which one disturbed
/// preparation does not move.
///
/// Rounds of one preparation agree with each other more than two runs do: keys, inputs and memory
/// are the same in all of them. So the same work is prepared again each time. The preparations
/// follow each other at once, so that the machine's speed is nearly the same.
fn of_case(subject: &mut dyn Subject, case: &Case, extent: Extent) -> Option<f64> {
    let mut times = Vec::new();
    for _ in 0..PREPARATIONS {
        times.push(once(subject, case, extent).ok()??);
    }
    let middle = median(&times)?;
    let distances: Vec<_> = times.iter().map(|time| (time / middle - 1.0).abs()).collect();
    median(&distances).map(|distance| 2.0 * DEVIATIONS * distance)
}

#[allow(clippy::cast_precision_loss, reason = "a small number")]
fn once(
    subject: &mut dyn Subject,
    case: &Case,
    extent: Extent,
) -> Result<Option<f64>, SubjectError> {
    let mut prepared = subject.prepare(case.case, &case.params, INPUTS)?;
    let batch = Batch::find(&mut *prepared)?;
    let (start, limit) = (Instant::now(), extent.seconds_a_case() / PREPARATIONS as f64);
    // For long iterations the few rounds of a quick run are enough.
    let few = Suite::find(case.suite)
        .map_or(usize::MAX, |suite| *(suite.rounds)(Extent::Quick, case).end());
    let mut times = Vec::new();
    while times.len() < extent.rounds().min(few)
        && (times.len() < MIN_ROUNDS || start.elapsed().as_secs_f64() < limit)
    {
        times.push(batch.run(&mut *prepared)?.wall_ns);
    }
    Ok(median(&times))
}
