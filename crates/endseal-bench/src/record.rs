//! What one run found: `run.json`, schema `endseal-bench/1`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::environment::Environment;

/// The schema that this version writes.
pub const SCHEMA: &str = "endseal-bench/1";

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Record {
    /// [`SCHEMA`].
    pub schema: String,
    /// Whether every case that was asked for was measured; false after an interruption.
    pub complete: bool,
    /// How much was asked for: `quick`, `default` or `full`.
    pub extent: String,
    /// Where and with what.
    pub environment: Environment,
    /// Relative half-width of the interval when a subject is measured against itself: smaller
    /// differences mean nothing.
    pub noise_floor: Option<f64>,
    /// Largest change of the calibration kernel during the run, relative to its start.
    pub drift: Option<f64>,
    /// Who was measured.
    pub subjects: Vec<SubjectInfo>,
    /// The figures.
    pub rows: Vec<Row>,
    /// Paired ratios of time: above 1, `subject` is that many times faster than `against`.
    pub ratios: Vec<Ratio>,
    /// How figures grow.
    pub growth: Vec<Growth>,
    /// Who was not measured, and why.
    pub skipped: Vec<Skip>,
}

/// A subject as it describes itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SubjectInfo {
    /// Its name in rows.
    pub subject: String,
    /// What it is, for people.
    pub about: String,
    /// What it runs in.
    pub runtime: String,
    /// Versions of what it is made of.
    #[serde(default)]
    pub versions: BTreeMap<String, String>,
    /// Whose recommendation its configuration follows.
    #[serde(default)]
    pub settings: String,
    /// Properties of docs/spec/bench-peer.md that it has.
    #[serde(default)]
    pub properties: Vec<String>,
}

/// Parameters of a case, such as members and bytes.
pub type Params = BTreeMap<String, u64>;

/// One figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Row {
    /// The suite.
    pub suite: String,
    /// The case.
    pub case: String,
    /// Its parameters.
    pub params: Params,
    /// Whose figure.
    pub subject: String,
    /// `time`, `cpu`, `size`, `allocations`, `heap-peak`.
    pub metric: String,
    /// `ns`, `B` or `1`.
    pub unit: String,
    /// The median.
    pub median: f64,
    /// Its 95 % interval; the value twice where it is exact.
    pub ci95: [f64; 2],
    /// Number of samples.
    pub n: usize,
}

/// How many times faster one subject is than another, paired by rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Ratio {
    /// The suite.
    pub suite: String,
    /// The case.
    pub case: String,
    /// Its parameters.
    pub params: Params,
    /// Who is faster if the ratio is above 1.
    pub subject: String,
    /// Than whom.
    pub against: String,
    /// The median of the ratios of rounds.
    pub median: f64,
    /// Its 95 % interval.
    pub ci95: [f64; 2],
}

/// How the time of a case grows with a parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Growth {
    /// The suite.
    pub suite: String,
    /// The case.
    pub case: String,
    /// The parameter that grows.
    pub parameter: String,
    /// The parameters that stay.
    pub params: Params,
    /// Whose growth.
    pub subject: String,
    /// Time at zero, in ns.
    pub fixed_ns: f64,
    /// Time for each unit, in ns.
    pub per_unit_ns: f64,
    /// Exponent of the power law between the first and the last point.
    pub exponent: f64,
    /// Its 95 % interval.
    pub exponent_ci95: [f64; 2],
    /// The same in words.
    pub sentence: String,
}

/// A subject or case that has no figure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Skip {
    /// Who.
    pub subject: String,
    /// Why.
    pub reason: String,
}

impl Skip {
    /// Says who and why.
    pub fn new(subject: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { subject: subject.into(), reason: reason.into() }
    }
}
