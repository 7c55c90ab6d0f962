//! Two runs side by side: what changed beyond the noise of both.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::record::{Better, Params, Ratio, Record, Row};
use crate::words::tame;

mod text;

/// Differences between two runs, with a verdict for each figure. [`compare`] creates it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Comparison {
    /// The larger noise floor of the two for each class of cases, `suite/case`, that both have
    /// figures of.
    pub noise_floors: BTreeMap<String, f64>,
    /// The two drifts together: a difference of two times must exceed it and the noise floor, since
    /// one value of the calibration kernel stands for a whole case.
    pub drift: f64,
    /// Other differences between the runs, in words: another machine, another build.
    pub circumstances: Vec<String>,
    /// Paired ratios that both runs have. They are not normalised.
    pub ratios: Vec<Compared>,
    /// Figures that both have, in the order of the first; times are also compared by the speed that
    /// the machine had.
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
    /// Name of the subject.
    pub subject: String,
    /// The subject that a ratio compares with; `None` for a figure that is not a ratio.
    pub against: Option<String>,
    /// Name of the metric as in [`Row`]; `ratio` for a ratio.
    pub metric: String,
    /// Unit of the metric as in [`Row`].
    pub unit: String,
    /// Median of the first run.
    pub first: f64,
    /// Median of the second run.
    pub second: f64,
    /// Second median divided by the first, as measured. `None` if the first is zero.
    pub change: Option<f64>,
    /// Second divided by first after each was divided by the time that the calibration kernel took
    /// in its run, which removes the speed of the machine. `None` for a figure that is not a time.
    pub normalised: Option<f64>,
    /// True if the two intervals overlap, normalised where possible.
    pub overlap: bool,
    /// Conclusion from intervals and noise.
    pub verdict: Verdict,
}

/// The change of a figure from the first to the second run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Verdict {
    /// Less time or memory or fewer bytes, or a larger ratio or rate, beyond the noise of both
    /// runs.
    Better,
    /// The opposite of [`Self::Better`], beyond the noise of both runs.
    Worse,
    /// No difference that is larger than the noise.
    NoDifference,
    /// The intervals do not overlap, but a run has no noise floor, so that noise cannot be
    /// excluded.
    Undecided,
}

impl Verdict {
    /// Returns the verdict in words, for people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::NoDifference => "no difference",
            Self::Undecided => "undecided",
        }
    }
}

/// Compares every figure that both runs have, and lists other differences between them.
#[must_use]
pub fn compare(first: &Record, second: &Record) -> Comparison {
    let larger = |(a, b): (f64, f64)| a.max(b);
    let noise_floor = |suite: &str, case: &str| {
        first.noise_floor_of(suite, case).zip(second.noise_floor_of(suite, case)).map(larger)
    };
    let drift: f64 = [first.drift, second.drift].into_iter().flatten().map(f64::abs).sum();
    let later: BTreeMap<_, _> = second.rows.iter().map(|row| (key(row), row)).collect();
    let mut rows = Vec::new();
    let mut seen = BTreeMap::new();
    for row in &first.rows {
        if let (Some(other), None) = (later.get(&key(row)), seen.insert(key(row), ())) {
            rows.push(compared(row, other, noise_floor(&row.suite, &row.case), drift));
        }
    }
    let later_ratios: BTreeMap<_, _> =
        second.ratios.iter().map(|ratio| (ratio_key(ratio), ratio)).collect();
    let ratios = first.ratios.iter().filter_map(|ratio| {
        let later = later_ratios.get(&ratio_key(ratio))?;
        Some(compared_ratio(ratio, later, noise_floor(&ratio.suite, &ratio.case)))
    });
    let ratios: Vec<Compared> = ratios.collect();
    let floors = rows.iter().chain(&ratios).filter_map(|one| {
        let class = format!("{}/{}", one.suite, one.case);
        Some((class, noise_floor(&one.suite, &one.case)?))
    });
    Comparison {
        noise_floors: floors.collect(),
        drift,
        circumstances: circumstances(first, second),
        ratios,
        only_first: seen.len() - rows.len(),
        only_second: later.len() - rows.len(),
        rows,
    }
}

fn key(row: &Row) -> (&str, &str, &Params, &str, &str) {
    (&row.suite, &row.case, &row.params, &row.subject, &row.metric)
}

fn ratio_key(ratio: &Ratio) -> (&str, &str, &Params, &str, &str) {
    (&ratio.suite, &ratio.case, &ratio.params, &ratio.subject, &ratio.against)
}

/// A median with its interval.
#[derive(Clone, Copy)]
struct Value {
    median: f64,
    /// The median twice where the run had too few rounds for an interval.
    ci95: [f64; 2],
}

impl Value {
    fn of(row: &Row) -> Self {
        Self { median: row.median, ci95: row.ci95.unwrap_or([row.median; 2]) }
    }

    fn times(self, factor: f64) -> Self {
        Self { median: self.median * factor, ci95: self.ci95.map(|bound| bound * factor) }
    }

    fn overlaps(self, other: Self) -> bool {
        self.ci95[0] <= other.ci95[1] && other.ci95[0] <= self.ci95[1]
    }
}

fn compared(first: &Row, second: &Row, noise_floor: Option<f64>, drift: f64) -> Compared {
    // A slower machine has a slower kernel: what the second run would have taken at the speed of
    // the first.
    let usable = |ns: &f64| *ns > 0.0;
    let speed = first.kernel_ns.filter(usable).zip(second.kernel_ns.filter(usable));
    let speed = speed.map(|(first, second)| first / second);
    let (one, other) = (Value::of(first), Value::of(second).times(speed.unwrap_or(1.0)));
    // A length or a number of allocations has one value: only what was sampled has noise.
    let allowed = if first.n > 1 || second.n > 1 {
        noise_floor.map(|floor| floor + drift)
    } else {
        Some(0.0)
    };
    Compared {
        suite: first.suite.clone(),
        case: first.case.clone(),
        params: first.params.clone(),
        subject: first.subject.clone(),
        against: None,
        metric: first.metric.clone(),
        unit: first.unit.clone(),
        first: first.median,
        second: second.median,
        change: quotient(second.median, first.median),
        normalised: speed.and_then(|_| quotient(other.median, one.median)),
        overlap: one.overlaps(other),
        verdict: verdict(one, other, first.better, allowed),
    }
}

fn compared_ratio(first: &Ratio, second: &Ratio, noise_floor: Option<f64>) -> Compared {
    let value = |ratio: &Ratio| Value {
        median: ratio.median,
        ci95: ratio.ci95.unwrap_or([ratio.median; 2]),
    };
    let (one, other) = (value(first), value(second));
    Compared {
        suite: first.suite.clone(),
        case: first.case.clone(),
        params: first.params.clone(),
        subject: first.subject.clone(),
        against: Some(first.against.clone()),
        metric: "ratio".into(),
        unit: "times".into(),
        first: first.median,
        second: second.median,
        change: quotient(second.median, first.median),
        normalised: None,
        overlap: one.overlaps(other),
        // Both sides of a ratio were measured at the same speed: no drift is in it.
        verdict: verdict(one, other, Better::More, noise_floor),
    }
}

fn quotient(second: f64, first: f64) -> Option<f64> {
    (first > 0.0).then(|| second / first)
}

/// Compares two values. `allowed` is the share that noise explains; `None` if it is unknown.
fn verdict(first: Value, second: Value, better: Better, allowed: Option<f64>) -> Verdict {
    if first.overlaps(second) {
        return Verdict::NoDifference;
    }
    let (larger, smaller) = (first.median.max(second.median), first.median.min(second.median));
    match allowed {
        None => Verdict::Undecided,
        Some(share) if larger - smaller <= share * smaller => Verdict::NoDifference,
        Some(_) if (second.median < first.median) == better.is_less() => Verdict::Better,
        Some(_) => Verdict::Worse,
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
        ("governor", &a.governor, &b.governor),
        ("endseal", &a.endseal, &b.endseal),
        ("commit", &a.commit, &b.commit),
    ];
    let differs = pairs.iter().filter(|(_, first, second)| first != second);
    let mut found: Vec<String> = differs
        .map(|(name, first, second)| format!("{name}: {} against {}", named(first), named(second)))
        .collect();
    for (which, record) in [("first", first), ("second", second)] {
        if !record.complete {
            found.push(format!("the {which} run is incomplete"));
        }
        if record.drift.is_some_and(|drift| drift.abs() > 0.05) {
            found.push(format!("the {which} run drifted"));
        }
    }
    found
}

fn named(text: &str) -> String {
    if text.is_empty() { "not known".into() } else { tame(text) }
}

impl Comparison {
    /// Returns the number of figures with that verdict, ratios included.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        self.ratios.iter().chain(&self.rows).filter(|one| one.verdict == verdict).count()
    }

    /// Returns the number of times and ratios that differ, and the number of all of them. On an
    /// unchanged machine and program, 95 % intervals let at most one in twenty differ.
    #[must_use]
    pub fn outside(&self) -> (usize, usize) {
        let sampled = |one: &&Compared| one.against.is_some() || one.normalised.is_some();
        let all = || self.ratios.iter().chain(&self.rows).filter(sampled);
        (all().filter(|one| one.verdict != Verdict::NoDifference).count(), all().count())
    }
}
