//! Two runs side by side: what changed beyond the noise of both.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use crate::record::{Params, Record, Row};
use crate::report::tame;

/// Two runs side by side.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Comparison {
    /// The larger noise floor of the two; `None` if one of them has none.
    pub noise_floor: Option<f64>,
    /// What else differs between the runs, in words: another machine, another build.
    pub circumstances: Vec<String>,
    /// Figures that both have, in the order of the first.
    pub rows: Vec<Compared>,
    /// How many figures only the first has.
    pub only_first: usize,
    /// How many figures only the second has.
    pub only_second: usize,
}

/// A figure of both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Compared {
    /// The suite.
    pub suite: String,
    /// The case.
    pub case: String,
    /// Its parameters.
    pub params: Params,
    /// Whose figure.
    pub subject: String,
    /// As in [`Row`].
    pub metric: String,
    /// As in [`Row`].
    pub unit: String,
    /// Median of the first run.
    pub first: f64,
    /// Median of the second run.
    pub second: f64,
    /// First by second: above 1, the second is better, since every metric is a cost. `None` if the
    /// second is zero.
    pub ratio: Option<f64>,
    /// Whether the intervals have a value in common.
    pub overlap: bool,
    /// What to make of it.
    pub verdict: Verdict,
}

/// What became of a figure from the first to the second run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Verdict {
    /// Less time or memory or fewer bytes, beyond the noise of both runs.
    Better,
    /// More of it, beyond the noise of both runs.
    Worse,
    /// Nothing that the noise does not explain.
    NoDifference,
    /// The intervals lie apart, but a run without a noise floor cannot say more.
    Undecided,
}

impl Verdict {
    /// In words.
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

/// Compares two runs.
#[must_use]
pub fn compare(first: &Record, second: &Record) -> Comparison {
    let noise_floor = first.noise_floor.zip(second.noise_floor).map(|(a, b)| a.max(b));
    let later: BTreeMap<_, _> = second.rows.iter().map(|row| (key(row), row)).collect();
    let mut rows = Vec::new();
    let mut seen = BTreeMap::new();
    for row in &first.rows {
        if let (Some(other), None) = (later.get(&key(row)), seen.insert(key(row), ())) {
            rows.push(compared(row, other, noise_floor));
        }
    }
    Comparison {
        noise_floor,
        circumstances: circumstances(first, second),
        only_first: seen.len() - rows.len(),
        only_second: later.len() - rows.len(),
        rows,
    }
}

fn key(row: &Row) -> (&str, &str, &Params, &str, &str) {
    (&row.suite, &row.case, &row.params, &row.subject, &row.metric)
}

fn compared(first: &Row, second: &Row, noise_floor: Option<f64>) -> Compared {
    let overlap = first.ci95[0] <= second.ci95[1] && second.ci95[0] <= first.ci95[1];
    let ratio = (second.median > 0.0).then(|| first.median / second.median);
    Compared {
        suite: first.suite.clone(),
        case: first.case.clone(),
        params: first.params.clone(),
        subject: first.subject.clone(),
        metric: first.metric.clone(),
        unit: first.unit.clone(),
        first: first.median,
        second: second.median,
        ratio,
        overlap,
        verdict: verdict(first, second, overlap, noise_floor),
    }
}

fn verdict(first: &Row, second: &Row, overlap: bool, noise_floor: Option<f64>) -> Verdict {
    if overlap || first.median == second.median {
        return Verdict::NoDifference;
    }
    let direction = if second.median < first.median { Verdict::Better } else { Verdict::Worse };
    // A length or a number of allocations is exact: only times have noise.
    if !matches!(first.metric.as_str(), "time" | "cpu") {
        return direction;
    }
    let larger = first.median.max(second.median);
    let smaller = first.median.min(second.median);
    match noise_floor {
        None => Verdict::Undecided,
        Some(floor) if larger - smaller <= floor * smaller => Verdict::NoDifference,
        Some(_) => direction,
    }
}

fn circumstances(first: &Record, second: &Record) -> Vec<String> {
    let (a, b) = (&first.environment, &second.environment);
    let pairs = [
        ("CPU", &a.cpu, &b.cpu),
        ("X25519", &a.x25519, &b.x25519),
        ("profile", &a.profile, &b.profile),
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
    /// How many figures got that verdict.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        self.rows.iter().filter(|row| row.verdict == verdict).count()
    }

    /// For people, in lines of a terminal.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = String::new();
        for circumstance in &self.circumstances {
            let _ = writeln!(out, "note: {circumstance}");
        }
        let lines: Vec<[String; 6]> = self.rows.iter().map(Compared::cells).collect();
        let head = ["case", "subject", "first", "second", "first/second", "verdict"];
        let width = |column: usize| {
            let cells = lines.iter().map(|line| line[column].chars().count());
            cells.chain([head[column].chars().count()]).max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..head.len()).map(width).collect();
        for line in [head.map(str::to_owned)].iter().chain(&lines) {
            let mut text = String::new();
            for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
                let gap = " ".repeat(width - cell.chars().count());
                match column {
                    2..=4 => text += &format!("{gap}{cell}  "),
                    _ => text += &format!("{cell}{gap}  "),
                }
            }
            let _ = writeln!(out, "{}", text.trim_end());
        }
        let _ = write!(
            out,
            "{} figures in both: {} better, {} worse, {} without difference",
            self.rows.len(),
            self.count(Verdict::Better),
            self.count(Verdict::Worse),
            self.count(Verdict::NoDifference),
        );
        match self.noise_floor {
            Some(floor) => {
                let floor = crate::report::fine_percent(floor);
                let _ = write!(out, " (noise floor {floor})");
            }
            None => {
                let undecided = self.count(Verdict::Undecided);
                let _ = write!(out, ", {undecided} undecided for want of a noise floor");
            }
        }
        let _ = writeln!(
            out,
            "; {} only in the first, {} only in the second",
            self.only_first, self.only_second
        );
        out
    }
}

impl Compared {
    fn cells(&self) -> [String; 6] {
        let value = |value: f64| crate::report::value(value, &self.unit);
        let overlap = if self.overlap { ", intervals overlap" } else { "" };
        [
            format!(
                "{} {}",
                crate::report::case(&self.suite, &self.case, &self.params),
                tame(&self.metric)
            ),
            tame(&self.subject),
            value(self.first),
            value(self.second),
            self.ratio.map_or("-".into(), |ratio| format!("{ratio:.3}")),
            format!("{}{overlap}", self.verdict.words()),
        ]
    }
}
