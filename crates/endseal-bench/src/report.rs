//! The report of a run: one document, written as Markdown or as one HTML file.

pub(crate) mod chart;
pub(crate) mod codec;
pub(crate) mod document;
pub(crate) mod envelope;
pub(crate) mod figures;
mod front;
mod goals;
pub(crate) mod growth;
mod html;
mod losses;
mod markdown;
mod method;
mod peers;
pub(crate) mod s3;
mod seed;
mod seed_tables;
pub(crate) mod sessions;
mod sizes;
mod svg;
pub(crate) mod transport;

use document::{Document, Text};
use figures::{Case, Figures};
use goals::Goal;

use crate::record::{Params, Record, Row};
use crate::words;

/// What a suite says in a report. The rest (banners, losses, all subjects beside each other, memory,
/// method) is the same for all.
pub(crate) trait SuiteReport: Sync {
    /// What a reader of one paragraph should know.
    fn summary(&self, figures: &Figures<'_>) -> Text;

    /// Below "Headline figures".
    fn headlines(&self, document: &mut Document, figures: &Figures<'_>);

    /// What it set out to reach.
    fn goals(&self, _: &Figures<'_>) -> Vec<Goal> {
        Vec::new()
    }

    /// Why goals were missed, as far as the figures of the run tell.
    fn why_missed(&self, _: &mut Document, _: &Figures<'_>) {}

    /// Why `other` was ahead in a metric of a case, as far as that is not a matter of properties.
    fn why_lost(&self, _case: &Case, _metric: &str, _other: &str) -> Option<&'static str> {
        None
    }

    /// Sections of its own: published tables, growth.
    fn sections(&self, document: &mut Document, figures: &Figures<'_>);

    /// Whether subjects that do this case have properties at all: where none protects anything, they
    /// do not differ in it.
    fn protects(&self, _: &Case) -> bool {
        true
    }

    /// The cases whose ratios are drawn.
    fn main_cases(&self) -> Vec<Case> {
        Vec::new()
    }

    /// Below "What each property costs".
    fn prices(&self, _: &mut Document, _: &Figures<'_>) {}

    /// Below "Sizes".
    fn sizes(&self, _: &mut Document, _: &Figures<'_>) {}
}

/// `report.md`.
#[must_use]
pub fn markdown(record: &Record) -> String {
    markdown::write(&document(record))
}

/// `report.html`: one file without scripts that asks nothing of any network.
#[must_use]
pub fn html(record: &Record) -> String {
    html::write(&document(record))
}

fn document(record: &Record) -> Document {
    let figures = Figures::new(record);
    let mut document = Document {
        title: "endseal bench: what end-to-end encryption costs".into(),
        ..Document::default()
    };
    front::write(&mut document, &figures);
    goals::write(&mut document, &figures);
    for suite in figures.suites() {
        suite.report.sections(&mut document, &figures);
    }
    peers::write(&mut document, &figures);
    sizes::write(&mut document, &figures);
    method::write(&mut document, &figures);
    document
}

/// The median of a row in its unit.
pub(crate) fn value_of(row: &Row) -> String {
    words::value(row.median, &row.unit)
}

/// A case in words.
pub(crate) fn case(suite: &str, case: &str, params: &Params) -> String {
    let case = Case { suite: suite.into(), case: case.into(), params: params.clone() };
    case.describe()
}
