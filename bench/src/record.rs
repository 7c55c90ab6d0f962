//! The figures of one run: the file `run.json`, schema `endseal-bench/2`.

use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

pub use crate::case::{Case, Params};
use crate::environment::Environment;

mod read;

pub use read::{MAX_RECORD, ReadRecordError, read_record, read_record_file};

/// Name of the schema that this version writes.
pub const SCHEMA: &str = "endseal-bench/2";

/// The record of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Record {
    /// Name of the schema: [`SCHEMA`].
    pub schema: String,
    /// True if every requested case was measured; false after an interruption.
    pub complete: bool,
    /// Extent of the run: `quick`, `default` or `full`.
    pub extent: String,
    /// Other arguments of the run.
    pub arguments: Arguments,
    /// The machine and the program that were used.
    pub environment: Environment,
    /// Noise floors by `suite/case`: two standard deviations of several preparations of our subject
    /// in the first case of that name, relative to their median. Smaller differences mean nothing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub noise_floors: BTreeMap<String, f64>,
    /// Largest change of the calibration kernel during the run, relative to its start.
    pub drift: Option<f64>,
    /// Time of the calibration kernel in ns: before the first case, then in each case.
    pub calibrations: Vec<f64>,
    /// The subjects that were measured.
    pub subjects: Vec<SubjectInfo>,
    /// All figures of the run.
    pub rows: Vec<Row>,
    /// Paired ratios of time: above 1, `subject` is that many times faster than `against`.
    pub ratios: Vec<Ratio>,
    /// Fitted growth, which earlier versions wrote; it is not read.
    #[serde(default, skip_serializing)]
    pub growth: IgnoredAny,
    /// Subjects and cases without figures, with the reason.
    pub skipped: Vec<Skip>,
    /// Cases that subjects do not support, in suites of which they support some case.
    pub unsupported: Vec<Skip>,
}

impl Record {
    /// Returns the noise floor of the cases of that name. If our subject was not timed against
    /// itself there, it is the largest floor of the suite, or else of the run.
    #[must_use]
    pub fn noise_floor_of(&self, case: &Case) -> Option<f64> {
        let classes = [format!("{}/{}", case.suite, case.case), format!("{}/", case.suite)];
        let largest = |prefix: &str| {
            let floors = self.noise_floors.iter().filter(|(class, _)| class.starts_with(prefix));
            floors.map(|(_, floor)| *floor).max_by(f64::total_cmp)
        };
        let own = self.noise_floors.get(&classes[0]).copied();
        own.or_else(|| largest(&classes[1])).or_else(|| largest(""))
    }
}

/// Arguments of a run. An empty list means that nothing was chosen: all suites, cases and
/// subjects, but no peers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(clippy::exhaustive_structs, reason = "written out by callers")]
pub struct Arguments {
    /// Names of the chosen suites.
    pub suites: Vec<String>,
    /// Names of the chosen cases.
    pub cases: Vec<String>,
    /// Names of the chosen peers.
    pub peers: Vec<String>,
    /// Names of the chosen subjects.
    pub subjects: Vec<String>,
}

/// A subject as it describes itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct SubjectInfo {
    /// Name of the subject in rows.
    pub subject: String,
    /// The suite that this description is for; `None` for a peer's, which may support several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<String>,
    /// Description of the subject for people.
    pub about: String,
    /// Name of the subject's runtime.
    pub runtime: String,
    /// Versions of its packages and libraries.
    #[serde(default)]
    pub versions: BTreeMap<String, String>,
    /// Source of the subject's configuration.
    #[serde(default)]
    pub settings: String,
    /// Properties from docs/spec/bench-peer.md that the subject has.
    #[serde(default)]
    pub properties: Vec<String>,
}

/// One figure of one subject in one case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Row {
    /// The case with its parameters.
    #[serde(flatten)]
    pub case: Case,
    /// Name of the subject.
    pub subject: String,
    /// Metric: `time`, `cpu`, `size`, `allocations`, `heap-peak`, or a name of the
    /// suite's own.
    pub metric: String,
    /// Unit: `ns`, `B`, `1`, or the unit of the suite's own metric.
    pub unit: String,
    /// Direction in which the metric improves.
    #[serde(default, skip_serializing_if = "Better::is_less")]
    pub better: Better,
    /// Median of the samples.
    pub median: f64,
    /// 95 % interval of the median. Both bounds are the value if it is exact; `None` for fewer than
    /// six samples.
    pub ci95: Option<[f64; 2]>,
    /// Number of samples that the median is taken of.
    pub n: usize,
    /// The samples, one for each round, with three digits; empty where the value is exact.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<f64>,
    /// Time of the calibration kernel in the same case in ns, if the figure is a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_ns: Option<f64>,
    /// Number of threads that did the work, if more than one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
}

/// Direction in which a metric improves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Better {
    /// Less is better: the metric is a cost.
    #[default]
    Less,
    /// More is better: the metric is a yield.
    More,
}

impl Better {
    /// Returns true if less is better.
    #[must_use]
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "the serializer asks so")]
    pub fn is_less(&self) -> bool {
        *self == Self::Less
    }
}

/// The factor by which one subject is faster than another, paired by rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Ratio {
    /// The case with its parameters.
    #[serde(flatten)]
    pub case: Case,
    /// The subject that is faster if the ratio is above 1.
    pub subject: String,
    /// The subject that it is compared with.
    pub against: String,
    /// Clock of the times: `wall`.
    pub clock: String,
    /// Median of the ratios of rounds.
    pub median: f64,
    /// 95 % interval of the median; `None` for fewer than six rounds.
    pub ci95: Option<[f64; 2]>,
}

/// A subject or case that has no figure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Skip {
    /// Name of the subject.
    pub subject: String,
    /// Name of the suite; `None` if the entry holds for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<String>,
    /// Name of the case; `None` if the entry holds for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
    /// Parameters of the case; `None` if the entry holds for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Params>,
    /// Reason why there is no figure.
    pub reason: String,
}

impl Skip {
    /// Creates an entry for a subject that has no figure at all.
    pub fn new(subject: impl Into<String>, reason: impl Into<String>) -> Self {
        let (subject, reason) = (subject.into(), reason.into());
        Self { subject, suite: None, case: None, params: None, reason }
    }

    /// Limits the entry to one case.
    #[must_use]
    pub fn of_case(self, case: &Case) -> Self {
        Self {
            suite: Some(case.suite.clone()),
            case: Some(case.case.clone()),
            params: Some(case.params.clone()),
            ..self
        }
    }
}
