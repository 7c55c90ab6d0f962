//! The suites: their cases and rules, and their part of the report, from `data/<suite>.toml`.

use core::ops::RangeInclusive;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::case::{Case, MIN_ROUNDS, OURS};

/// The extent of a run of a suite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Extent {
    /// A few minutes: one row of each table.
    Quick,
    /// All published tables.
    #[default]
    Default,
    /// Also cases that take long with slow peers.
    Full,
}

impl Extent {
    /// Returns the name of the extent in the record.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Default => "default",
            Self::Full => "full",
        }
    }

    /// Returns the largest number of rounds of a case.
    pub(crate) fn rounds(self) -> usize {
        if self == Self::Quick { 15 } else { 41 }
    }

    /// Returns the seconds after which a case gets no further round, once it has the least number
    /// of rounds.
    pub(crate) fn seconds_a_case(self) -> f64 {
        match self {
            Self::Quick => 3.0,
            Self::Default => 10.0,
            Self::Full => 120.0,
        }
    }
}

/// One component's cases. To add a suite, add its file below `data/`, its name to [`NAMES`] and its
/// subjects to [`ours::subjects`](crate::ours::subjects).
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Suite {
    /// Name of the suite for `--suite` and in rows.
    #[serde(skip)]
    pub name: &'static str,
    /// The work that it measures, described for people.
    pub about: String,
    /// Grids of cases, by the smallest extent that has them.
    cases: BTreeMap<String, Vec<String>>,
    /// Numbers of rounds of cases that are not short. The first rule that applies holds.
    #[serde(default)]
    rounds: Vec<RoundsRule>,
    /// Cases that have a row for the length of their output.
    #[serde(default)]
    pub(crate) sized: Vec<String>,
    /// Cases that are not timed: all their figures come from the check or from extra figures.
    #[serde(default)]
    pub(crate) untimed: Vec<String>,
    /// Our subjects that are compared with all others, round by round.
    pub(crate) compared: Vec<String>,
    /// Subjects that do less than the case and serve as a lower bound, so that no subject loses to
    /// them.
    #[serde(default)]
    pub(crate) floors: Vec<String>,
    /// Parameter along which tables lay out figures.
    pub(crate) axis: String,
    pub(crate) report: Content,
}

/// Least and largest number of rounds of cases. The least number is measured however long it takes;
/// the largest applies if the extent has more rounds.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RoundsRule {
    /// The only extent that the rule is for.
    extent: Option<Extent>,
    /// A grid of cases. The rule is for all cases that have these parameters.
    of: String,
    least: usize,
    #[serde(default = "unlimited")]
    most: usize,
}

fn unlimited() -> usize {
    usize::MAX
}

/// Texts and tables of a suite's part of a report.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Content {
    /// The case whose times are drawn at the top of the page.
    pub(crate) chart: String,
    /// Cases in which nothing is protected: this parameter has at most that value.
    #[serde(default)]
    pub(crate) unprotected: BTreeMap<String, u64>,
    /// URL of the published baseline.
    pub(crate) source: Option<String>,
    /// Paragraphs about the published baseline, what differs here, and single cases.
    pub(crate) text: Vec<String>,
    #[serde(rename = "table")]
    pub(crate) tables: Vec<TableSpec>,
}

/// A table of figures: as published, the baseline's method here, ours here.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TableSpec {
    pub(crate) title: String,
    /// Parameters of all rows.
    #[serde(default)]
    pub(crate) params: String,
    /// Our subjects.
    #[serde(default = "ours")]
    pub(crate) ours: Vec<String>,
    /// Subjects beside which factors are printed.
    #[serde(default)]
    pub(crate) beside: Vec<String>,
    /// True if there is a column with the best peer.
    #[serde(default)]
    pub(crate) peers: bool,
    pub(crate) rows: Vec<RowSpec>,
}

/// A row of such a table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RowSpec {
    pub(crate) name: String,
    /// The figure, with parameters that the table does not have.
    pub(crate) of: String,
    /// The published figure.
    #[serde(default)]
    pub(crate) published: String,
    /// Number by which the figure is divided, such as the members of a group.
    #[serde(default = "one")]
    pub(crate) per: f64,
}

fn ours() -> Vec<String> {
    vec![OURS.into()]
}

fn one() -> f64 {
    1.0
}

/// Names and files of all suites, in the order of reports.
const NAMES: [(&str, &str); 7] = [
    ("envelope", include_str!("../data/envelope.toml")),
    ("codec", include_str!("../data/codec.toml")),
    ("transport", include_str!("../data/transport.toml")),
    ("s3", include_str!("../data/s3.toml")),
    ("nostr", include_str!("../data/nostr.toml")),
    ("sessions", include_str!("../data/sessions.toml")),
    ("node", include_str!("../data/node.toml")),
];

/// All suites, in the order of reports.
pub static SUITES: LazyLock<Vec<Suite>> = LazyLock::new(|| NAMES.map(read).into());

#[allow(clippy::panic, reason = "a test reads the same bytes, which are part of the program")]
fn read((name, text): (&'static str, &str)) -> Suite {
    let suite = toml::from_str(text).unwrap_or_else(|error| panic!("{name}.toml: {error}"));
    Suite { name, ..suite }
}

impl Suite {
    /// Returns the suite of that name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        SUITES.iter().find(|suite| suite.name == name)
    }

    /// Returns the cases of the suite for that extent.
    #[must_use]
    pub fn cases(&self, extent: Extent) -> Vec<Case> {
        let extents = [Extent::Quick, Extent::Default, Extent::Full];
        let smaller = extents.into_iter().filter(|it| *it <= extent);
        let grids = smaller.filter_map(|it| self.cases.get(it.name())).flatten();
        grids.flat_map(|grid| Case::grid(self.name, grid)).collect()
    }

    /// Returns least and largest number of rounds of a case.
    pub(crate) fn rounds(&self, extent: Extent, case: &Case) -> RangeInclusive<usize> {
        let applies = |rule: &&RoundsRule| {
            rule.extent.is_none_or(|it| it == extent)
                && Case::grid(self.name, &rule.of).iter().any(|it| case.is_like(it))
        };
        let rule = self.rounds.iter().find(applies);
        rule.map_or(MIN_ROUNDS..=usize::MAX, |rule| rule.least..=rule.most)
    }

    /// Returns true if the cases of that name are timed.
    pub(crate) fn times(&self, case: &str) -> bool {
        !self.untimed.iter().any(|name| name == case)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_suite_has_cases_and_begins_with_a_timed_one() {
        for suite in SUITES.iter() {
            let [quick, full] = [Extent::Quick, Extent::Full].map(|it| suite.cases(it));
            assert!(quick.len() > 2 && quick.len() <= full.len(), "{}", suite.name);
            // The noise floor is measured in the first case of a name.
            assert!(suite.times(&quick[0].case), "{}", suite.name);
            for name in suite.sized.iter().chain(&suite.untimed) {
                assert!(full.iter().any(|case| case.case == *name), "{name}");
            }
            for (at, case) in full.iter().enumerate() {
                assert!(!full[..at].contains(case), "twice: {}", case.describe());
            }
        }
    }

    #[test]
    fn the_first_rule_that_applies_decides_the_rounds() {
        let s3 = Suite::find("s3").unwrap();
        let of = |extent, text| s3.rounds(extent, &Case::read("s3", text));
        assert_eq!(of(Extent::Quick, "put bytes=500M backend=0"), 3..=3);
        assert_eq!(of(Extent::Quick, "get bytes=10M backend=1"), 6..=6);
        assert_eq!(of(Extent::Default, "get bytes=10M backend=1"), 11..=usize::MAX);
        assert_eq!(of(Extent::Default, "range bytes=100M"), 6..=usize::MAX);
    }
}
