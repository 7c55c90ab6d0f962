//! The report of station 3: objects through a proxy that seals them.

use super::SuiteReport;
use super::document::{Document, Text};
use super::figures::{Case, Figures, OURS};
use super::goals::Goal;
use crate::record::Params;
use crate::suite::s3::{GET, MEMORY, PUT, PUT_CHUNKED, RANGE, SEED, SMALL};
use crate::suite::s3::{MB, SERVER, SINK, SIZES, chunked, memory, range, small, transfer};
use crate::words;

mod goals;
mod seed;
mod tables;

/// Its part of a report.
#[derive(Debug)]
pub(crate) struct S3Report;

impl SuiteReport for S3Report {
    fn summary(&self, figures: &Figures<'_>) -> Text {
        let rate = |name| median(figures, &object(name, SIZES[2], SINK), OURS, "mb_s");
        let (Some(up), Some(down)) = (rate(PUT), rate(GET)) else {
            return "This run did not measure objects of S3.".into();
        };
        Text::new()
            .say("An S3 proxy seals objects of 100 MB at ")
            .strong(format!("{} MB/s", words::count(up)))
            .say(" and opens them at ")
            .strong(format!("{} MB/s", words::count(down)))
            .say(".")
    }

    fn headlines(&self, document: &mut Document, figures: &Figures<'_>) {
        tables::headlines(document, figures);
    }

    fn goals(&self, figures: &Figures<'_>) -> Vec<Goal> {
        goals::goals(figures)
    }

    fn why_missed(&self, document: &mut Document, figures: &Figures<'_>) {
        goals::why_missed(document, figures);
    }

    fn why_lost(&self, case: &Case, metric: &str, other: &str) -> Option<&'static str> {
        goals::why_lost(case, metric, other)
    }

    fn sections(&self, document: &mut Document, figures: &Figures<'_>) {
        seed::write(document, figures);
        document.section("Objects of S3");
        tables::transfers(document, figures);
        tables::small(document, figures);
        tables::range(document, figures);
        tables::memory(document, figures);
    }

    fn main_cases(&self) -> Vec<Case> {
        [SINK, SERVER]
            .into_iter()
            .flat_map(|backend| [PUT, GET].map(|name| object(name, SIZES[2], backend)))
            .collect()
    }

    fn prices(&self, document: &mut Document, figures: &Figures<'_>) {
        tables::price(document, figures);
    }
}

fn case(name: &str, params: Params) -> Case {
    Case { suite: "s3".into(), case: name.into(), params }
}

/// An object up or down.
fn object(name: &str, bytes: u64, backend: u64) -> Case {
    case(name, transfer(bytes, backend))
}

/// An object up, in chunks with its checksum behind.
fn in_chunks(bytes: u64) -> Case {
    case(PUT_CHUNKED, chunked(bytes))
}

/// Short objects, on so many streams.
fn short(down: u64, streams: u64) -> Case {
    case(SMALL, small(down, streams))
}

/// One byte.
fn one_byte() -> Case {
    case(RANGE, range())
}

/// The memory of a process.
fn peak(bytes: u64, down: u64, streams: u64) -> Case {
    case(MEMORY, memory(bytes, down, streams))
}

fn median(figures: &Figures<'_>, case: &Case, subject: &str, metric: &str) -> Option<f64> {
    figures.row(case, subject, metric).map(|row| row.median)
}

/// The first in the second.
fn share(of: Option<f64>, whole: Option<f64>) -> Option<f64> {
    Some(of? / whole.filter(|whole| *whole > 0.0)?)
}

/// "100 MB".
fn size_text(bytes: u64) -> String {
    words::size_parameter(bytes / MB * MB)
}

/// "to a sink", "to versitygw".
fn backend_text(backend: u64) -> &'static str {
    if backend == SINK { "a backend that drops or keeps in memory" } else { "a real server" }
}
