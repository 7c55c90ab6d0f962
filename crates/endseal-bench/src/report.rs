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
pub(crate) mod view;

use document::Document;
use figures::{Case, Figures};
pub(crate) use view::{SuiteReport, View};

use crate::record::{Params, Record, Row};
use crate::stations::STATIONS;
use crate::words;

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
    let figures = Figures::new(record, STATIONS.iter().map(|station| station.view).collect());
    let mut document = Document {
        title: "endseal bench: what end-to-end encryption costs".into(),
        ..Document::default()
    };
    front::write(&mut document, &figures);
    goals::write(&mut document, &figures);
    for view in figures.views() {
        view.report.sections(&mut document, &figures);
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
