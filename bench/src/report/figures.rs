//! Looks up figures in a record, and compares two of them.

use std::collections::{BTreeMap, BTreeSet};

use crate::case::{Case, OURS};
use crate::record::{Better, Ratio, Record, Row, SubjectInfo};
use crate::suite::{SUITES, Suite};
use crate::words;

/// Share of the median: if the quartiles are further apart, they are printed.
const APART: f64 = 0.25;

/// A figure without its subject, such as `seal.size members=100 bytes=1K`. The metric is `time` if
/// none is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Figure {
    pub(crate) case: Case,
    pub(crate) metric: String,
}

impl Figure {
    /// Parses a figure.
    pub(crate) fn read(suite: &str, text: &str) -> Self {
        let mut case = Case::read(suite, text);
        let (name, metric) = match case.case.split_once('.') {
            Some((name, metric)) => (name.to_owned(), metric.to_owned()),
            None => (case.case, "time".to_owned()),
        };
        case.case = name;
        Self { case, metric }
    }
}

/// A ratio for display.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Factor {
    pub(crate) median: f64,
    /// Interval of a ratio that is paired by rounds; `None` if there were too few rounds, or if it
    /// is the ratio of two medians.
    pub(crate) ci95: Option<[f64; 2]>,
    pub(crate) paired: bool,
}

/// A record with an index of its figures.
#[derive(Debug)]
pub(crate) struct Figures<'a> {
    pub(crate) record: &'a Record,
    rows: BTreeMap<&'a Case, Vec<&'a Row>>,
    ratios: BTreeMap<&'a Case, Vec<&'a Ratio>>,
}

impl<'a> Figures<'a> {
    pub(crate) fn new(record: &'a Record) -> Self {
        let mut rows: BTreeMap<&Case, Vec<&Row>> = BTreeMap::new();
        for row in &record.rows {
            rows.entry(&row.case).or_default().push(row);
        }
        let mut ratios: BTreeMap<&Case, Vec<&Ratio>> = BTreeMap::new();
        for ratio in record.ratios.iter().filter(|it| it.median > 0.0) {
            ratios.entry(&ratio.case).or_default().push(ratio);
        }
        Self { record, rows, ratios }
    }

    /// Returns all cases with their rows.
    pub(crate) fn cases(&self) -> &BTreeMap<&'a Case, Vec<&'a Row>> {
        &self.rows
    }

    /// Returns the suites that this run requested or measured; all if it has neither.
    pub(crate) fn suites(&self) -> Vec<&'static Suite> {
        let asked = |suite: &&Suite| {
            self.record.arguments.suites.iter().any(|name| name == suite.name)
                || self.rows.keys().any(|case| case.suite == suite.name)
        };
        let found: Vec<&Suite> = SUITES.iter().filter(asked).collect();
        if found.is_empty() { SUITES.iter().collect() } else { found }
    }

    /// Returns one figure. A time is CPU time if only that was measured.
    pub(crate) fn row(&self, case: &Case, subject: &str, metric: &str) -> Option<&'a Row> {
        let rows = self.rows.get(case)?;
        let of = |metric: &str| rows.iter().find(|it| it.subject == subject && it.metric == metric);
        of(metric).or_else(|| if metric == "time" { of("cpu") } else { None }).copied()
    }

    /// Returns the factor by which `subject` is faster than `other`: the paired ratio if there is
    /// one, otherwise the ratio of the medians.
    pub(crate) fn factor(&self, case: &Case, subject: &str, other: &str) -> Option<Factor> {
        let paired = self.ratios.get(case).into_iter().flatten().find_map(|it| {
            // If the interval reaches zero, the inverse has no upper bound.
            let ci95 = it.ci95.filter(|[low, _]| *low > 0.0);
            if it.subject == subject && it.against == other {
                return Some(Factor { median: it.median, ci95, paired: true });
            }
            let inverse = ci95.map(|[low, high]| [1.0 / high, 1.0 / low]);
            let found = it.subject == other && it.against == subject;
            found.then_some(Factor { median: 1.0 / it.median, ci95: inverse, paired: true })
        });
        paired.or_else(|| {
            let (ours, theirs) = (self.row(case, subject, "time")?, self.row(case, other, "time")?);
            let usable = ours.metric == theirs.metric && ours.median > 0.0;
            let median = theirs.median / ours.median;
            usable.then_some(Factor { median, ci95: None, paired: false })
        })
    }

    /// Returns the factor by which a figure of `subject` is better than that of `other`.
    pub(crate) fn better(
        &self,
        case: &Case,
        metric: &str,
        subject: &str,
        other: &str,
    ) -> Option<Factor> {
        if metric == "time" {
            return self.factor(case, subject, other);
        }
        let (ours, theirs) = (self.row(case, subject, metric)?, self.row(case, other, metric)?);
        let median = match ours.better {
            Better::More => ours.median / theirs.median,
            _ => theirs.median / ours.median,
        };
        median.is_finite().then_some(Factor { median, ci95: None, paired: false })
    }

    /// Returns the noise floor of a case's class; 0 if it was not measured.
    pub(crate) fn noise_floor_of(&self, case: &Case) -> f64 {
        self.record.noise_floor_of(case).unwrap_or_default()
    }

    /// Returns the names of all subjects, with or without a description.
    pub(crate) fn subjects(&self) -> BTreeSet<&'a str> {
        let described = self.record.subjects.iter().map(|info| &*info.subject);
        described.chain(self.record.rows.iter().map(|row| &*row.subject)).collect()
    }

    /// Returns the description of a subject: that for the suite if there is one, otherwise the
    /// first.
    pub(crate) fn info_in(&self, suite: &str, subject: &str) -> Option<&'a SubjectInfo> {
        let all = || self.record.subjects.iter().filter(|info| info.subject == subject);
        all().find(|info| info.suite.as_deref() == Some(suite)).or_else(|| all().next())
    }

    /// Returns false for a case in which nothing is protected, so that no subject has properties.
    pub(crate) fn protects(&self, case: &Case) -> bool {
        let unprotected = |(name, most): (&String, &u64)| {
            case.params.get(name).is_some_and(|value| value <= most)
        };
        !Suite::find(&case.suite).is_some_and(|it| it.report.unprotected.iter().any(unprotected))
    }

    /// Describes how the properties of `other` differ from those of `subject`; `None` if they are
    /// the same, or if the case protects nothing.
    pub(crate) fn difference(&self, case: &Case, subject: &str, other: &str) -> Option<String> {
        if subject == other || !self.protects(case) {
            return None;
        }
        // For our subjects an empty list is a declaration: they have no properties.
        let properties = |name: &str| {
            let declared = self.info_in(&case.suite, name).map(|info| &*info.properties);
            declared.filter(|all| !all.is_empty() || is_ours(name))
        };
        let (Some(ours), Some(theirs)) = (properties(subject), properties(other)) else {
            return Some("properties not declared".into());
        };
        let without = |verb: &str, all: &[String], others: &[String]| {
            let all = all.iter().filter(|it| !others.contains(it)).map(|it| words::tame(it));
            let all: Vec<String> = all.collect();
            (!all.is_empty()).then(|| format!("{verb} {}", words::list(&all)))
        };
        let parts = [without("lacks", ours, theirs), without("adds", theirs, ours)];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// Formats a factor: "343× (338–349)", "no difference (1.00×)", or "≈ 12.3×" if it is not
    /// paired.
    pub(crate) fn factor_text(&self, case: &Case, factor: Factor) -> String {
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
        let floor = self.noise_floor_of(case) * core::f64::consts::SQRT_2;
        let away = factor.median.max(1.0 / factor.median) - 1.0;
        let decided = match factor.ci95 {
            Some([low, high]) => low > 1.0 || high < 1.0,
            None => !factor.paired,
        };
        decided && away > floor
    }
}

/// Formats a figure, with its quartiles if they are so far apart that the median alone misleads,
/// with the clock if it is not wall time, and with the number of threads if there are several.
pub(crate) fn row_text(row: &Row) -> String {
    let mut text = words::value(row.median, &row.unit);
    if let Some([low, high]) = quartiles(row) {
        let [low, high] = [low, high].map(|it| words::value(it, &row.unit));
        text += &format!(" (quartiles {low} to {high})");
    }
    if row.metric == "cpu" {
        text += " CPU";
    }
    if let Some(threads) = row.threads {
        text += &format!(" on {}", words::plural(threads, "thread"));
    }
    text
}

/// Formats a figure as [`row_text`] does, with its interval if it is a time without quartiles.
pub(crate) fn row_within(row: &Row) -> String {
    if row.unit == "ns" && row.metric != "cpu" && quartiles(row).is_none() {
        return words::time_within(row.median, row.ci95);
    }
    row_text(row)
}

/// Returns the lower and the upper quartile of four samples or more that are far apart.
fn quartiles(row: &Row) -> Option<[f64; 2]> {
    let mut sorted = row.samples.clone();
    sorted.sort_by(f64::total_cmp);
    let quarter = sorted.len() / 4;
    let upper = sorted.len().checked_sub(quarter + 1).filter(|_| quarter > 0)?;
    let [low, high] = [sorted[quarter], sorted[upper]];
    (high - low > APART * row.median).then_some([low, high])
}

/// Returns true for our subjects.
pub(crate) fn is_ours(subject: &str) -> bool {
    subject == OURS || subject.strip_prefix(OURS).is_some_and(|rest| rest.starts_with('-'))
}

/// Returns true for forms of a published baseline.
pub(crate) fn is_baseline(subject: &str) -> bool {
    subject.starts_with("seed-") || subject == "baseline-method"
}

/// Returns true for subjects that do less than the cases of a suite and serve as a lower bound.
pub(crate) fn is_floor(suite: &str, subject: &str) -> bool {
    Suite::find(suite).is_some_and(|suite| suite.floors.iter().any(|floor| floor == subject))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::{Extent, TableSpec};

    #[test]
    fn a_figure_has_case_metric_and_parameters() {
        let figure = Figure::read("envelope", "seal.size members=100 bytes=8K");
        assert_eq!(figure.case, Case::read("envelope", "seal members=100 bytes=8192"));
        assert_eq!(figure.metric, "size");
        assert_eq!(Figure::read("nostr", "conversation_key").metric, "time");
    }

    #[test]
    fn every_figure_of_the_data_is_a_case_of_its_suite() {
        for suite in SUITES.iter() {
            let cases = suite.cases(Extent::Full);
            let of_table = |it: &'static TableSpec| {
                it.rows.iter().map(|row| format!("{} {}", row.of, it.params))
            };
            let of_rows = suite.report.tables.iter().flat_map(of_table);
            for text in of_rows.chain([suite.report.chart.clone()]) {
                let figure = Figure::read(suite.name, &text);
                assert!(cases.contains(&figure.case), "{}: there is no case {text}", suite.name);
            }
        }
    }

    #[test]
    fn quartiles_that_are_far_apart_stand_beside_the_median() {
        let (metric, unit) = ("time".into(), "ns".into());
        let mut row = Row { metric, unit, median: 10.0, ..Row::default() };
        row.samples = vec![7.0, 7.1, 7.2, 10.0, 10.0, 12.8, 12.9, 13.0];
        assert_eq!(row_text(&row), "10.0 ns (quartiles 7.20 ns to 12.8 ns)");
        row.samples = vec![9.5, 9.8, 9.9, 10.0, 10.0, 10.4, 10.9, 11.0];
        assert_eq!(row_text(&row), "10.0 ns");
    }
}
