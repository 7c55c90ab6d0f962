//! Two runs side by side: what changed beyond the noise of both.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use crate::record::{Better, Params, Ratio, Record, Row};
use crate::report::case::Case;
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
    /// Name of the suite.
    pub suite: String,
    /// Name of the case.
    pub case: String,
    /// Parameters of the case.
    pub params: Params,
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

/// A figure of a run in the form in which it is compared.
struct Figure<'a> {
    key: (&'a str, &'a str, &'a Params, String, &'a str),
    unit: &'a str,
    median: f64,
    ci95: [f64; 2],
    better: Better,
    kernel_ns: Option<f64>,
    /// True for a figure that has no noise: it was measured once.
    exact: bool,
}

fn of_row(row: &Row) -> Figure<'_> {
    Figure {
        key: (&row.suite, &row.case, &row.params, row.subject.clone(), &row.metric),
        unit: &row.unit,
        median: row.median,
        ci95: row.ci95.unwrap_or([row.median; 2]),
        better: row.better,
        kernel_ns: row.kernel_ns.filter(|ns| *ns > 0.0),
        exact: row.n <= 1,
    }
}

fn of_ratio(ratio: &Ratio) -> Figure<'_> {
    let subject = format!("{} / {}", ratio.subject, ratio.against);
    Figure {
        key: (&ratio.suite, &ratio.case, &ratio.params, subject, "ratio"),
        unit: "×",
        median: ratio.median,
        ci95: ratio.ci95.unwrap_or([ratio.median; 2]),
        better: Better::More,
        kernel_ns: None,
        exact: false,
    }
}

fn figures(record: &Record) -> Vec<Figure<'_>> {
    record.ratios.iter().map(of_ratio).chain(record.rows.iter().map(of_row)).collect()
}

/// Compares every figure that both runs have, and lists other differences between them.
#[must_use]
pub fn compare(first: &Record, second: &Record) -> Comparison {
    let (ours, later) = (figures(first), figures(second));
    let by_key: BTreeMap<_, _> = later.iter().map(|it| (&it.key, it)).collect();
    let both = ours.iter().filter_map(|it| Some((it, *by_key.get(&it.key)?)));
    let drift: f64 = [first.drift, second.drift].into_iter().flatten().map(f64::abs).sum();
    let rows: Vec<Compared> = both
        .map(|(one, other)| {
            let floors = [first, second].map(|it| it.noise_floor_of(one.key.0, one.key.1));
            let floor = floors[0].zip(floors[1]).map(|(a, b)| a.max(b));
            // Both sides of a ratio were measured at the same speed: no drift is in it.
            let drift = if one.unit == "×" { 0.0 } else { drift };
            let exact = one.exact && other.exact;
            compared(one, other, if exact { Some(0.0) } else { floor.map(|it| it + drift) })
        })
        .collect();
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
fn compared(first: &Figure<'_>, second: &Figure<'_>, allowed: Option<f64>) -> Compared {
    // A slower machine has a slower kernel: the second time at the speed of the first run.
    let speed = first.kernel_ns.zip(second.kernel_ns).map_or(1.0, |(a, b)| a / b);
    let (a, b) = (first.median, second.median * speed);
    let [low, high] = second.ci95.map(|bound| bound * speed);
    let overlap = first.ci95[0] <= high && low <= first.ci95[1];
    let verdict = match allowed {
        _ if overlap => Verdict::NoDifference,
        None => Verdict::Undecided,
        Some(share) if a.max(b) <= a.min(b) * (1.0 + share) => Verdict::NoDifference,
        Some(_) if (b < a) == first.better.is_less() => Verdict::Better,
        Some(_) => Verdict::Worse,
    };
    let (suite, case, params, ref subject, metric) = first.key;
    Compared {
        suite: suite.into(),
        case: case.into(),
        params: params.clone(),
        subject: subject.clone(),
        metric: metric.into(),
        unit: first.unit.into(),
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
            let case = Case::of(&row.suite, &row.case, &row.params).describe();
            let (metric, subject) = (tame(&row.metric), tame(&row.subject));
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
