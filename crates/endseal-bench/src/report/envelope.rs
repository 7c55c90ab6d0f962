//! The report of station 1: one sender, a group.

use super::document::{Document, Text};
use super::figures::{Case, Figures, MEMBERS, OURS, SEED};
use super::goals::Goal;
use super::{SuiteReport, growth, seed, sizes};
use crate::words;

mod goals;
mod headlines;
mod prices;

/// Its part of a report.
#[derive(Debug)]
pub(crate) struct EnvelopeReport;

impl SuiteReport for EnvelopeReport {
    fn summary(&self, figures: &Figures<'_>) -> Text {
        let case = seal(100);
        let Some(row) = figures.time(&case, OURS) else {
            return "This run did not measure sealing 1 KB to 100 people.".into();
        };
        let mut text = Text::new()
            .say("On this machine endseal seals 1 KB to 100 people in ")
            .strong(words::time(row.median));
        if let Some(factor) = figures.factor(&case, OURS, SEED) {
            text = text.say(", ").strong(words::factor(factor.median, None));
            text = text.say(" as fast as the seed's own method run beside it");
        }
        if let Some(row) = figures.time(&open(100), OURS) {
            text = text.say("; one of them opens it in ").strong(words::time(row.median));
        }
        if let Some(bytes) = figures.bytes_per_member(OURS) {
            text = text.say(format!("; each adds {} to the message", words::bytes(bytes)));
        }
        text.say(".")
    }

    fn headlines(&self, document: &mut Document, figures: &Figures<'_>) {
        headlines::write(document, figures);
    }

    fn goals(&self, figures: &Figures<'_>) -> Vec<Goal> {
        goals::goals(figures)
    }

    fn why_missed(&self, document: &mut Document, figures: &Figures<'_>) {
        goals::why_missed(document, figures);
    }

    fn sections(&self, document: &mut Document, figures: &Figures<'_>) {
        seed::write(document, figures);
        growth::write(document, figures);
    }

    fn main_cases(&self) -> Vec<Case> {
        vec![seal(100), seal(1000), open(100)]
    }

    fn prices(&self, document: &mut Document, figures: &Figures<'_>) {
        prices::write(document, figures);
    }

    fn sizes(&self, document: &mut Document, figures: &Figures<'_>) {
        sizes::envelope(document, figures);
    }
}

/// "1 KB sealed to `members`".
pub(super) fn seal(members: u64) -> Case {
    Case::envelope("seal", &[(MEMBERS, members), ("bytes", 1024)])
}

pub(super) fn open(members: u64) -> Case {
    Case::envelope("open", &[(MEMBERS, members), ("bytes", 1024)])
}
