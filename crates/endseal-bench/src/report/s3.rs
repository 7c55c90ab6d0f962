//! The report of station 3: objects through a proxy that seals them.

use super::document::{Document, Text};
use super::figures::{Case, Figures, OURS};
use super::{SuiteReport, words};
use crate::ours::s3::{GET, PUT};
use crate::record::Params;
use crate::suite::s3::{SINK, SIZES, transfer};

/// Its part of a report.
#[derive(Debug)]
pub(crate) struct S3Report;

impl SuiteReport for S3Report {
    fn summary(&self, figures: &Figures<'_>) -> Text {
        let rate = |name| {
            let case = case(name, transfer(SIZES[2], SINK));
            figures.row(&case, OURS, "mb_s").map(|row| row.median)
        };
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

    fn headlines(&self, _: &mut Document, _: &Figures<'_>) {}

    fn sections(&self, _: &mut Document, _: &Figures<'_>) {}
}

fn case(name: &str, params: Params) -> Case {
    Case { suite: "s3".into(), case: name.into(), params }
}
