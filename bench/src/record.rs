//! The figures of one run: `run.json`, schema `endseal-bench/2`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::case::Case;
pub use crate::case::Params;
use crate::environment::Environment;

mod read;

pub use read::{MAX_RECORD, ReadRecordError, read_record, read_record_file};

/// The schema that this version writes.
pub const SCHEMA: &str = "endseal-bench/2";

/// One run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Record {
    /// [`SCHEMA`].
    pub schema: String,
    /// True if every case that was asked for was measured; false after an interruption.
    pub complete: bool,
    /// Extent of the run: `quick`, `default` or `full`.
    pub extent: String,
    /// Other arguments of the run.
    pub arguments: Arguments,
    /// Where and with what.
    pub environment: Environment,
    /// By `suite/case`, two standard deviations of several preparations of our subject in the first
    /// case of that name, relative to their median: smaller differences mean nothing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub noise_floors: BTreeMap<String, f64>,
    /// Largest change of the calibration kernel during the run, relative to its start.
    pub drift: Option<f64>,
    /// Time of the calibration kernel in ns: before the first case, then beside each.
    pub calibrations: Vec<f64>,
    /// The subjects that were measured.
    pub subjects: Vec<SubjectInfo>,
    /// The figures.
    pub rows: Vec<Row>,
    /// Paired ratios of time: above 1, `subject` is that many times faster than `against`.
    pub ratios: Vec<Ratio>,
    /// Growth of times with a parameter.
    pub growth: Vec<Growth>,
    /// Subjects and cases without figures, and why.
    pub skipped: Vec<Skip>,
    /// Cases that subjects say they do not do, of the suites in which they do something.
    pub unsupported: Vec<Skip>,
}

impl Record {
    /// The noise floor of the cases of a name. Where our subject was not timed against itself it is
    /// the largest of the suite, or else of the run.
    #[must_use]
    pub fn noise_floor_of(&self, suite: &str, case: &str) -> Option<f64> {
        let own = self.noise_floors.get(&format!("{suite}/{case}")).copied();
        let of_suite = |(class, _): &(&String, &f64)| {
            class.strip_prefix(suite).is_some_and(|rest| rest.starts_with('/'))
        };
        let largest = |floors: &mut dyn Iterator<Item = f64>| floors.max_by(f64::total_cmp);
        own.or_else(|| largest(&mut self.noise_floors.iter().filter(of_suite).map(|it| *it.1)))
            .or_else(|| largest(&mut self.noise_floors.values().copied()))
    }
}

/// Arguments of a run; a list is empty if nothing was chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(clippy::exhaustive_structs, reason = "written out by whoever asks")]
pub struct Arguments {
    /// Suites.
    pub suites: Vec<String>,
    /// Cases, if not all.
    pub cases: Vec<String>,
    /// Peers.
    pub peers: Vec<String>,
    /// Subjects, if not all.
    pub subjects: Vec<String>,
}

/// A subject as it describes itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct SubjectInfo {
    /// Its name in rows.
    pub subject: String,
    /// The one suite that this description is for; none for a peer's, which may do several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<String>,
    /// Its description for people.
    pub about: String,
    /// Its runtime.
    pub runtime: String,
    /// Versions of what it is made of.
    #[serde(default)]
    pub versions: BTreeMap<String, String>,
    /// The source of its configuration.
    #[serde(default)]
    pub settings: String,
    /// Properties of docs/spec/bench-peer.md that it has.
    #[serde(default)]
    pub properties: Vec<String>,
}

/// One figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Row {
    /// The suite.
    pub suite: String,
    /// The case.
    pub case: String,
    /// Its parameters.
    pub params: Params,
    /// The subject.
    pub subject: String,
    /// `time`, `cpu`, `size`, `allocations`, `heap-peak`, or one of the suite's own.
    pub metric: String,
    /// `ns`, `B`, `1`, or the unit of the suite's own metric.
    pub unit: String,
    /// Which way it is better.
    #[serde(default, skip_serializing_if = "Better::is_less")]
    pub better: Better,
    /// The median.
    pub median: f64,
    /// Its 95 % interval: the value twice where it is exact, none where there are fewer than six
    /// samples.
    pub ci95: Option<[f64; 2]>,
    /// Number of samples.
    pub n: usize,
    /// The samples, one for each round, with three digits; empty where the value is exact.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<f64>,
    /// Time of the calibration kernel beside it in ns, where the figure is a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_ns: Option<f64>,
    /// Threads that did the work, where they are more than one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
}

/// Which way a metric is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Better {
    /// A cost.
    #[default]
    Less,
    /// A yield.
    More,
}

impl Better {
    /// Returns true for a cost.
    #[must_use]
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "the serializer asks so")]
    pub fn is_less(&self) -> bool {
        *self == Self::Less
    }
}

/// The factor by which one subject is faster than another, paired by rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Ratio {
    /// The suite.
    pub suite: String,
    /// The case.
    pub case: String,
    /// Its parameters.
    pub params: Params,
    /// The subject that is faster if the ratio is above 1.
    pub subject: String,
    /// The subject that it is compared with.
    pub against: String,
    /// By which clock: `wall`.
    pub clock: String,
    /// The median of the ratios of rounds.
    pub median: f64,
    /// Its 95 % interval; none of fewer than six rounds.
    pub ci95: Option<[f64; 2]>,
}

/// Growth of the time of a case with a parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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
    /// The subject.
    pub subject: String,
    /// Time at zero, in ns.
    pub fixed_ns: f64,
    /// Time for each unit, in ns.
    pub per_unit_ns: f64,
    /// Exponent of the power law between the first and the last point.
    pub exponent: f64,
    /// Its 95 % interval.
    pub exponent_ci95: [f64; 2],
}

/// A subject or case that has no figure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Skip {
    /// The subject.
    pub subject: String,
    /// In which suite, if not in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<String>,
    /// In which case, if not in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
    /// With which parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Params>,
    /// Why.
    pub reason: String,
}

impl Skip {
    /// Says who has no figure at all, and why.
    pub fn new(subject: impl Into<String>, reason: impl Into<String>) -> Self {
        let (subject, reason) = (subject.into(), reason.into());
        Self { subject, suite: None, case: None, params: None, reason }
    }

    /// The same for one case.
    #[must_use]
    pub fn of_case(self, case: &Case) -> Self {
        Self {
            suite: Some(case.suite.into()),
            case: Some(case.case.into()),
            params: Some(case.params.clone()),
            ..self
        }
    }
}
