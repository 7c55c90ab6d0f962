//! The content of a suite's part of a report, from `data/<suite>.toml`: published figures, goals,
//! tables, charts and remarks.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::expression::{Expression, ParamList};

/// The report's part for one suite, as its data file specifies it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Content {
    /// Clauses of the summary. A clause is left out if one of its figures was not measured.
    pub(crate) summary: Vec<String>,
    /// Cases whose ratios are drawn on the first page.
    pub(crate) main: Vec<CaseRef>,
    /// Cases in which nothing is protected: this parameter has at most that value.
    #[serde(default)]
    pub(crate) unprotected: BTreeMap<String, u64>,
    pub(crate) headlines: TableSpec,
    #[serde(rename = "goal")]
    pub(crate) goals: Vec<Goal>,
    #[serde(rename = "section")]
    pub(crate) sections: Vec<Section>,
    /// Reasons why another subject is faster or smaller. The first one whose conditions match is
    /// used.
    #[serde(default, rename = "lost")]
    pub(crate) lost: Vec<Lost>,
}

/// A case by its name and parameters.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CaseRef {
    pub(crate) case: String,
    #[serde(default)]
    pub(crate) params: ParamList,
}

/// A figure that the project wants to reach: at least or at most a bound.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Goal {
    pub(crate) what: String,
    pub(crate) value: Expression,
    pub(crate) at_least: Option<f64>,
    pub(crate) at_most: Option<f64>,
    /// True for lengths, counts and memory, which do not depend on the noise of the machine.
    #[serde(default)]
    pub(crate) exact: bool,
    /// True if the figure and its bound are printed as percentages.
    #[serde(default)]
    pub(crate) percent: bool,
    pub(crate) note: Option<String>,
}

/// A section with its tables and charts, in this order.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Section {
    pub(crate) title: String,
    #[serde(default)]
    pub(crate) text: String,
    #[serde(default)]
    pub(crate) list: Vec<String>,
    #[serde(default, rename = "table")]
    pub(crate) tables: Vec<TableSpec>,
    #[serde(default)]
    pub(crate) bars: Vec<BarsSpec>,
    #[serde(default)]
    pub(crate) curves: Vec<CurvesSpec>,
    /// True if the section ends with the fitted growth of the suite.
    #[serde(default)]
    pub(crate) growth: bool,
    #[serde(default)]
    pub(crate) after: String,
}

/// A table. Its cells are computed from the specifications of their row and column.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TableSpec {
    #[serde(default)]
    pub(crate) title: String,
    /// Heading of the first column.
    pub(crate) names: String,
    pub(crate) case: Option<String>,
    #[serde(default)]
    pub(crate) params: ParamList,
    pub(crate) columns: Vec<Column>,
    /// Rows, including headings between them.
    #[serde(default)]
    pub(crate) rows: Vec<Row>,
    /// True if each heading, or the table, has a row for every subject with a figure.
    #[serde(default)]
    pub(crate) by_subject: bool,
    /// Subjects that have rows; all if it is empty.
    #[serde(default)]
    pub(crate) subjects: Vec<String>,
    #[serde(default)]
    pub(crate) notes: Vec<String>,
    /// Paragraph below the table.
    #[serde(default)]
    pub(crate) text: String,
}

/// A row, or a heading if it has no name.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Row {
    #[serde(default)]
    pub(crate) name: String,
    /// Text of a heading. Its other fields are defaults for the rows below it.
    pub(crate) group: Option<String>,
    pub(crate) subject: Option<String>,
    pub(crate) case: Option<String>,
    #[serde(default)]
    pub(crate) params: ParamList,
    pub(crate) value: Option<Expression>,
    /// Number of the footnote at its name, from 1.
    #[serde(default)]
    pub(crate) note: usize,
    /// Format of its values; that of the column if `None`.
    pub(crate) format: Option<Format>,
    /// Peers that do other work and are excluded when the best peer is chosen.
    #[serde(default)]
    pub(crate) without: Vec<String>,
    /// True if the row has neither factors nor shares.
    #[serde(default)]
    pub(crate) plain: bool,
    /// Reason, by subject, why it can have no figure in this row.
    #[serde(default)]
    pub(crate) absent: BTreeMap<String, String>,
    /// Texts for columns of fields, and numbers for expressions.
    #[serde(flatten)]
    pub(crate) fields: BTreeMap<String, Field>,
}

/// A text or number of a row.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Field {
    Number(f64),
    Text(String),
}

/// A column of a table or a bar of a group.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Column {
    pub(crate) head: String,
    pub(crate) subject: Option<String>,
    pub(crate) case: Option<String>,
    #[serde(default)]
    pub(crate) params: ParamList,
    #[serde(default)]
    pub(crate) show: Show,
    /// Expression of the figure; that of the row if `None`.
    pub(crate) value: Option<Expression>,
    /// Name of the field or subject that `show` needs.
    #[serde(default)]
    pub(crate) of: String,
    /// Expression for a second line in the cell.
    pub(crate) below: Option<Expression>,
    #[serde(default)]
    pub(crate) format: Format,
    #[serde(default)]
    pub(crate) strong: bool,
}

/// Kind of values that a column shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Show {
    /// The value of the expression.
    #[default]
    Value,
    /// The field `of` of the row.
    Field,
    /// The factor by which the subject is better than `of`.
    Factor,
    /// The factor by which endseal is better than the subject of the row.
    EndsealBeside,
    /// The best subject that is neither ours nor a published method, and its value.
    Peer,
    /// The factor by which the subject is better than the best peer.
    PeerFactor,
    /// "met" or "not met": the value is at most the number `of`.
    Within,
    /// The row's value as a share of the column's.
    Share,
}

/// Notation of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Format {
    /// With the unit that fits its size.
    #[default]
    Unit,
    /// With its unit and its interval.
    Interval,
    /// As a percentage.
    Percent,
    /// As a ratio with enough digits to show differences of one percent.
    Fine,
    /// With three digits and no unit.
    Digits,
    /// As a whole number without a unit.
    Count,
    /// As whole milliseconds.
    Milliseconds,
    /// As kilobytes (1,024 bytes) a second.
    KilobytesASecond,
}

/// A chart of bars in groups.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BarsSpec {
    pub(crate) title: String,
    pub(crate) note: String,
    /// True if values are ratios around 1.
    #[serde(default)]
    pub(crate) ratio: bool,
    pub(crate) groups: Vec<Row>,
    #[serde(default)]
    pub(crate) bars: Vec<Column>,
    /// Expression that gives a bar for every subject with a value, the smallest first.
    pub(crate) by_subject: Option<Expression>,
}

/// A chart of lines over a parameter.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CurvesSpec {
    pub(crate) title: String,
    pub(crate) case: String,
    #[serde(default)]
    pub(crate) params: ParamList,
    pub(crate) over: String,
    #[serde(default = "time")]
    pub(crate) metric: String,
}

fn time() -> String {
    "time".into()
}

/// Reason why a subject is ahead, with its conditions. Empty conditions always match; a trailing
/// `*` matches any ending.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Lost {
    #[serde(default)]
    pub(crate) to: Vec<String>,
    #[serde(default)]
    pub(crate) cases: Vec<String>,
    #[serde(default)]
    pub(crate) metrics: Vec<String>,
    #[serde(default)]
    pub(crate) params: ParamList,
    pub(crate) why: String,
}

impl Lost {
    pub(crate) fn fits(&self, case: &super::case::Case, metric: &str, other: &str) -> bool {
        let one_of = |patterns: &[String], text: &str| {
            let fits = |pattern: &String| match pattern.strip_suffix('*') {
                Some(start) => text.starts_with(start),
                None => pattern == text,
            };
            patterns.is_empty() || patterns.iter().any(fits)
        };
        one_of(&self.to, other)
            && one_of(&self.cases, &case.case)
            && one_of(&self.metrics, metric)
            && self.params.0.iter().all(|(name, value)| case.params.get(name) == Some(value))
    }
}

impl Content {
    /// Parses a file of `data/`.
    ///
    /// # Panics
    /// Panics if the file is invalid. The tests of the report read all of them.
    #[allow(clippy::panic, reason = "a test reads the same bytes, which are part of the program")]
    pub(crate) fn read(text: &str) -> Self {
        toml::from_str(text).unwrap_or_else(|error| panic!("data of the report: {error}"))
    }
}
