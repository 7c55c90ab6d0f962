//! The report of station 2, the wire: two ends that know each other's keys.

use super::SuiteReport;
use super::document::{Document, Text};
use super::figures::{Case, Figures, OURS};
use super::goals::Goal;
use crate::suite::transport::ETHERNET;
use crate::words;

mod goals;
mod tables;

/// Its part of a report.
#[derive(Debug)]
pub(crate) struct TransportReport;

/// Our other policy.
const CLASSICAL: &str = "endseal-classical";
/// The same library without our layer, under both policies.
const QUINN: &str = "quinn";
/// What others made of the same library.
const FORKS: [&str; 2] = ["iroh", "ant-quic"];
/// What QUIC is compared with.
const TCP_TLS: &str = "tcp-tls";

impl SuiteReport for TransportReport {
    fn summary(&self, figures: &Figures<'_>) -> Text {
        let Some(row) = figures.time(&handshake(), OURS) else {
            return "This run did not measure handshakes.".into();
        };
        let mut text = Text::new()
            .say("Two ends connect, with post-quantum keys on both sides, in ")
            .strong(words::time(row.median));
        if let Some(factor) = figures.factor(&handshake(), CLASSICAL, OURS) {
            text = text.say(", ").strong(words::factor(factor.median, None));
            text = text.say(" the time of classical keys");
        }
        if let Some(rate) = tables::messages_a_second(figures, OURS) {
            text = text.say("; then they carry ").strong(words::count(rate));
            text = text.say(" messages of 8 KB a second");
        }
        if let Some(rate) = tables::bulk_rate(figures, OURS) {
            text = text.say(", or ").strong(format!("{} MB/s", words::count(rate)));
        }
        text.say(".")
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
        document.section("The wire");
        tables::handshakes(document, figures);
        tables::connected(document, figures);
        tables::corrections(document);
    }

    fn main_cases(&self) -> Vec<Case> {
        vec![handshake(), echo(), messages(), collected(), bulk()]
    }

    fn prices(&self, document: &mut Document, figures: &Figures<'_>) {
        tables::price(document, figures);
    }

    fn sizes(&self, document: &mut Document, figures: &Figures<'_>) {
        tables::sizes(document, figures);
    }
}

fn case(name: &str, params: &[(&str, u64)]) -> Case {
    let params = params.iter().map(|(name, value)| ((*name).into(), *value)).collect();
    Case { suite: "transport".into(), case: name.into(), params }
}

fn handshake() -> Case {
    case("handshake", &[])
}

fn echo() -> Case {
    case("echo", &[("bytes", 8192)])
}

const MESSAGES: u64 = 1000;

/// Each on its way before the next call.
fn messages() -> Case {
    case("messages", &[("bytes", 8192), ("count", MESSAGES), ("collect", 0)])
}

/// 64 KB of them together before a write.
fn collected() -> Case {
    case("messages", &[("bytes", 8192), ("count", MESSAGES), ("collect", 65_536)])
}

const BULK_BYTES: u64 = 64 << 20;

fn bulk() -> Case {
    case("bulk", &[("bytes", BULK_BYTES)])
}

fn wire_size(bytes: u64) -> Case {
    case("wire_size", &[("bytes", bytes)])
}
