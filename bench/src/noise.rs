//! Noise floor of a class of cases: the difference that our subject seems to have from itself.

use std::time::Instant;

use crate::batch::Batch;
use crate::case::{Case, INPUTS, MIN_ROUNDS, OURS};
use crate::stats::median;
use crate::subject::{Failure, Subject};
use crate::suite::{Extent, Suite};

/// Number of preparations that are compared.
const PREPARATIONS: u32 = 7;
/// Factor from the median distance of a normal distribution to its standard deviation.
const DEVIATIONS: f64 = 1.4826;

/// Returns the noise floor of a case, or `None` if our subject does not support the case: twice the
/// standard deviation of the preparations' times, relative to their median. 95 of 100 preparations
/// are nearer to it. The estimate is the median distance, which one disturbed preparation does not
/// move.
///
/// Rounds of one preparation agree with each other more than two runs do: keys, inputs and memory
/// are the same in all of them. So the same work is prepared again each time. The preparations
/// follow each other at once, so that the machine's speed is nearly the same.
pub(crate) fn floor(
    suite: &Suite,
    case: &Case,
    extent: Extent,
    subjects: &mut [Subject],
) -> Option<f64> {
    let ours = |subject: &&mut Subject| {
        let info = &subject.info;
        info.subject == OURS && info.suite.as_deref().is_none_or(|name| name == suite.name)
    };
    let subject = subjects.iter_mut().find(ours)?;
    // For long iterations the few rounds of a quick run are enough.
    let rounds = extent.rounds().min(*suite.rounds(Extent::Quick, case).end());
    let limit = extent.seconds_a_case() / f64::from(PREPARATIONS);
    let times = (0..PREPARATIONS).map(|_| once(subject, case, rounds, limit).ok().flatten());
    let times: Vec<f64> = times.collect::<Option<_>>()?;
    let middle = median(&times)?;
    let distances: Vec<_> = times.iter().map(|time| (time / middle - 1.0).abs()).collect();
    median(&distances).map(|distance| 2.0 * DEVIATIONS * distance)
}

/// Returns the median time of a new preparation, of at most so many rounds and seconds.
fn once(
    subject: &mut Subject,
    case: &Case,
    rounds: usize,
    limit: f64,
) -> Result<Option<f64>, Failure> {
    let mut prepared = subject.prepare(case, INPUTS)?;
    let batch = Batch::find(&mut *prepared)?;
    let start = Instant::now();
    let mut times = Vec::new();
    while times.len() < rounds
        && (times.len() < MIN_ROUNDS || start.elapsed().as_secs_f64() < limit)
    {
        times.push(batch.run(&mut *prepared)?.wall_ns);
    }
    Ok(median(&times))
}
