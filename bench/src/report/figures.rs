//! Looks up figures in a record, and compares two of them.

use std::collections::{BTreeMap, BTreeSet};

use super::case::{Case, MEMBERS, describe_params};
use super::content::Content;
use super::document::Text;
use crate::record::{Params, Record, Row, Skip, SubjectInfo};
use crate::suite::Suite;
use crate::words;

/// Name of our default subject.
pub(crate) const OURS: &str = "endseal";
/// Names of the published methods, which are measured in the same run.
const METHODS: [&str; 3] = ["seed-noble", "seed-json-array", "seed-ctr"];

/// A ratio for display.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Factor {
    pub(crate) median: f64,
    /// Interval of a paired ratio; `None` if there were too few rounds or the ratio is not paired.
    pub(crate) ci95: Option<[f64; 2]>,
    /// True for the median of the ratios of rounds, false for a ratio of two medians.
    pub(crate) paired: bool,
}

/// A suite with its part of a report.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) suite: &'static Suite,
    pub(crate) content: &'static Content,
}

/// A record with an index of its figures.
#[derive(Debug)]
pub(crate) struct Figures<'a> {
    pub(crate) record: &'a Record,
    parts: Vec<Part>,
    rows: BTreeMap<(Case, &'a str, &'a str), &'a Row>,
    ratios: BTreeMap<(Case, &'a str, &'a str), Factor>,
    /// Descriptions of each subject, one for each suite that has its own.
    subjects: BTreeMap<&'a str, Vec<&'a SubjectInfo>>,
    names: BTreeSet<&'a str>,
}

impl<'a> Figures<'a> {
    pub(crate) fn new(record: &'a Record, parts: Vec<Part>) -> Self {
        let row = |row: &'a Row| ((Case::of(row), &*row.subject, &*row.metric), row);
        let mut ratios = BTreeMap::new();
        for ratio in &record.ratios {
            let case = Case {
                suite: ratio.suite.clone(),
                case: ratio.case.clone(),
                params: ratio.params.clone(),
            };
            // If the interval reaches zero, the inverse has no upper bound.
            let bounds = ratio.ci95.filter(|[low, high]| *low > 0.0 && *high > 0.0);
            let usable = ratio.median > 0.0;
            if !usable || ratio.subject == ratio.against {
                continue;
            }
            let inverted = bounds.map(|[low, high]| [1.0 / high, 1.0 / low]);
            let inverse = Factor { median: 1.0 / ratio.median, ci95: inverted, paired: true };
            ratios.entry((case.clone(), &*ratio.against, &*ratio.subject)).or_insert(inverse);
            let given = Factor { median: ratio.median, ci95: bounds, paired: true };
            ratios.insert((case, &*ratio.subject, &*ratio.against), given);
        }
        let mut subjects: BTreeMap<&str, Vec<&SubjectInfo>> = BTreeMap::new();
        for info in &record.subjects {
            subjects.entry(&info.subject).or_default().push(info);
        }
        let named = subjects.keys().copied();
        let names = named.chain(record.rows.iter().map(|row| &*row.subject)).collect();
        Self { record, parts, rows: record.rows.iter().map(row).collect(), ratios, subjects, names }
    }

    /// Returns one figure.
    pub(crate) fn row(&self, case: &Case, subject: &str, metric: &str) -> Option<&'a Row> {
        // The key borrows for as long as the record, so the lookup needs a range.
        self.rows
            .range((case.clone(), "", "")..)
            .take_while(|((other, _, _), _)| other == case)
            .find(|((_, s, m), _)| *s == subject && *m == metric)
            .map(|(_, row)| *row)
    }

    /// Returns the wall-clock time, or the CPU time if only that was measured.
    pub(crate) fn time(&self, case: &Case, subject: &str) -> Option<&'a Row> {
        self.row(case, subject, "time").or_else(|| self.row(case, subject, "cpu"))
    }

    /// Returns the factor by which `subject` is faster than `other`: the paired ratio if there is
    /// one, otherwise the ratio of the medians, without an interval.
    pub(crate) fn factor(&self, case: &Case, subject: &str, other: &str) -> Option<Factor> {
        let paired = self
            .ratios
            .range((case.clone(), "", "")..)
            .take_while(|((found, _, _), _)| found == case)
            .find(|((_, s, a), _)| *s == subject && *a == other)
            .map(|(_, factor)| *factor);
        paired.or_else(|| {
            let (ours, theirs) = (self.time(case, subject)?, self.time(case, other)?);
            let usable = ours.metric == theirs.metric && ours.median > 0.0;
            usable.then(|| Factor {
                median: theirs.median / ours.median,
                ci95: None,
                paired: false,
            })
        })
    }

    /// Returns all paired ratios between subjects, each pair once. A pair with our subject is seen
    /// from its side.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&Case, &str, &str, Factor)> {
        self.ratios
            .iter()
            .filter(|((_, subject, other), _)| match (is_ours(subject), is_ours(other)) {
                (true, false) => true,
                (false, true) => false,
                _ => subject < other,
            })
            .map(|((case, subject, other), factor)| (case, *subject, *other, *factor))
    }

    /// Returns all cases that have a time.
    pub(crate) fn timed_cases(&self) -> BTreeSet<&Case> {
        let timed = |metric: &str| metric == "time" || metric == "cpu";
        self.rows.keys().filter(|(_, _, metric)| timed(metric)).map(|(case, _, _)| case).collect()
    }

    /// Returns the cases that have this metric, with their rows.
    pub(crate) fn with_metric(&self, metric: &str) -> BTreeMap<&Case, Vec<&'a Row>> {
        let mut found: BTreeMap<&Case, Vec<&Row>> = BTreeMap::new();
        for ((case, _, _), row) in self.rows.iter().filter(|((_, _, m), _)| *m == metric) {
            found.entry(case).or_default().push(row);
        }
        found
    }

    /// Returns the suites that this run requested or measured; all if it has neither.
    pub(crate) fn parts(&self) -> Vec<Part> {
        let Record { arguments, rows, .. } = self.record;
        let asked = |part: &&Part| {
            arguments.suites.iter().any(|name| name == part.suite.name)
                || rows.iter().any(|row| row.suite == part.suite.name)
        };
        let found: Vec<Part> = self.parts.iter().filter(asked).copied().collect();
        if found.is_empty() { self.parts.clone() } else { found }
    }

    /// Returns the content of a suite's part of the report.
    pub(crate) fn content(&self, suite: &str) -> Option<&'static Content> {
        self.parts.iter().find(|part| part.suite.name == suite).map(|part| part.content)
    }

    /// Returns the noise floor of a case's class; 0 if it was not measured.
    pub(crate) fn noise_floor_of(&self, suite: &str, case: &str) -> f64 {
        self.record.noise_floor_of(suite, case).unwrap_or_default()
    }

    /// Returns the reason that a subject reported for not supporting the case.
    pub(crate) fn unsupported(&self, case: &Case, subject: &str) -> Option<String> {
        let of_case = |skip: &&Skip| {
            skip.subject == subject
                && skip.suite.as_ref() == Some(&case.suite)
                && skip.case.as_ref() == Some(&case.case)
                && skip.params.as_ref() == Some(&case.params)
        };
        self.record.unsupported.iter().find(of_case).map(|skip| skip.reason.clone())
    }

    /// Returns the names of all metrics that have a figure.
    pub(crate) fn metrics(&self) -> BTreeSet<&'a str> {
        self.record.rows.iter().map(|row| &*row.metric).collect()
    }

    /// Returns the names of all subjects, with or without a description.
    pub(crate) fn subjects(&self) -> BTreeSet<&'a str> {
        self.names.clone()
    }

    /// Returns the description of a subject: that for the suite if there is one, otherwise the
    /// first.
    pub(crate) fn info_in(&self, suite: &str, subject: &str) -> Option<&'a SubjectInfo> {
        let all = self.infos(subject);
        let here = all.iter().find(|info| info.suite.as_deref() == Some(suite));
        here.or(all.first()).copied()
    }

    /// Returns all descriptions of a subject.
    pub(crate) fn infos(&self, subject: &str) -> &[&'a SubjectInfo] {
        self.subjects.get(subject).map_or(&[], |infos| infos)
    }

    /// Returns the properties of a subject; `None` if it declares none.
    fn properties(&self, suite: &str, subject: &str) -> Option<&'a [String]> {
        let declared = self.info_in(suite, subject).map(|info| &*info.properties);
        // For our subjects an empty list is a declaration: they have no properties.
        declared.filter(|all| !all.is_empty() || is_ours(subject))
    }

    /// Describes how `other` differs from `subject` if both support this case.
    pub(crate) fn difference_at(&self, case: &Case, subject: &str, other: &str) -> Option<String> {
        if !self.protects(case) {
            return None;
        }
        self.difference_in(&case.suite, subject, other)
    }

    /// Returns false for a case in which nothing is protected, so that no subject has properties.
    pub(crate) fn protects(&self, case: &Case) -> bool {
        let content = self.content(&case.suite);
        let unprotected = |(name, most): (&String, &u64)| {
            case.params.get(name).is_some_and(|value| value <= most)
        };
        !content.is_some_and(|content| content.unprotected.iter().any(unprotected))
    }

    /// Describes how the properties of `other` differ from those of `subject`; `None` if they are
    /// the same.
    fn difference_in(&self, suite: &str, subject: &str, other: &str) -> Option<String> {
        let (Some(ours), Some(theirs)) =
            (self.properties(suite, subject), self.properties(suite, other))
        else {
            return Some("properties not declared".into());
        };
        // Properties are listed in the order of their declaration, which is that of the
        // specification.
        let without = |all: &[String], others: &[String]| -> Vec<String> {
            all.iter().filter(|p| !others.contains(p)).map(|p| words::tame(p)).collect()
        };
        let (lacks, adds) = (without(ours, theirs), without(theirs, ours));
        match (lacks.is_empty(), adds.is_empty()) {
            (true, true) => None,
            (false, true) => Some(format!("lacks {}", words::list(&lacks))),
            (true, false) => Some(format!("adds {}", words::list(&adds))),
            (false, false) => {
                Some(format!("lacks {}; adds {}", words::list(&lacks), words::list(&adds)))
            }
        }
    }

    /// Formats the factor: in italics if the properties differ, and as no difference if noise
    /// explains it.
    pub(crate) fn factor_text(&self, case: &Case, subject: &str, other: &str) -> Text {
        let Some(factor) = self.factor(case, subject, other) else { return "\u{2013}".into() };
        let text = self.factor_words(case, factor);
        match self.difference_at(case, subject, other) {
            Some(_) => Text::new().emphasis(text),
            None => text.into(),
        }
    }

    /// Formats a factor: "343× (338–349)", "no difference (1.00×)", or "≈ 12.3×" if it is not
    /// paired.
    pub(crate) fn factor_words(&self, case: &Case, factor: Factor) -> String {
        // Too few rounds, or a ratio of two medians.
        if factor.ci95.is_none() {
            return format!("≈ {}", words::factor(factor.median, None));
        }
        if !self.beyond_noise(case, factor) {
            return format!("no difference ({})", words::factor(factor.median, None));
        }
        words::factor(factor.median, factor.ci95)
    }

    /// Returns true if a ratio is more than noise: its interval leaves out 1, and it is further
    /// from 1 than a subject was from itself in cases of this class.
    pub(crate) fn beyond_noise(&self, case: &Case, factor: Factor) -> bool {
        // A ratio has the noise of two preparations.
        let floor = self.noise_floor_of(&case.suite, &case.case) * core::f64::consts::SQRT_2;
        let away = factor.median.max(1.0 / factor.median) - 1.0;
        let decided = match factor.ci95 {
            Some([low, high]) => low > 1.0 || high < 1.0,
            None => !factor.paired,
        };
        decided && away > floor
    }

    /// Returns the values of a metric for each value of a parameter; the other parameters are
    /// fixed.
    pub(crate) fn over(
        &self,
        parameter: &str,
        case: &Case,
        subject: &str,
        metric: &str,
    ) -> Vec<(f64, f64)> {
        let mut points: Vec<(f64, f64)> = self
            .record
            .rows
            .iter()
            .filter(|row| row.subject == subject && row.metric == metric)
            .filter(|row| row.suite == case.suite && row.case == case.case)
            .filter(|row| without(parameter, &row.params) == without(parameter, &case.params))
            .filter_map(|row| row.params.get(parameter).map(|value| (real(*value), row.median)))
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
    }
}

/// Returns true for our subjects.
pub(crate) fn is_ours(subject: &str) -> bool {
    subject == OURS || subject.strip_prefix(OURS).is_some_and(|rest| rest.starts_with('-'))
}

/// Returns true for forms of a published baseline.
pub(crate) fn is_seed(subject: &str) -> bool {
    subject.starts_with("seed-")
}

/// Returns true for a published baseline in its main form.
pub(crate) fn is_method(subject: &str) -> bool {
    METHODS.contains(&subject)
}

/// Returns true for subjects that do less than the cases of a suite and serve as a lower bound.
pub(crate) fn is_floor(suite: &str, subject: &str) -> bool {
    Suite::find(suite).is_some_and(|suite| suite.floors.contains(&subject))
}

/// Returns the parameter along which tables lay out a suite's figures.
pub(crate) fn axis(suite: &str) -> &'static str {
    let first = Suite::find(suite).and_then(|suite| suite.grows_by.first());
    first.map_or(MEMBERS, |growing| growing.parameter)
}

/// Formats a value on an axis: "100 members", "8 KB".
pub(crate) fn on_axis(axis: &str, value: u64) -> String {
    let one = Params::from([(axis.to_owned(), value)]);
    describe_params(&one).concat()
}

/// Returns the parameters without the one that grows.
pub(crate) fn without(parameter: &str, params: &Params) -> Params {
    let mut rest = params.clone();
    rest.remove(parameter);
    rest
}

#[allow(clippy::cast_precision_loss, reason = "a number of members or bytes")]
pub(crate) fn real(number: u64) -> f64 {
    number as f64
}
