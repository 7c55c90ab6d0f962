//! Two runs side by side: what changed beyond the noise of both.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use crate::case::Case;
use crate::record::{Better, Ratio, Record, Row};
use crate::words::{self, tame};

/// Differences between two runs, with a verdict for each figure. [`compare`] creates it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Comparison {
    /// Largest noise floor of the two runs; `None` if one of them has none.
    pub noise_floor: Option<f64>,
    /// Other differences between the runs, in words: another machine, another build.
    pub circumstances: Vec<String>,
    /// Ratios and figures that both have, in the order of the first. A time is compared after
    /// division by the time of the calibration kernel, which removes the speed of the machine.
    pub rows: Vec<Compared>,
    /// Number of figures that only the first has.
    pub only_first: usize,
    /// Number of figures that only the second has.
    pub only_second: usize,
}

/// A figure that both runs have.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Compared {
    /// The case with its parameters.
    #[serde(flatten)]
    pub case: Case,
    /// Name of the subject; for a ratio both names.
    pub subject: String,
    /// Name of the metric as in [`Row`]; `ratio` for a ratio.
    pub metric: String,
    /// Unit of the metric as in [`Row`]; `×` for a ratio.
    pub unit: String,
    /// Median of the first run.
    pub first: f64,
    /// Median of the second run, as measured.
    pub second: f64,
    /// Second median divided by the first, after the speed of the machine was removed.
    pub ratio: f64,
    /// True if the two intervals overlap.
    pub overlap: bool,
    /// Conclusion from intervals and noise.
    pub verdict: Verdict,
}

/// The change of a figure from the first to the second run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Verdict {
    /// Less time or memory or fewer bytes, or a larger ratio or rate, beyond the noise of both.
    Better,
    /// The opposite of [`Self::Better`], beyond the noise of both runs.
    Worse,
    /// No difference that is larger than the noise.
    NoDifference,
    /// The intervals do not overlap, but a run has no noise floor, so that noise cannot be
    /// excluded.
    Undecided,
}

/// Returns a ratio in the form of a row.
fn of_ratio(ratio: &Ratio) -> Row {
    Row {
        case: ratio.case.clone(),
        subject: format!("{} / {}", ratio.subject, ratio.against),
        metric: "ratio".into(),
        unit: "×".into(),
        better: Better::More,
        median: ratio.median,
        ci95: ratio.ci95,
        // More than one: it is not exact.
        n: 2,
        ..Row::default()
    }
}

fn figures(record: &Record) -> Vec<Row> {
    record.ratios.iter().map(of_ratio).chain(record.rows.iter().cloned()).collect()
}

/// Compares every figure that both runs have, and lists other differences between them.
#[must_use]
pub fn compare(first: &Record, second: &Record) -> Comparison {
    let key = |row: &Row| (row.case.clone(), row.subject.clone(), row.metric.clone());
    let (ours, later) = (figures(first), figures(second));
    let by_key: BTreeMap<_, _> = later.iter().map(|row| (key(row), row)).collect();
    let both = ours.iter().filter_map(|row| Some((row, *by_key.get(&key(row))?)));
    let drift: f64 = [first.drift, second.drift].into_iter().flatten().map(f64::abs).sum();
    let allowed = |one: &Row, other: &Row| {
        if one.n <= 1 && other.n <= 1 {
            return Some(0.0);
        }
        let floors = [first, second].map(|it| it.noise_floor_of(&one.case));
        // Both sides of a ratio were measured at the same speed: no drift is in it.
        let drift = if one.metric == "ratio" { 0.0 } else { drift };
        floors[0].zip(floors[1]).map(|(a, b)| a.max(b) + drift)
    };
    let rows: Vec<Compared> =
        both.map(|(one, other)| compared(one, other, allowed(one, other))).collect();
    let largest = |record: &Record| record.noise_floors.values().copied().max_by(f64::total_cmp);
    Comparison {
        noise_floor: largest(first).zip(largest(second)).map(|(a, b)| a.max(b)),
        circumstances: circumstances(first, second),
        only_first: ours.len() - rows.len(),
        only_second: later.len().saturating_sub(rows.len()),
        rows,
    }
}

/// Compares two figures. `allowed` is the share that noise explains; `None` if it is unknown.
fn compared(first: &Row, second: &Row, allowed: Option<f64>) -> Compared {
    // A slower machine has a slower kernel: the second time at the speed of the first run.
    let kernels = [first, second].map(|row| row.kernel_ns.filter(|ns| *ns > 0.0));
    let speed = kernels[0].zip(kernels[1]).map_or(1.0, |(a, b)| a / b);
    let interval = |row: &Row| row.ci95.unwrap_or([row.median; 2]);
    let (a, b) = (first.median, second.median * speed);
    let [low, high] = interval(second).map(|bound| bound * speed);
    let overlap = interval(first)[0] <= high && low <= interval(first)[1];
    let verdict = match allowed {
        _ if overlap => Verdict::NoDifference,
        None => Verdict::Undecided,
        Some(share) if a.max(b) <= a.min(b) * (1.0 + share) => Verdict::NoDifference,
        Some(_) if (b < a) == first.better.is_less() => Verdict::Better,
        Some(_) => Verdict::Worse,
    };
    Compared {
        case: first.case.clone(),
        subject: first.subject.clone(),
        metric: first.metric.clone(),
        unit: first.unit.clone(),
        first: a,
        second: second.median,
        ratio: b / a,
        overlap,
        verdict,
    }
}

fn circumstances(first: &Record, second: &Record) -> Vec<String> {
    let (a, b) = (&first.environment, &second.environment);
    let pairs = [
        ("CPU", &a.cpu, &b.cpu),
        ("X25519", &a.x25519, &b.x25519),
        ("profile", &a.profile, &b.profile),
        ("link-time optimisation", &a.lto, &b.lto),
        ("kernel", &a.kernel, &b.kernel),
        ("endseal", &a.endseal, &b.endseal),
        ("commit", &a.commit, &b.commit),
    ];
    let differs = pairs.iter().filter(|(_, first, second)| first != second);
    let mut found: Vec<String> = differs
        .map(|(name, first, second)| format!("{name}: {} against {}", tame(first), tame(second)))
        .collect();
    for (which, record) in [("first", first), ("second", second)] {
        found.extend((!record.complete).then(|| format!("the {which} run is incomplete")));
    }
    found
}

impl Comparison {
    /// Returns the number of figures with that verdict.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        self.rows.iter().filter(|one| one.verdict == verdict).count()
    }

    /// Formats the comparison for a terminal: a line for each figure that differs, and a summary.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        for circumstance in &self.circumstances {
            let _ = writeln!(out, "note: {circumstance}");
        }
        for row in self.rows.iter().filter(|row| row.verdict != Verdict::NoDifference) {
            let verdict = format!("{:?}", row.verdict).to_lowercase();
            let change = (row.ratio - 1.0) * 100.0;
            let [first, second] = [row.first, row.second].map(|it| words::value(it, &row.unit));
            let (metric, subject, case) =
                (tame(&row.metric), tame(&row.subject), row.case.describe());
            let _ = writeln!(
                out,
                "{verdict:10} {change:+8.1} %  {subject}: {case}, {metric}: {first}, {second}"
            );
        }
        let [better, worse, same, undecided] =
            [Verdict::Better, Verdict::Worse, Verdict::NoDifference, Verdict::Undecided]
                .map(|verdict| self.count(verdict));
        let floor = self.noise_floor.map_or("unknown".into(), words::fine_percent);
        let _ = writeln!(
            out,
            "{} figures in both: {better} better, {worse} worse, {same} without difference, \
             {undecided} undecided (noise floors up to {floor}); {} only in the first, {} only in \
             the second. Had nothing changed, 95 % intervals would let about one in twenty differ.",
            self.rows.len(),
            self.only_first,
            self.only_second
        );
        out
    }
}
