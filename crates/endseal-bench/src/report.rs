//! The report of a run: one document, written as Markdown or as one HTML file.

mod chart;
mod document;
mod figures;
mod front;
mod growth;
mod html;
mod markdown;
mod method;
mod peers;
mod seed;
mod seed_tables;
mod sizes;
mod svg;
mod words;

use document::Document;
use figures::Figures;

use crate::record::{Params, Record};

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
    seed::write(&mut document, &figures);
    growth::write(&mut document, &figures);
    peers::write(&mut document, &figures);
    sizes::write(&mut document, &figures);
    method::write(&mut document, &figures);
    document
}

/// Foreign text for a terminal: nothing in it moves the cursor or turns the writing.
pub(crate) fn tame(text: &str) -> String {
    words::tame(text)
}

/// A small share in words.
pub(crate) fn fine_percent(share: f64) -> String {
    words::fine_percent(share)
}

/// A figure in its unit.
pub(crate) fn value(value: f64, unit: &str) -> String {
    match unit {
        "ns" => words::time(value),
        "B" => words::bytes(value),
        _ => words::count(value),
    }
}

/// A case in words.
pub(crate) fn case(suite: &str, case: &str, params: &Params) -> String {
    let case = figures::Case { suite: suite.into(), case: case.into(), params: params.clone() };
    case.describe()
}
