//! The content of a suite's part of a report, from `data/<suite>.toml`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::figures::Figure;

/// Texts and tables of a suite.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Content {
    /// The case whose times are drawn at the top of the page.
    pub(crate) chart: Figure,
    /// Cases in which nothing is protected: this parameter has at most that value.
    #[serde(default)]
    pub(crate) unprotected: BTreeMap<String, u64>,
    /// URL of the published baseline.
    pub(crate) source: Option<String>,
    /// Paragraphs about the published baseline and what differs here.
    #[serde(default)]
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
    of: String,
    /// The published figure.
    #[serde(default)]
    pub(crate) published: String,
    /// Number by which the figure is divided, such as the members of a group.
    #[serde(default = "one")]
    pub(crate) per: f64,
}

fn ours() -> Vec<String> {
    vec![crate::case::OURS.into()]
}

fn one() -> f64 {
    1.0
}

impl TableSpec {
    /// Returns the figure of a row.
    pub(crate) fn figure(&self, row: &RowSpec) -> Figure {
        Figure::read(&format!("{} {}", row.of, self.params))
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

#[cfg(test)]
mod tests {
    use crate::stations::STATIONS;
    use crate::suite::Extent;

    #[test]
    fn every_figure_of_the_data_is_a_case_of_its_suite() {
        for station in &STATIONS {
            let cases = station.suite.cases(Extent::Full);
            let tables = station.content.tables.iter();
            let of_rows = tables.flat_map(|it| it.rows.iter().map(|row| it.figure(row)));
            for figure in of_rows.chain([station.content.chart.clone()]) {
                let known =
                    cases.iter().any(|it| it.case == figure.case && it.params == figure.params);
                assert!(known, "{}: there is no case {figure:?}", station.suite.name);
            }
        }
    }
}
